"""Gaussian steps beside randomised responses: what a group forecast costs, and what a budget leaves for its steps.

The composition itself is :func:`meterdp.privacy.gaussian.composed_delta` (docs/proofs/group_forecast.md, 3).
"""

from __future__ import annotations

import math

from scipy.optimize import brentq

from meterdp.privacy.gaussian import RELATIVE_ERROR, composed_delta, mu_for


def delta_with_response(
    mu: float, assignment_epsilon: float, groups: int, epsilon: float, releases: int = 1
) -> float:
    """Return the exact delta of mu-GDP composed with randomised response, both repeated ``releases`` times.

    mu is that of all Gaussian measurements of one release together. The odds of the right one of ``groups`` against
    any other are e^a, a = ``assignment_epsilon`` >= 0; with one group nothing is assigned.
    """
    return composed_delta(mu * math.sqrt(releases), {(assignment_epsilon, groups): releases}, epsilon)


def epsilon_after(mu: float, assignment_epsilon: float, groups: int, target: float, releases: int) -> float:
    """Return, from above, the epsilon at ``target`` of ``releases`` releases, each with noise and assignments of its
    own.
    """
    low, high = 0.0, 1.0
    while delta_with_response(mu, assignment_epsilon, groups, high, releases) > target:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        enough = delta_with_response(mu, assignment_epsilon, groups, middle, releases) <= target
        low, high = (low, middle) if enough else (middle, high)
    return high


def mu_beside(assignment_epsilon: float, groups: int, epsilon: float, target: float) -> float:
    """Return the largest mu that may be spent beside the assignment at (epsilon, target), on the safe side.

    ``target`` is the delta of the whole release, in (0, 1). ``delta_with_response(mu, ...) <= target`` holds with
    room for the error of evaluation. The assignment must leave room, ``assignment_epsilon < epsilon``.
    """
    if groups == 1:
        return mu_for(epsilon, target)
    if not 0 <= assignment_epsilon < epsilon:
        raise ValueError("the assignment leaves no privacy budget for the measurements")
    goal = target * (1 - 10 * RELATIVE_ERROR)

    def excess(mu: float) -> float:
        return math.log(delta_with_response(mu, assignment_epsilon, groups, epsilon) + 1e-300) - math.log(goal)

    # What the measurements could have for themselves is too much beside an assignment.
    high = mu_for(epsilon, target)
    if excess(high) <= 0:
        return high
    mu = brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-14)
    step = 1e-14
    while excess(mu) > 0:
        mu *= 1 - step
        step *= 2
    return mu
