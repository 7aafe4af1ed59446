"""Linear composition: epsilons and deltas of all steps add up (Dwork and Roth 2014, theorem 3.16).

As in section 5 of Park et al.: (J(2K+1) epsilon_i, J(2K+1) delta_i) for GGG, (J(2K+1) epsilon_i, JK delta_i) for LLG.
A curve of one point: at a smaller epsilon nothing is known.
"""

from __future__ import annotations

from meterdp.accounting.interface import Curve
from meterdp.accounting.sequence import Infeasible, Sequence, check_budget, largest_step_epsilon


def delta(step_epsilon: float, sequence: Sequence, epsilon: float) -> float:
    """Return the sum of the steps' deltas if their epsilons fit into ``epsilon``, else 1."""
    steps_delta = sequence.gaussian_delta(step_epsilon)
    return min(1.0, steps_delta) if sequence.steps * step_epsilon <= epsilon else 1.0


def calibrated(sequence: Sequence, epsilon: float, delta: float) -> float:
    """Return the largest step_epsilon that is (epsilon, delta)-DP, on the safe side.

    Raises
    ------
    Infeasible
        If the deltas of the steps alone exceed delta.
    """
    check_budget(epsilon, delta)
    if sequence.gaussian and sequence.gaussian * sequence.step_delta > delta:
        raise Infeasible(
            "the deltas of the Gaussian steps add up to more than delta",
            field="step_delta",
            hint="lower step_delta or the number of iterations, or compose by zcdp or moments_real",
        )

    def holds(step_epsilon: float) -> bool:
        return sequence.steps * step_epsilon <= epsilon and sequence.gaussian_delta(step_epsilon) <= delta

    return largest_step_epsilon(holds, epsilon, delta)


CURVE = Curve("linear composition", "Laplace and Gaussian steps of one epsilon", delta, calibrated)
