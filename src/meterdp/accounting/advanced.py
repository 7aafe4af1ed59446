"""Advanced composition (Dwork and Roth 2014, theorem 3.20): a slack delta' buys an epsilon growing like sqrt(steps).

As printed in section 5 of Park et al.: k steps of epsilon_i are (k epsilon_i (e^epsilon_i - 1) +
sqrt(2 k ln(1/delta')) epsilon_i, delta' + the steps' deltas)-DP. For few steps it is worse than linear composition;
no minimum of the two is taken.
"""

from __future__ import annotations

import math

import numpy as np

from meterdp.accounting.interface import Curve
from meterdp.accounting.sequence import ROOM, Infeasible, Sequence, check_budget, largest_step_epsilon


def log_slack(step_epsilon: float, sequence: Sequence, epsilon: float) -> float:
    """Return ln delta' at which the printed epsilon is ``epsilon``; 0 if it exceeds that even at delta' = 1."""
    if epsilon == math.inf:
        return -math.inf
    with np.errstate(over="ignore"):
        spare = epsilon - sequence.steps * step_epsilon * float(np.expm1(step_epsilon))
    return -spare / step_epsilon * spare / step_epsilon / (2 * sequence.steps) if spare > 0 else 0.0


def delta(step_epsilon: float, sequence: Sequence, epsilon: float) -> float:
    """Return delta' + the sum of the steps' deltas at ``epsilon``, at most 1."""
    steps_delta = sequence.gaussian_delta(step_epsilon)
    return min(1.0, math.exp(log_slack(step_epsilon, sequence, epsilon)) + steps_delta)


def calibrated(sequence: Sequence, epsilon: float, delta: float) -> float:
    """Return the largest step_epsilon that is (epsilon, delta)-DP, on the safe side.

    Raises
    ------
    Infeasible
        If the deltas of the steps leave nothing of delta for the slack.
    """
    check_budget(epsilon, delta)
    left = delta - sequence.gaussian * sequence.step_delta if sequence.gaussian else delta
    if left <= 0:
        raise Infeasible(
            "the deltas of the Gaussian steps leave no slack for advanced composition",
            field="step_delta",
            hint="lower step_delta or the number of iterations, or compose by zcdp or moments_real",
        )

    def holds(step_epsilon: float) -> bool:
        left = delta - sequence.gaussian_delta(step_epsilon)
        return left > 0 and log_slack(step_epsilon, sequence, epsilon) <= math.log(left) - ROOM

    return largest_step_epsilon(holds, epsilon, delta)


CURVE = Curve("advanced composition", "Laplace and Gaussian steps of one epsilon", delta, calibrated)
