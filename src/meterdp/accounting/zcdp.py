"""Zero-concentrated DP (Bun and Steinke 2016): rho adds up and is (rho + 2 sqrt(rho ln(1/delta)), delta)-DP.

As in section 5 of Park et al.: an epsilon_i-DP step is epsilon_i^2/2-zCDP (proposition 1.4), a Gaussian step
Delta^2/(2 sigma^2)-zCDP (1.6). Neither needs the epsilon_i < 1 that the paper asks for; delta_i only scales noise.
"""

from __future__ import annotations

import math

from meterdp.accounting.sequence import Curve, Sequence, calibrated_to_tail


def rho(step_epsilon: float, sequence: Sequence) -> float:
    """Return the zCDP of the whole sequence."""
    gaussian = sequence.gaussian_rho(step_epsilon)
    return gaussian + sequence.laplace * step_epsilon * step_epsilon / 2 if sequence.laplace else gaussian


def log_delta(step_epsilon: float, sequence: Sequence, epsilon: float) -> float:
    """Return ln delta at which rho + 2 sqrt(rho ln(1/delta)) is ``epsilon``; 0 if it is never that small."""
    total = rho(step_epsilon, sequence)
    if total == 0 or epsilon == math.inf:
        return -math.inf
    return -(epsilon - total) / total * (epsilon - total) / 4 if epsilon > total else 0.0


def delta(step_epsilon: float, sequence: Sequence, epsilon: float) -> float:
    """Return delta at ``epsilon``; see :func:`log_delta`."""
    return math.exp(log_delta(step_epsilon, sequence, epsilon))


def calibrated(sequence: Sequence, epsilon: float, delta: float) -> float:
    """Return the largest step_epsilon that is (epsilon, delta)-DP, on the safe side.

    Raises
    ------
    Infeasible
        For delta = 0.
    """
    return calibrated_to_tail(log_delta, sequence, epsilon, delta)


CURVE = Curve("zero-concentrated DP", "any adaptive sequence of Laplace and Gaussian steps", delta, calibrated)
