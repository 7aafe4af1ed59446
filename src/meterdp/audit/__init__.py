"""The audit: lower bounds on epsilon from what mechanisms give out, mutants, canaries, and the leak scan."""
