"""The accounting curves by name. A new one is its functions, an entry below them, and one line here."""

from __future__ import annotations

from meterdp.accounting import exact_curve, moments
from meterdp.accounting.sequence import ADVANCED, LINEAR, ZCDP, Curve
from meterdp.privacy import gaussian

CURVES: dict[str, Curve] = {
    "gdp": Curve(gaussian.STEPS, gaussian.delta, gaussian.mu_for),
    "gaussian_pair": exact_curve.CURVE,
    "linear": LINEAR,
    "advanced": ADVANCED,
    "zcdp": ZCDP,
    "moments": moments.CURVE,
    "moments_few": moments.CURVE_FEW,
    "moments_far": moments.CURVE_FAR,
    "moments_real_capped": moments.CURVE_REAL_CAPPED,
    "moments_real": moments.CURVE_REAL,
}
