"""ARMA fits in bulk, forecasts from rolling origins, their Gaussian distribution and their errors.

Section V of Ramakrishna et al., "Differential Privacy for Class-based Data". Everything here is private or for the
analyst: a forecast leaves the building only through :mod:`meterdp.class_noise` and the release gate.
"""
