"""The compiled core of the ARMA fits: exact likelihood, gradient, start points, search."""
