"""What a randomised assignment and Gaussian measurements cost together: the exact curve, no slack.

Randomised response among K groups keeps the right one with odds e^a to one against each other group. Its privacy
loss takes three values, so the composition with mu-GDP steps is a sum of three Gaussian curves
(docs/proofs/group_forecast.md, 3). Turning the assignment into Gaussian DP first would pay several times as much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from scipy.optimize import brentq

from meterdp.core.noise import keep_probability
from meterdp.privacy import gdp
from meterdp.privacy.curve import Curve

# Of more responses the number of orders is no float.
_AT_ONCE = 600


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return sup_S P(S) - e^epsilon Q(S) of a mu-GDP step; ``epsilon`` may be negative.

    For epsilon < 0 the identity H_a(P, Q) = 1 - a + a H_1/a(Q, P) of hockey-stick divergences and the symmetry of
    the Gaussian pair are used; both of its terms are positive, so no digit is lost.
    """
    if epsilon >= 0:
        return gdp.delta(mu, epsilon)
    return -math.expm1(epsilon) + math.exp(epsilon) * gdp.delta(mu, -epsilon)


def delta(mu: float, assignment_epsilon: float, groups: int, epsilon: float, releases: int = 1) -> float:
    """Return the exact delta of mu-GDP composed with randomised response, both repeated.

    Parameters
    ----------
    mu : float
        GDP parameter of all Gaussian measurements of one release together.
    assignment_epsilon : float
        a, non-negative; the odds of the right group against any other are e^a.
    groups : int
        K; with one group nothing is assigned.
    epsilon : float
        Non-negative.
    releases : int
        T, one or more.
    """
    return composed_delta(mu * math.sqrt(releases), {(assignment_epsilon, groups): releases}, epsilon)


def composed_delta(mu: float, responses: Mapping[tuple[float, int], int], epsilon: float) -> float:
    """Return the exact delta of mu-GDP composed with any number of randomised responses.

    Parameters
    ----------
    mu : float
        GDP parameter of all Gaussian measurements together.
    responses : mapping of (assignment epsilon, groups) to int
        How often labels were assigned among so many groups at that cost.
    epsilon : float
        Non-negative.
    """
    losses = [(0.0, 1.0)]
    for (assignment_epsilon, groups), times in responses.items():
        for some in (min(_AT_ONCE, times - done) for done in range(0, times if groups > 1 else 0, _AT_ONCE)):
            one = _response_losses(assignment_epsilon, groups, some)
            losses = _no_more_than([(loss + more, chance * c) for loss, chance in losses for more, c in one])
    if losses == [(0.0, 1.0)]:
        return gdp.delta(mu, epsilon)
    return sum(chance * gaussian_delta(mu, epsilon - loss) for loss, chance in losses)


def _no_more_than(losses: list[tuple[float, float]], most: int = 1000) -> list[tuple[float, float]]:
    """Return losses of which there are at most so many, moved up to the next of equal steps where there are more.

    A larger loss has a larger delta: nothing is understated.
    """
    if len(losses) <= most:
        return losses
    low, high = min(losses)[0], max(losses)[0]
    step, total = (high - low) / (most - 1), {}
    for loss, chance in losses:
        place = math.ceil((loss - low) / step)
        total[place] = total.get(place, 0.0) + chance
    return [(low + place * step, chance) for place, chance in total.items()]


@lru_cache(maxsize=4096)
def _response_losses(assignment_epsilon: float, groups: int, times: int) -> tuple[tuple[float, float], ...]:
    """Return what ``times`` responses may lose in all, and with which chance if the worst label is the true one."""
    keep = keep_probability(assignment_epsilon, groups)
    other = keep * math.exp(-assignment_epsilon)
    chances = (keep, other, (groups - 2) * other)  # of a loss of a, -a and 0
    total: dict[int, float] = {}
    for up in range(times + 1):
        for down in range(times + 1 - up):
            counts = (up, down, times - up - down)
            chance = math.comb(times, up) * math.comb(times - up, down)
            chance *= math.prod(c**n for c, n in zip(chances, counts, strict=True))
            total[up - down] = total.get(up - down, 0.0) + chance
    return tuple((steps * assignment_epsilon, chance) for steps, chance in total.items())


def epsilon_after(mu: float, assignment_epsilon: float, groups: int, target: float, releases: int) -> float:
    """Return the epsilon that ``releases`` releases cost together at delta ``target``, from above.

    Every release draws assignments and noise anew; parameters are those of :func:`delta`.
    """
    low, high = 0.0, 1.0
    while delta(mu, assignment_epsilon, groups, high, releases) > target:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        enough = delta(mu, assignment_epsilon, groups, middle, releases) <= target
        low, high = (low, middle) if enough else (middle, high)
    return high


def mu_beside(assignment_epsilon: float, groups: int, epsilon: float, target: float) -> float:
    """Return the largest mu that may be spent beside the assignment at (epsilon, target), on the safe side.

    Parameters
    ----------
    assignment_epsilon : float
    groups : int
    epsilon : float
        Positive; the assignment must leave room, ``assignment_epsilon < epsilon``.
    target : float
        delta of the whole release, in (0, 1).

    Returns
    -------
    float
        ``delta(mu, ...) <= target`` holds with room for the error of evaluation.
    """
    if groups == 1:
        return gdp.mu_for(epsilon, target)
    if not 0 <= assignment_epsilon < epsilon:
        raise ValueError("the assignment leaves no privacy budget for the measurements")
    goal = target * (1 - 10 * gdp.RELATIVE_ERROR)

    def excess(mu: float) -> float:
        return math.log(delta(mu, assignment_epsilon, groups, epsilon) + 1e-300) - math.log(goal)

    # What the measurements could have for themselves is too much beside an assignment.
    high = gdp.mu_for(epsilon, target)
    if excess(high) <= 0:
        return high
    mu = brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-14)
    step = 1e-14
    while excess(mu) > 0:
        mu *= 1 - step
        step *= 2
    return mu


CURVE = Curve(
    "Gaussian DP and randomised response, exact composition",
    "Gaussian steps beside a randomised choice of a group",
    delta,
    mu_beside,
)
