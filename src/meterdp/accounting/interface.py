"""What an accounting curve is: the privacy of a sequence of noisy steps, delta as a function of epsilon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Curve:
    """An accounting curve, an entry of :mod:`meterdp.accounting.registry`.

    Parameters
    ----------
    title : str
        As ``Guarantee.accountant`` states it.
    accounts_for : str
        The steps it adds up.
    delta : callable (*parameters, epsilon) -> float
        Delta at ``epsilon``; the parameters are those of the noise.
    calibrated : callable (*public parameters, epsilon, delta) -> float, optional
        The largest first parameter of ``delta`` that is (epsilon, delta)-DP.
    """

    title: str
    accounts_for: str
    delta: Callable[..., float]
    calibrated: Callable[..., float] | None = None
