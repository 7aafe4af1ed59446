"""The accounting curves by name. A new one is one file, which ends with its entry, and one line here."""

from __future__ import annotations

from meterdp.accounting import exact_curve, gdp, gdp_with_response
from meterdp.accounting.interface import Curve

CURVES: dict[str, Curve] = {
    "gdp": gdp.CURVE,
    "gdp_with_response": gdp_with_response.CURVE,
    "gaussian_pair": exact_curve.CURVE,
}
