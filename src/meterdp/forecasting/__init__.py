"""ARMA fits in bulk, forecasts from rolling origins, their Gaussian distribution and their errors.

Section V of Ramakrishna et al., "Differential Privacy for Class-based Data". Everything here is private or for the
analyst: a forecast is released only through :mod:`meterdp.class_noise` and :mod:`meterdp.release`.
"""
