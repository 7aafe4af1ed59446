"""Defects of Liu et al. in Algorithm 1 (L9) and misprints with consequences (L10)."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from meterdp.core.noise import NoiseSource
from meterdp.mechanisms.published.kl import KlPublished
from meterdp.mixture.divergence import kl_joint
from meterdp_papers.common.finding import Finding, defect
from meterdp_papers.liu.errata.synthetic import PAPER_SETTING, paper_records, paper_settings

_DATA_SETS = 10
_EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)


@defect(
    "L9",
    "Algorithm 1",
    "(23) uses up (20b) for every class, after which (25) can only return the eps_0 it was given.",
    "The alternation stops where it starts: the split of epsilon is never optimised. Utility, not privacy.",
    "The split is a public setting.",
    "test_L9_alternation_stays_at_its_start",
)
def alternation(noise: NoiseSource) -> tuple[Finding, ...]:
    """L9: what Algorithm 1 does after its first pass."""
    drift, gain, passes = [], [], []
    for _ in range(_DATA_SETS):
        private = paper_records(noise)
        for epsilon in _EPSILONS:
            design = KlPublished.calibrate(paper_settings(private, epsilon)).design(private)
            drift.append(abs(design.epsilon_0 / (epsilon / 3) - 1))
            gain.append(abs(design.objectives[-1] - design.objectives[0]))
            passes.append(len(design.objectives))
    settings = f"{PAPER_SETTING}, eps in {_EPSILONS}, {_DATA_SETS} data sets"
    return (
        Finding(
            "Algorithm 1, (23), (25)",
            "Largest change of eps_0 from its starting value eps/3: (23) makes (20b) tight for every class, so (25) "
            "returns what it was given, up to rounding.",
            "|eps_0/(eps/3) - 1| at the end",
            settings,
            _without_rounding(max(drift)),
            closed_form=0.0,
        ),
        Finding(
            "Algorithm 1, line 9",
            "Largest change of the objective (20a) after the first pass, up to rounding.",
            "|last objective - first|",
            settings,
            _without_rounding(max(gain)),
            closed_form=0.0,
        ),
        Finding(
            "Algorithm 1, line 9",
            "Passes until it stops: one, and one more to notice.",
            "most passes",
            settings,
            float(max(passes)),
            unit="passes",
            closed_form=2.0,
        ),
    )


def _without_rounding(value: float) -> float:
    """Report as zero what is within rounding of zero, so that the last bits stay out of print."""
    return 0.0 if value < 1e-10 else value


@defect(
    "L10",
    "(21), (28), text to Fig. 1, section IV-B",
    "d gamma_k stands for d ln gamma_k; both exponents of (28) are negative; the text reverses the effect of "
    "eps; the objectives of a minimisation are called non-decreasing.",
    "Read literally, (21) does not give (22), (28) cannot hold, and the argument for convergence does not close. "
    "The formulas around them show what was meant.",
    "Nothing depends on these lines.",
    "test_L10_misprints",
)
def misprints(noise: NoiseSource) -> tuple[Finding, ...]:
    """L10: misprints, each against a number."""
    d, trace, epsilon_0 = 3, 2.5, 1 / 3
    bounds = {"bounds": (1e-3, 1e3), "method": "bounded", "options": {"xatol": 1e-10}}
    printed = minimize_scalar(lambda g: d * g + (d + 1) * trace / g, **bounds).x
    meant = minimize_scalar(lambda g: d * math.log(g) + (d + 1) * trace / g, **bounds).x
    setting = f"d = {d}, tr(Sigma_k^-1) = {trace:g}, constraint of (21) not active"
    first, last, errors = _divergences(noise)
    return (
        Finding(
            "(21), (22)",
            "Minimiser of (21) as printed, with d gamma_k, beside (22), which it is said to be.",
            "minimiser of (21)",
            setting,
            float(printed),
            closed_form=math.sqrt((d + 1) * trace / d),
            claimed=(d + 1) / d * trace,
        ),
        Finding(
            "(21), (22)",
            "Minimiser of (21) with d ln gamma_k in its place, as in (12): that is (22).",
            "minimiser of (21) with the logarithm",
            setting,
            float(meant),
            closed_form=(d + 1) / d * trace,
        ),
        Finding(
            "(28)",
            "With e^-eps_0 on both sides, as printed, f(.|D) = e^-eps_0 f(.|D') everywhere: if the right one sums to "
            "one over all outputs the left one sums to this. The right-hand exponent should be +eps_0.",
            "sum of f(.|D) over all outputs",
            f"eps_0 = {epsilon_0:.3g}",
            math.exp(-epsilon_0),
            claimed=1.0,
        ),
        Finding(
            "text to Fig. 1",
            "Mean divergence at eps = 8 over that at eps = 0.5: a larger eps gives less noise and a lower "
            f"divergence, where the text says more and higher ({first:.3g} falls to {last:.3g} nats).",
            "E KL at eps = 8 over E KL at eps = 0.5",
            f"{PAPER_SETTING}, {_DATA_SETS} data sets, 200 draws each",
            last / first,
            standard_error=errors,
        ),
    )


def _divergences(noise: NoiseSource, draws: int = 200) -> tuple[float, float, float]:
    """Return the mean divergence at the smallest and the largest epsilon, and the standard error of their ratio."""
    means = np.empty((_DATA_SETS, 2))
    for row in means:
        private = paper_records(noise)
        for column, epsilon in enumerate((_EPSILONS[0], _EPSILONS[-1])):
            mechanism = KlPublished.calibrate(paper_settings(private, epsilon))
            released = mechanism.release(private, noise, draws).mixtures
            row[column] = kl_joint(released, private.fit.mixture).mean()
    first, last = means.mean(axis=0)
    residual = means[:, 1] - last / first * means[:, 0]
    return float(first), float(last), float(residual.std(ddof=1) / math.sqrt(_DATA_SETS) / first)
