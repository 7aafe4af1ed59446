"""Bounds of iterative releases: steps of one epsilon, added up linearly, by advanced composition or as zCDP.

As in section 5 of Park et al. 2017. The bounds differ in what they say about a step and in how they add it up; they
share the steps, and the search for the budget of a step that a whole (epsilon, delta) allows.
:mod:`meterdp.accounting.moments` has one more. Proofs: docs/proofs/compositions.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meterdp.errors import InputError
from meterdp.privacy import gaussian

# Inverses leave this room in ln delta for the error of evaluation.
ROOM = 1e-9
# Neighbouring budgets of a step are distinguished to this relative width.
_CLOSE = 1e-14


class Infeasible(InputError):
    """No budget of a step, however small, is (epsilon, delta)-DP by this accountant."""


@dataclass(frozen=True)
class Sequence:
    """So many step_epsilon-DP Laplace steps and so many Gaussian ones, one step or more in all.

    ``step_delta``, in (0, 1), is delta_i of a Gaussian step, whose noise is :meth:`noise_multiplier` times the l2
    sensitivity. It means nothing without Gaussian steps.
    """

    laplace: int
    gaussian: int
    step_delta: float

    def __post_init__(self):
        if min(self.laplace, self.gaussian) < 0 or self.steps == 0:
            raise ValueError("a sequence has one step or more")
        if self.gaussian and not 0 < self.step_delta < 1:
            raise ValueError("step_delta is outside (0, 1)")

    @property
    def steps(self) -> int:
        """Steps in all."""
        return self.laplace + self.gaussian

    def noise_multiplier(self, step_epsilon: float) -> float:
        """Return the standard deviation of a Gaussian step over its l2 sensitivity, (14)."""
        _check_positive("step_epsilon", step_epsilon)
        return math.sqrt(2 * math.log(1.25 / self.step_delta)) / step_epsilon

    def gaussian_rho(self, step_epsilon: float) -> float:
        """Return the sum of Delta^2 / (2 sigma^2) over the Gaussian steps: their zCDP together."""
        _check_positive("step_epsilon", step_epsilon)
        if self.gaussian == 0:
            return 0.0
        return self.gaussian * step_epsilon * step_epsilon / (4 * math.log(1.25 / self.step_delta))

    def gaussian_delta(self, step_epsilon: float) -> float:
        """Return the sum over the Gaussian steps of a delta at which one is step_epsilon-DP.

        That is ``step_delta``, as printed, as long as the exact curve agrees. The noise multiplier is proven for
        step_epsilon below one only, and from some larger one on its step needs more: then this is the exact delta.
        """
        _check_positive("step_epsilon", step_epsilon)
        if self.gaussian == 0:
            return 0.0
        mu = step_epsilon / math.sqrt(2 * math.log(1.25 / self.step_delta))
        return self.gaussian * max(self.step_delta, gaussian.delta(mu, step_epsilon) * (1 + gaussian.RELATIVE_ERROR))


def _check_positive(name: str, value: float) -> None:
    if not value > 0:  # also refuses NaN
        raise ValueError(f"{name} is not a positive number")


@dataclass(frozen=True)
class Curve:
    """An accounting curve, an entry of :mod:`meterdp.accounting.registry`.

    Parameters
    ----------
    title : str
        As ``Guarantee.accountant`` states it.
    delta : callable (*parameters of the noise, epsilon) -> float
    calibrated : callable (*public parameters, epsilon, delta) -> float, optional
        The largest first parameter of ``delta`` that is (epsilon, delta)-DP, on the safe side. It raises
        :class:`Infeasible` if there is none.
    """

    title: str
    delta: Callable[..., float]
    calibrated: Callable[..., float] | None = None


# -- the search for the budget of a step -----------------------------------------------------------------------------


def check_budget(epsilon: float, delta: float) -> None:
    """Raise ValueError unless epsilon is positive and delta in [0, 1]."""
    _check_positive("epsilon", epsilon)
    if not 0 <= delta <= 1:
        raise ValueError("delta is outside [0, 1]")


def largest_step_epsilon(holds: Callable[[float], bool], epsilon: float, delta: float) -> float:
    """Return the largest step_epsilon whose steps are (epsilon, delta)-DP, from below.

    ``holds`` says whether those of one are: true up to some positive point and false from there on. The search begins
    at ``epsilon``; if that is infinite, or delta is one, any step will do.
    """
    if epsilon == math.inf or delta == 1:
        return math.inf
    low = high = epsilon
    while not holds(low):
        low /= 2
    while holds(high):
        high *= 2
    # What was halved or doubled brackets the point to a factor; bisect the rest.
    while high - low > _CLOSE * high:
        middle = low + (high - low) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def calibrated_to_tail(
    log_delta: Callable[[float, Sequence, float], float], sequence: Sequence, epsilon: float, delta: float
) -> float:
    """Return the same of a tail bound: ``log_delta`` (step_epsilon, sequence, epsilon) never falls in the first."""
    check_budget(epsilon, delta)
    target = log_target(delta)
    return largest_step_epsilon(lambda x: log_delta(x, sequence, epsilon) <= target, epsilon, delta)


def log_target(delta: float) -> float:
    """Return the ln delta that a tail bound has to reach, with room for the error of evaluation."""
    if delta == 0:
        raise Infeasible("a tail bound is never zero", field="delta", hint="raise delta, or compose linearly")
    return math.log(delta) - ROOM


# -- linear composition ----------------------------------------------------------------------------------------------
# Epsilons and deltas of all steps add up (Dwork and Roth 2014, theorem 3.16): (J(2K+1) epsilon_i, J(2K+1) delta_i)
# for GGG, (J(2K+1) epsilon_i, JK delta_i) for LLG. A curve of one point: at a smaller epsilon nothing is known.


def linear_delta(step_epsilon: float, sequence: Sequence, epsilon: float) -> float:
    """Return the sum of the steps' deltas if their epsilons fit into ``epsilon``, else 1."""
    steps_delta = sequence.gaussian_delta(step_epsilon)
    return min(1.0, steps_delta) if sequence.steps * step_epsilon <= epsilon else 1.0


def calibrated_linear(sequence: Sequence, epsilon: float, delta: float) -> float:
    """Return the largest step_epsilon that is (epsilon, delta)-DP, on the safe side."""
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


LINEAR = Curve("linear composition", linear_delta, calibrated_linear)


# -- advanced composition --------------------------------------------------------------------------------------------
# A slack delta' buys an epsilon growing like sqrt(steps) (Dwork and Roth 2014, theorem 3.20). As printed, k steps of
# epsilon_i are (k epsilon_i (e^epsilon_i - 1) + sqrt(2 k ln(1/delta')) epsilon_i, delta' + the steps' deltas)-DP. For
# few steps it is worse than linear composition; no minimum of the two is taken.


def log_slack(step_epsilon: float, sequence: Sequence, epsilon: float) -> float:
    """Return ln delta' at which the printed epsilon is ``epsilon``; 0 if it exceeds that even at delta' = 1."""
    if epsilon == math.inf:
        return -math.inf
    with np.errstate(over="ignore"):
        spare = epsilon - sequence.steps * step_epsilon * float(np.expm1(step_epsilon))
    return -spare / step_epsilon * spare / step_epsilon / (2 * sequence.steps) if spare > 0 else 0.0


def advanced_delta(step_epsilon: float, sequence: Sequence, epsilon: float) -> float:
    """Return delta' + the sum of the steps' deltas at ``epsilon``, at most 1."""
    steps_delta = sequence.gaussian_delta(step_epsilon)
    return min(1.0, math.exp(log_slack(step_epsilon, sequence, epsilon)) + steps_delta)


def calibrated_advanced(sequence: Sequence, epsilon: float, delta: float) -> float:
    """Return the largest step_epsilon that is (epsilon, delta)-DP, on the safe side."""
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


ADVANCED = Curve("advanced composition", advanced_delta, calibrated_advanced)


# -- zero-concentrated DP --------------------------------------------------------------------------------------------
# rho adds up and is (rho + 2 sqrt(rho ln(1/delta)), delta)-DP (Bun and Steinke 2016). An epsilon_i-DP step is
# epsilon_i^2/2-zCDP (proposition 1.4), a Gaussian step Delta^2/(2 sigma^2)-zCDP (1.6). Neither needs the
# epsilon_i < 1 that the paper asks for; delta_i only scales noise.


def rho(step_epsilon: float, sequence: Sequence) -> float:
    """Return the zCDP of the whole sequence."""
    gaussian_rho = sequence.gaussian_rho(step_epsilon)
    return gaussian_rho + sequence.laplace * step_epsilon * step_epsilon / 2 if sequence.laplace else gaussian_rho


def zcdp_log_delta(step_epsilon: float, sequence: Sequence, epsilon: float) -> float:
    """Return ln delta at which rho + 2 sqrt(rho ln(1/delta)) is ``epsilon``; 0 if it is never that small."""
    total = rho(step_epsilon, sequence)
    if total == 0 or epsilon == math.inf:
        return -math.inf
    return -(epsilon - total) / total * (epsilon - total) / 4 if epsilon > total else 0.0


def zcdp_delta(step_epsilon: float, sequence: Sequence, epsilon: float) -> float:
    """Return the same delta itself."""
    return math.exp(zcdp_log_delta(step_epsilon, sequence, epsilon))


def calibrated_zcdp(sequence: Sequence, epsilon: float, delta: float) -> float:
    """Return the largest step_epsilon that is (epsilon, delta)-DP, on the safe side."""
    return calibrated_to_tail(zcdp_log_delta, sequence, epsilon, delta)


ZCDP = Curve("zero-concentrated DP", zcdp_delta, calibrated_zcdp)
