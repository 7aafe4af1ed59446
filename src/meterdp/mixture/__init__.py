"""Gaussian mixtures of profile vectors: labels, fit, divergence, sampling and description, without any privacy."""
