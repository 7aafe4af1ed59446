"""Defects of Park et al. in what is charged: noise by a noisy count (P2), deltas that exceed delta (P4).

P2: a class of n records gets the noisy count n + 2 m Z, m the noise multiplier (standard deviation of the noise over
the stated l2 sensitivity) and Z standard normal; its mean then gets noise of standard deviation 2 m over that count.
Two data sets that differ in one member of the class have means 2/n apart, so given the count the pair is mu-GDP with
mu = count/(n m), where 1/m is stated. Noise multipliers are by closed forms of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from meterdp.accounting.registry import CURVES
from meterdp.accounting.sequence import Sequence
from meterdp.privacy import gaussian
from meterdp.privacy.noise import NoiseSource
from meterdp_papers.common.tables import Finding, averaged, defect

DELTA = 1e-4


@dataclass(frozen=True)
class Setting:
    """One run of DP-EM, scenario GGG."""

    name: str  # figure and sizes, in words
    iterations: int  # J
    classes: int  # K
    step_delta: float  # delta_i

    @property
    def steps(self) -> int:
        """Gaussian steps, J (2 K + 1)."""
        return self.iterations * (2 * self.classes + 1)

    def multiplier(self, epsilon: float) -> float:
        """Return the noise multiplier for (epsilon, 1e-4)-DP from rho + 2 sqrt(rho ln(1/delta)) = epsilon."""
        return math.sqrt(self.steps / (2 * zcdp_rho(epsilon, DELTA)))

    def step_epsilon(self, epsilon: float) -> float:
        """Return eps_i: the multiplier is sqrt(2 ln(1.25/delta_i))/eps_i."""
        return math.sqrt(2 * math.log(1.25 / self.step_delta)) / self.multiplier(epsilon)


STROKE = Setting("Fig. 2: J = 20, K = 10, delta_i = 1e-6", 20, 10, 1e-6)
LIFE_SCIENCES = Setting("Fig. 3: J = 10, K = 3, delta_i = 1e-8", 10, 3, 1e-8)
MARITAL = Setting("Fig. 1 in one iteration: J = 1, K = 4, delta_i = 1e-6", 1, 4, 1e-6)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the rho with rho + 2 sqrt(rho ln(1/delta)) = epsilon."""
    log = math.log(1 / delta)
    return (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2


def analyze_gauss_std(epsilon: float, delta: float, sensitivity: float) -> float:
    """Return the standard deviation sqrt(2 ln(1.25/delta)) sensitivity/epsilon of (17)."""
    return math.sqrt(2 * math.log(1.25 / delta)) * sensitivity / epsilon


def delta_from_tails(mu: float, epsilon: float) -> float:
    """Return delta at ``epsilon`` of normal distributions whose means are ``mu`` standard deviations apart."""
    return float(norm.sf(epsilon / mu - mu / 2) - math.exp(epsilon) * norm.sf(epsilon / mu + mu / 2))


_TINY = 1e-12  # a budget of a step that costs next to nothing
_COMPOSED_EPSILON = 4.0


@defect(
    "P4",
    "Section 5, captions of Figs 2 and 3",
    "Linear and advanced composition add up all delta_i, which in Fig. 2 exceed the delta of the figure.",
    "Neither has a budget at any epsilon; curves that are drawn for them have a delta several times the printed one.",
    "Gaussian answers compose without a delta of their own.",
    note="The reproduction leaves these delta_i out of delta where they do not fit and says so.",
)
def deltas_of_steps(noise: NoiseSource) -> tuple[Finding, ...]:
    return (
        _finding("linear", "GGG", STROKE),
        _finding("linear", "LLG", STROKE),
        _finding("advanced", "GGG", STROKE),
        _finding("linear", "GGG", LIFE_SCIENCES),
    )


def _finding(composition: str, scheme: str, setting: Setting) -> Finding:
    answers = setting.steps if scheme == "GGG" else setting.iterations * setting.classes
    sequence = Sequence(setting.steps - answers, answers, setting.step_delta)
    return Finding(
        f"{setting.name}; {answers} Gaussian answers",
        "section 5; captions of Figs 2 and 3",
        f"delta of {composition} composition, scenario {scheme}, however small eps_i is; the text has delta = "
        f"{DELTA:g}.",
        f"delta at epsilon {_COMPOSED_EPSILON:g}, eps_i -> 0",
        CURVES[composition].delta(_TINY, sequence, _COMPOSED_EPSILON),
        closed_form=answers * setting.step_delta,
        claimed=DELTA,
    )


_DRAWS = 400_000
_FLOOR = 1.0  # records, where the noisy count is below; the paper has none
_EPSILON = 1.0
_SMALL_CLASS = 100
_ORDER, _RENYI_CLASS = 5.0, 11


@defect(
    "P2",
    "(15), (18), footnotes 5 and 7",
    "The sensitivities divide by the noisy count, the statistics by the true one; a noisy count of zero is "
    "divided by as well.",
    "Where the noisy count is too large the noise is too small by the same factor. For a class smaller than the "
    "noise on its count nothing is left of the stated delta_i, and no class has a zCDP.",
    "Sums over all classes are released, whose sensitivity holds no count; division comes after the noise, by "
    "noisy counts above a public floor.",
)
def noisy_counts(noise: NoiseSource) -> tuple[Finding, ...]:
    return (
        _delta_of(noise, MARITAL, 1),
        _delta_of(noise, STROKE, _SMALL_CLASS),
        _no_count(noise),
        _renyi(),
    )


def _delta_of(noise: NoiseSource, setting: Setting, records: int) -> Finding:
    multiplier, step = setting.multiplier(_EPSILON), setting.step_epsilon(_EPSILON)
    # Loss of one draw: given the count it is normal with mean mu^2/2 and variance mu^2.
    count = np.maximum(records + 2 * multiplier * noise.normal((_DRAWS,)), _FLOOR)
    mu = count / (records * multiplier)
    loss = mu * noise.normal((_DRAWS,)) + mu**2 / 2
    share = np.maximum(-np.expm1(step - loss), 0.0)
    return Finding(
        f"{setting.name}, eps = {_EPSILON:g} in all, eps_i = {step:.3g}, noisy counts below 1 set to 1, {_DRAWS} "
        "draws",
        "(15), (16)",
        f"delta at its own eps_i of the noisy mean of a class of {records}.",
        "delta at eps_i",
        closed_form=_by_quadrature(multiplier, step, records),
        claimed=setting.step_delta,
        **averaged(share),
    )


def _by_quadrature(multiplier: float, step: float, records: int) -> float:
    """Return the expectation of the exact delta over the noisy count."""
    spread = 2 * multiplier

    def density(count: float) -> float:
        return norm.pdf((count - records) / spread) / spread * gaussian.delta(count / (records * multiplier), step)

    floored = norm.cdf((_FLOOR - records) / spread) * gaussian.delta(_FLOOR / (records * multiplier), step)
    return float(floored + quad(density, _FLOOR, records + 12 * spread, limit=400, epsabs=1e-13)[0])


def _no_count(noise: NoiseSource) -> Finding:
    multiplier = STROKE.multiplier(_EPSILON)
    share = float((_SMALL_CLASS + 2 * multiplier * noise.normal((_DRAWS,)) <= 0).mean())
    return Finding(
        f"{STROKE.name}, eps = {_EPSILON:g} in all, {_DRAWS} draws",
        "(14), (15), footnote 5",
        f"Share of iterations in which the noisy count of a class with {_SMALL_CLASS} records is cut to zero, so "
        "that (15) and (18) divide by zero.",
        "share of noisy counts at zero",
        share,
        closed_form=float(norm.cdf(-_SMALL_CLASS / (2 * multiplier))),
        claimed=0.0,
        standard_error=math.sqrt(share * (1 - share) / _DRAWS),
    )


def _renyi() -> Finding:
    """The divergence of order a is infinite from a (a - 1) = n^2/4 on, whatever the multiplier: no zCDP holds."""
    multiplier, n, order = STROKE.multiplier(_EPSILON), _RENYI_CLASS, _ORDER
    spread, rate = 2 * multiplier, order * (order - 1) / (2 * (n * multiplier) ** 2)

    def density(count: float) -> float:
        return math.exp(rate * count**2 - ((count - n) / spread) ** 2 / 2) / (spread * math.sqrt(2 * math.pi))

    # Completing the square gives another normal density; it exists where rate is below 1/(2 spread^2).
    reweighting = 1 - 2 * rate * spread**2
    width, centre = spread / math.sqrt(reweighting), n / reweighting
    floored = norm.cdf((_FLOOR - n) / spread) * math.exp(rate * _FLOOR**2)
    whole = quad(density, _FLOOR, centre + 12 * width, limit=400)[0]
    by_hand = math.exp(rate * n**2 / reweighting) / math.sqrt(reweighting) * norm.sf((_FLOOR - centre) / width)
    return Finding(
        f"{STROKE.name}, eps = {_EPSILON:g} in all, noisy counts below 1 set to 1",
        "section 5, zCDP",
        f"Renyi divergence of order {order:g} of the noisy mean of a class with {n} records. From the order a with "
        f"a (a - 1) = n^2/4 on, here {0.5 + math.sqrt(0.25 + n**2 / 4):.2f}, it is infinite, so that no rho exists.",
        f"Renyi divergence of order {order:g}",
        math.log(floored + whole) / (order - 1),
        unit="nats",
        closed_form=math.log(floored + by_hand) / (order - 1),
        claimed=order / (2 * multiplier**2),
    )
