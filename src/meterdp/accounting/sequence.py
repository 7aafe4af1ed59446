"""Steps of an iterative release, for accountants that add up one step's privacy (Park et al. 2017, section 5).

Their curves differ in what they say about a step and in how they add it up. They share the steps, and the search for
the budget of a step that a whole (epsilon, delta) allows. Proofs: docs/proofs/compositions.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from meterdp.errors import InputError
from meterdp.privacy import gaussian

# Inverses leave this room in ln delta for the error of evaluation.
ROOM = 1e-9
# Neighbouring budgets of a step are told apart to this relative width.
_CLOSE = 1e-14


class Infeasible(InputError):
    """No budget of a step, however small, is (epsilon, delta)-DP by this accountant."""


@dataclass(frozen=True)
class Sequence:
    """Steps of an iterative release: so many step_epsilon-DP Laplace steps and so many Gaussian ones.

    Parameters
    ----------
    laplace, gaussian : int
        How many of each; one step or more in all.
    step_delta : float
        delta_i of a Gaussian step, in (0, 1). Its noise is :meth:`noise_multiplier` times the l2 sensitivity.
        Means nothing without Gaussian steps.
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
        _check_positive(step_epsilon=step_epsilon)
        return math.sqrt(2 * math.log(1.25 / self.step_delta)) / step_epsilon

    def gaussian_rho(self, step_epsilon: float) -> float:
        """Return the sum of Delta^2 / (2 sigma^2) over the Gaussian steps: their zCDP together."""
        _check_positive(step_epsilon=step_epsilon)
        if self.gaussian == 0:
            return 0.0
        return self.gaussian * step_epsilon * step_epsilon / (4 * math.log(1.25 / self.step_delta))

    def gaussian_delta(self, step_epsilon: float) -> float:
        """Return the sum over the Gaussian steps of a delta at which one is step_epsilon-DP.

        That is ``step_delta``, as printed, as long as the exact curve agrees. The noise multiplier is proven for
        step_epsilon below one only, and from some larger one on its step needs more: then this is the exact delta.
        """
        _check_positive(step_epsilon=step_epsilon)
        if self.gaussian == 0:
            return 0.0
        mu = step_epsilon / math.sqrt(2 * math.log(1.25 / self.step_delta))
        return self.gaussian * max(self.step_delta, gaussian.delta(mu, step_epsilon) * (1 + gaussian.RELATIVE_ERROR))


def check_budget(epsilon: float, delta: float) -> None:
    """Refuse a budget of a whole sequence that means nothing.

    Raises
    ------
    ValueError
        Unless epsilon is positive and delta in [0, 1].
    """
    _check_positive(epsilon=epsilon)
    if not 0 <= delta <= 1:
        raise ValueError("delta is outside [0, 1]")


def largest_step_epsilon(holds: Callable[[float], bool], epsilon: float, delta: float) -> float:
    """Return the largest step_epsilon for which ``holds`` is true, from below.

    Parameters
    ----------
    holds : callable (step_epsilon) -> bool
        Whether steps of this budget are (epsilon, delta)-DP: true up to some positive point and false from there on.
    epsilon : float
        Of the whole sequence, positive; where to begin. If it is infinite any step will do.
    delta : float
        Of the whole sequence, in [0, 1]. At one any step will do.
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
    """Return the largest step_epsilon whose tail bound is (epsilon, delta)-DP, on the safe side.

    Parameters
    ----------
    log_delta : callable (step_epsilon, sequence, epsilon) -> float
        ln delta of the sequence, which never falls in step_epsilon.
    sequence : Sequence
    epsilon, delta : float
        Of the whole sequence.

    Raises
    ------
    Infeasible
        For delta = 0.
    """
    check_budget(epsilon, delta)
    target = log_target(delta)
    return largest_step_epsilon(lambda x: log_delta(x, sequence, epsilon) <= target, epsilon, delta)


def log_target(delta: float) -> float:
    """Return the ln delta that a tail bound has to reach, with room for the error of evaluation.

    Raises
    ------
    Infeasible
        For delta = 0.
    """
    if delta == 0:
        raise Infeasible("a tail bound is never zero", field="delta", hint="raise delta, or compose linearly")
    return math.log(delta) - ROOM


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:  # also refuses NaN
            raise ValueError(f"{name} is not a positive number")
