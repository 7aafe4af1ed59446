"""The accounting curves by name. A new one is one file, which ends with its entry, and one line here."""

from __future__ import annotations

from meterdp.accounting import advanced, exact_curve, linear, moments, zcdp
from meterdp.privacy import gdp, gdp_with_response
from meterdp.privacy.curve import Curve

CURVES: dict[str, Curve] = {
    "gdp": gdp.CURVE,
    "gdp_with_response": gdp_with_response.CURVE,
    "gaussian_pair": exact_curve.CURVE,
    "linear": linear.CURVE,
    "advanced": advanced.CURVE,
    "zcdp": zcdp.CURVE,
    "moments": moments.CURVE,
    "moments_far": moments.CURVE_FAR,
    "moments_real": moments.CURVE_REAL,
}
