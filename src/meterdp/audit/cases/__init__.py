"""What is audited: every mechanism on neighbouring data sets chosen to be hard for it, mutants, published ones."""
