"""Defects R1 to R13."""
