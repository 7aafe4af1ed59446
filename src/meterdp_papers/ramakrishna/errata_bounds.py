"""Defects of Ramakrishna et al. in numbers and bounds: printed deltas (R5), (42) (R8), Corollaries 2 and 3 (R11).

What the errata of Ramakrishna et al. share: numbers the paper prints, and exact tails of the privacy loss.

The printed numbers are quoted, everything else is computed. Tails of two-dimensional losses are integrated here by a
separate route, as the check beside :func:`worst`.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr
from scipy.stats import norm

from meterdp.accounting.exact_curve import Side, chernoff, worst_pair
from meterdp.accounting.gaussian_loss import PairLosses, pair_losses
from meterdp.class_noise.query_models import ClassQueries
from meterdp.privacy.noise import NoiseSource
from meterdp_papers.common.tables import Finding, defect
from meterdp_papers.ramakrishna.tables import CAPTION, LARGE_BUDGET, PROPOSED_END, SMALL_BUDGET

STEPS = 12  # entries of a query in section VI-B, three hours
# Of the quadrature of tails: angles from -pi/2 to pi/2 in pieces, as narrow distributions change fast within a few
# degrees.
_PIECES = 32
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)
_ANGLES = ((np.arange(_PIECES) + 0.5)[:, None] + _NODES / 2).ravel() * math.pi / _PIECES - math.pi / 2
_WEIGHTS = np.tile(_NODE_WEIGHTS / 2, _PIECES) * math.pi / _PIECES


def normal_tail(mu: float, epsilon: float) -> float:
    """Return (33), Pr(L > epsilon) for equal covariances and means ``mu`` noise widths apart; (23) is the same."""
    return float(norm.sf(epsilon / mu - mu / 2))


def mu_of_tail(delta: float, epsilon: float) -> float:
    """Return the mu at which :func:`normal_tail` is ``delta``, the positive root of mu^2/2 + z mu - epsilon."""
    z = norm.isf(delta)
    return float(-z + math.sqrt(z * z + 2 * epsilon))


def all_pairs(labels: int) -> np.ndarray:
    """Return the edges of a full graph, (P, 2)."""
    return np.argwhere(~np.eye(labels, dtype=bool))


def line_of_classes(noise: NoiseSource, classes: int = 4, spacing: float = 1.0) -> ClassQueries:
    """Draw the queries of section VI-A: 2-D means on a line, covariances Wishart(I, 2), all neighbours."""
    root = noise.normal((classes, 2, 2))
    means = spacing * np.arange(classes)[:, None] * np.full(2, math.sqrt(0.5))
    return ClassQueries(means, root @ np.swapaxes(root, 1, 2), all_pairs(classes))


def two_labels(mean, covariance, other_mean, other_covariance) -> ClassQueries:
    """Return two distributions and the pair in both orders; pair 0 is (X, X')."""
    means = np.array([mean, other_mean], dtype=float)
    return ClassQueries(means, np.array([covariance, other_covariance], dtype=float), all_pairs(2))


def tails_by_quadrature(gamma: np.ndarray, nu: np.ndarray, epsilon: float) -> tuple[float, float]:
    """Return Pr(L > epsilon) and Pr(L < -epsilon) of a loss (29) with two entries, gamma and nu (2,).

    Given xi_1, the loss is a parabola in xi_2, so the probability given xi_1 is a difference of normal distribution
    functions. It is integrated between the places where the parabola gains or loses its roots; there it changes like
    a square root, which the sine of an angle makes smooth for Gauss-Legendre quadrature.
    """
    constant = 0.5 * float(np.sum(nu**2 - np.log(gamma)))
    half, slope = 0.5 * (gamma - 1), -np.sqrt(gamma) * nu

    def above(x: np.ndarray, level: float) -> np.ndarray:
        """Pr(L > level | xi_1 = x)."""
        a, b, c = half[1], slope[1], constant + half[0] * x * x + slope[0] * x - level
        if abs(a) < 1e-14:
            return ndtr(c / abs(b)) if b else (c > 0).astype(float)
        square = b * b - 4 * a * c
        root = np.sqrt(np.maximum(square, 0.0))
        low, high = np.sort([(-b - root) / (2 * a), (-b + root) / (2 * a)], axis=0)
        inside = np.where(square > 0, ndtr(high) - ndtr(low), 0.0)
        return 1 - inside if a > 0 else inside

    def probability(level: float) -> float:
        # Where the discriminant in xi_2 changes sign: a parabola in xi_1.
        a = half[1]
        edges = np.roots([-4 * a * half[0], -4 * a * slope[0], slope[1] ** 2 - 4 * a * (constant - level)])
        reach = 9.0
        cuts = np.clip(np.sort(edges[np.isreal(edges)].real), -reach, reach)
        points = np.unique(np.concatenate([[-reach, 0.0, reach], cuts]))
        middle, radius = (points[1:] + points[:-1])[:, None] / 2, np.diff(points)[:, None] / 2
        x = middle + radius * np.sin(_ANGLES)
        density = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        return float(np.sum(radius * np.cos(_ANGLES) * _WEIGHTS * density * above(x, level)))

    return probability(epsilon), 1 - probability(-epsilon)


def losses_of(distributions: ClassQueries) -> PairLosses:
    """Return the losses of all pairs of ``distributions``."""
    return pair_losses(distributions.mean_log_kwh, distributions.covariance, distributions.pairs)


def worst(distributions: ClassQueries, epsilon: float, side: Side = "one") -> float:
    """Return the largest delta over all ordered pairs: Pr(L > epsilon), or that of (epsilon, delta)-DP."""
    return worst_pair(losses_of(distributions), epsilon, side).delta


def worst_by_quadrature(distributions: ClassQueries, epsilon: float) -> float:
    """Return the largest Pr(L > epsilon) over all pairs of queries with two entries, by quadrature."""
    losses = losses_of(distributions)
    return max(tails_by_quadrature(g, n, epsilon)[0] for g, n in zip(losses.gamma, losses.nu, strict=True))


_GRAPHS = 10


@defect(
    "R5",
    "Caption of Fig. 3, section VI-B",
    "At rho = 0.45 delta is printed as 0.5637 for eps = 0.8 and as 0.84 for eps = 1; 0.35 is printed for two "
    "budgets.",
    "The first two cannot both be read off one curve; the last two leave no room for the improvement with rho "
    "that the text reports.",
    "Every number comes from a table of computed curves.",
    note="The caption may mean another rho, graph or data set; the text does not say.",
)
def printed_numbers(noise: NoiseSource) -> tuple[Finding, ...]:
    rho, low, delta_low = CAPTION.rho, CAPTION.epsilon, CAPTION.delta
    high, delta_high = SMALL_BUDGET.epsilon, SMALL_BUDGET.delta
    small, epsilon, delta_small = PROPOSED_END.rho, PROPOSED_END.epsilon, PROPOSED_END.delta
    large, delta_large = LARGE_BUDGET.rho, LARGE_BUDGET.delta
    # The largest two-sided value at `high` that a one-sided delta_low at `low` leaves: tails fall with eps, and
    # Pr_X(L < -eps) <= e^-eps Pr_X'(L' > eps) for the reverse pair, which is in the graph too.
    most = delta_low * (1 + math.exp(-high))
    rises, shares = [], []
    for _ in range(_GRAPHS):
        losses = losses_of(line_of_classes(noise))
        for gamma, nu in zip(losses.gamma, losses.nu, strict=True):
            curve = np.array([tails_by_quadrature(gamma, nu, e) for e in (low, high)])
            rises.append(curve[1, 0] - curve[0, 0])
        both = np.array([tails_by_quadrature(g, n, high) for g, n in zip(losses.gamma, losses.nu, strict=True)])
        shares.append(both.sum(axis=1).max() / (both[:, 0].max() * (1 + math.exp(-high))))
    more = normal_tail(mu_of_tail(delta_small, epsilon) * math.sqrt(small / large), epsilon)
    settings = f"numbers as printed; rho = {rho:g}, proposed noise"
    graphs = f"{_GRAPHS} graphs of section VI-A without noise, all pairs, by quadrature"
    here = partial(Finding, settings, "caption of Fig. 3, section VI-B")
    return (
        here(
            f"The printed delta is {delta_low:g} at eps = {low:g} and {delta_high:g} at eps = {high:g}: it rises, "
            "but Pr(L > eps) is a tail and cannot. (Text: the most a tail can rise.)",
            f"rise of the printed delta from eps = {low:g} to {high:g}",
            delta_high - delta_low,
            claimed=0.0,
        ),
        here(
            f"Nor can the sides be the reason (R10): the largest two-sided delta at eps = {high:g} if the caption's "
            f"is one-sided, delta (1 + e^-{high:g}).",
            f"largest two-sided delta at eps = {high:g}",
            most,
            claimed=delta_high,
        ),
        Finding(
            graphs,
            "(5)",
            "Largest rise of an exact tail from the one eps to the other, as a check of the argument.",
            f"largest rise of Pr(L > eps) from eps = {low:g} to {high:g}",
            max(0.0, *rises),
            closed_form=0.0,
        ),
        Finding(
            graphs,
            "(5)",
            "Largest two-sided delta of a graph over its bound, one-sided delta times 1 + e^-eps, as a check of the "
            "argument; it is at most one.",
            f"two-sided delta over its bound at eps = {high:g}, largest",
            max(shares),
        ),
        Finding(
            "(23) through the printed value",
            "section VI-B",
            f"{delta_small:g} is printed for rho = {small:g} and again for rho = {large:g}, at eps = {epsilon:g} "
            "both times: what noise scaled up to the larger budget gives where the smaller one gives the printed "
            "value, equal covariances, deterministic queries.",
            f"delta at rho = {large:g}, eps = {epsilon:g}",
            more,
            closed_form=float(norm.sf(_tail_argument(delta_small, epsilon, small / large))),
            claimed=delta_large,
        ),
    )


def _tail_argument(delta: float, epsilon: float, ratio: float) -> float:
    """(eps - m/2)/sqrt m at m = ratio times the mu^2 of ``delta``, found by a root search instead of a formula."""
    square = brentq(lambda m: norm.sf((epsilon - m / 2) / math.sqrt(m)) - delta, 1e-6, 100, xtol=1e-14) * ratio
    return (epsilon - square / 2) / math.sqrt(square)


@defect(
    "R8",
    "(42)",
    "The factor 2 of (36) stands under eps instead of under the surrogate.",
    "Read as a bound on delta, (42) is not the logarithm of (36) or (38) and may exceed zero. What is minimised "
    "stays the same.",
    "Nothing depends on this line.",
)
def misplaced_factor(noise: NoiseSource) -> tuple[Finding, ...]:
    mu, epsilon, s = 1.0, 1.0, 5.0
    g = _surrogate_by_hand([0.0], [[1.0]], [mu], [[1.0]])
    losses = losses_of(two_labels([0.0], [[1.0]], [mu], [[1.0]]))
    sensitivity = float(losses.constant[0])  # (37) is the constant term of (29)
    by_38 = (sensitivity - epsilon) / s
    by_42 = -epsilon / (2 * s) + 2 * sensitivity / s
    settings = f"equal covariances, |mu| = {mu:g}, eps = {epsilon:g}, s = {s:g}"
    here = partial(Finding, settings, "(42)")
    return (
        here(
            "The bound on delta that (42) prints, -eps/(2s) + (mu'Gamma mu - ln|Gamma|)/s; the text column is (36), "
            "-eps/s + (mu'Gamma mu - ln|Gamma|)/(2s), whose logarithm it means to take.",
            "exp of the right side of (42)",
            math.exp(by_42),
            closed_form=math.exp((g - epsilon / 2) / s),
            claimed=math.exp(by_38),
        ),
        here(
            "The two differ by (eps + mu'Gamma mu - ln|Gamma|)/(2s), so (42) charges half the eps and twice the "
            "sensitivity. The minimiser is the same.",
            "(42) minus the logarithm of (36)",
            by_42 - by_38,
            closed_form=(epsilon + g) / (2 * s),
            claimed=0.0,
        ),
    )


def _surrogate_by_hand(mean, covariance, other_mean, other_covariance) -> float:
    """mu'Gamma mu - ln|Gamma| by (41), from means and covariances."""
    d = np.subtract(other_mean, mean)
    log_ratio = np.linalg.slogdet(covariance)[1] - np.linalg.slogdet(other_covariance)[1]
    return float(d @ np.linalg.solve(other_covariance, d) - log_ratio)


@defect(
    "R11",
    "Corollaries 2 and 3, (35)-(38)",
    "(35) drops (tr Gamma - k)/(2s) from the logarithm of (34), of the same order in 1/s as what it keeps, and "
    "(38) is called a bound at any s.",
    "(38) can lie below the probability, and for every s it does for some pair and eps. Nothing may be "
    "guaranteed by it.",
    "Guarantees come from exact curves; Lemma 1, which holds, is the cross-check.",
)
def corollaries(noise: NoiseSource) -> tuple[Finding, ...]:
    mu, epsilon, s = 2.0, 4.0, 1.05
    far, wide = 100.0, 20.0
    excess = far**2 / 2 + wide
    gamma, s_far = (9.0, 4.0), 1e6
    smallest = minimize_scalar(lambda x: -norm.logsf(x) / x, bounds=(0.1, 10), method="bounded")
    # The same from the derivative: where -ln Q(x) = x phi(x) / Q(x).
    root = brentq(lambda x: norm.logsf(x) + x * math.exp(norm.logpdf(x) - norm.logsf(x)), 0.1, 10)
    lemma = float(chernoff(losses_of(two_labels([0.0], [[1.0]], [mu], [[1.0]])), np.array([epsilon]))[0][0, 0])
    return (
        Finding(
            f"Gamma = I, |mu| = {mu:g}, eps = {epsilon:g}, s = {s:g}",
            "Corollary 3, (38)",
            "The probability that (38) is said to bound. (Text: (38).)",
            "Pr(L > eps)",
            normal_tail(mu, epsilon),
            closed_form=_tail_by_quadrature(mu, epsilon),
            claimed=math.exp((mu**2 / 2 - epsilon) / s),
        ),
        Finding(
            f"Gamma = I, |mu| = {mu:g}, eps = {epsilon:g}",
            "Lemma 1, (34)",
            "Lemma 1 itself at its best s, which is a bound.",
            "Chernoff bound at eps",
            lemma,
            closed_form=math.exp(-((epsilon - mu**2 / 2) ** 2) / (2 * mu**2)),
        ),
        Finding(
            f"Gamma = I, |mu| = {far:g}, eps = |mu|^2/2 + {wide:g}, s = {wide:g}",
            "Corollary 2, (36)",
            f"A large s does not help: the probability at s = {wide:g}, far above max(1, gamma_1) = 1. (Text: (36).)",
            "Pr(L > eps)",
            normal_tail(far, excess),
            closed_form=_tail_by_quadrature(far, excess),
            claimed=math.exp(-wide / wide),
        ),
        Finding(
            f"Gamma = diag{gamma}, mu = 0, eps = {epsilon:g}, s = {s_far:g}",
            "Corollary 2, (35)",
            "What (34) tends to: s times its logarithm for a large s. It is the divergence KL(X || X') less eps; "
            "(35) drops (tr Gamma - k)/2 of it. (Text: s times the logarithm of (36).)",
            "s ln of the right side of (34)",
            s_far * _log_34(gamma, epsilon, s_far),
            closed_form=0.5 * sum(g - 1 - math.log(g) for g in gamma) - epsilon,
            claimed=-0.5 * sum(math.log(g) for g in gamma) - epsilon,
        ),
        Finding(
            "smallest of -ln Q(x)/x over x > 0",
            "Corollaries 2 and 3",
            "For Gamma = I and any s, however large, (38) fails at some eps as soon as |mu| is this many times s; "
            "below it, it holds. (Check: the equation of the minimum.)",
            "|mu|/s from which (38) fails",
            float(smallest.fun),
            closed_form=float(-norm.logsf(root) / root),
        ),
    )


def _log_34(gamma: tuple[float, ...], epsilon: float, s: float) -> float:
    """Logarithm of the right side of (34) for equal means."""
    front = sum(0.5 * math.log((s - 1) / (s - g)) - math.log(g) / (2 * (s - 1)) for g in gamma)
    return front - epsilon / (s - 1)


def _tail_by_quadrature(mu: float, epsilon: float) -> float:
    """Integrate the normal density of the loss (32) above epsilon, in units of its standard deviation."""
    start = (epsilon - mu**2 / 2) / mu
    nodes, weights = np.polynomial.legendre.leggauss(100)
    x = start + 6 * (nodes + 1)
    return float(6 * weights @ norm.pdf(x))
