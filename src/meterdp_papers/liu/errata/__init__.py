"""Defects L1 to L13."""
