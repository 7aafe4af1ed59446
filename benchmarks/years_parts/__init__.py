"""What benchmarks/years.py is made of; in a folder of its own because `make benchmark` runs every file beside it."""
