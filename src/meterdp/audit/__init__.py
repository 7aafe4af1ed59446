"""Lower bounds on epsilon, mutants, canaries, leak scan."""
