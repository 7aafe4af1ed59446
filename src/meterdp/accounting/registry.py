"""The accounting curves by name. A new one is one file, which ends with its entry, and one line here."""

from __future__ import annotations

from meterdp.accounting import advanced, exact_curve, linear, moments, zcdp
from meterdp.accounting.interface import Curve
from meterdp.privacy import gaussian

CURVES: dict[str, Curve] = {
    "gdp": Curve(gaussian.STEPS, "any adaptive sequence of Gaussian steps", gaussian.delta, gaussian.mu_for),
    "gdp_with_response": Curve(
        gaussian.STEPS_AND_RESPONSES,
        "Gaussian steps beside a randomised choice of a group",
        gaussian.delta_with_response,
        gaussian.mu_beside,
    ),
    "gaussian_pair": exact_curve.CURVE,
    "linear": linear.CURVE,
    "advanced": advanced.CURVE,
    "zcdp": zcdp.CURVE,
    "moments": moments.CURVE,
    "moments_far": moments.CURVE_FAR,
    "moments_real": moments.CURVE_REAL,
}
