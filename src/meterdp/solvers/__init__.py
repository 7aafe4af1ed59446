"""Numerical optimisation with certificates: nothing here knows about privacy."""
