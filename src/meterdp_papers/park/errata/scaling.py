"""P1: records are divided by the largest norm among them, which is a private number that nothing is charged for."""

from __future__ import annotations

import numpy as np

from meterdp.accounting import gdp
from meterdp.core.noise import NoiseSource
from meterdp_papers.common.finding import Finding, defect
from meterdp_papers.park.errata.gaussian_pair import delta_from_tails
from meterdp_papers.park.errata.stated import LIFE_SCIENCES

_RECORDS, _DIMENSION, _FACTOR, _EPSILON = 1000, 10, 10.0, 1.0


@defect(
    "P1",
    "Footnote 4, section 7",
    "Records are brought into the unit ball by the largest norm among them, which is not charged.",
    "One long record moves every other record and all means by far more than the sensitivities say, and whoever "
    "maps the result back to the original unit needs the private norm itself.",
    "Records are clipped to a ball of public radius, and the clipped ones are counted in a private table.",
    "test_P1_the_largest_norm_moves_all_records",
    note="The principal components of Figs 2 and 3 are fitted on the private records and not charged, as in "
    "[L12](#l12).",
)
def largest_norm(noise: NoiseSource) -> tuple[Finding, ...]:
    """P1: one record with ten times the largest norm moves every other record, and the mean with it."""
    before = noise.normal((_RECORDS, _DIMENSION)) + np.eye(_DIMENSION)[0] * 3
    after = before.copy()
    after[0] *= _FACTOR * np.linalg.norm(before, axis=1).max() / np.linalg.norm(before[0])
    x, y = (a / np.linalg.norm(a, axis=1).max() for a in (before, after))
    move = float(np.linalg.norm(x[1:] - y[1:], axis=1).max())
    longest = float(np.linalg.norm(x[1:], axis=1).max())
    mean_move = float(np.linalg.norm(x.mean(axis=0) - y.mean(axis=0)))
    stated = 2 / _RECORDS
    by_hand = float(np.linalg.norm((x[1:].sum(axis=0) * (1 - 1 / _FACTOR) + x[0] - y[0]) / _RECORDS))
    multiplier = LIFE_SCIENCES.multiplier(_EPSILON)
    mu = mean_move / stated / multiplier
    step = LIFE_SCIENCES.step_epsilon(_EPSILON)
    settings = (
        f"{_RECORDS} Gaussian records, d = {_DIMENSION}, mean off the origin; one record gets {_FACTOR:g} times the "
        "largest norm"
    )
    noisy = f"{settings}; noise of {LIFE_SCIENCES.name}, eps = {_EPSILON:g} in all, eps_i = {step:.3g}"
    return (
        Finding(
            "section 7, footnote 4",
            "The farthest another record moves when one record changes.",
            "largest move of another record in the unit ball",
            settings,
            move,
            closed_form=longest * (1 - 1 / _FACTOR),
            claimed=0.0,
        ),
        Finding(
            "(15)",
            "The mean of all records moves this many times the stated sensitivity 2/N.",
            "true move over stated sensitivity",
            settings,
            mean_move / stated,
            closed_form=by_hand / stated,
            claimed=1.0,
        ),
        Finding(
            "(16)",
            "delta of one noisy mean at its own eps_i: the two data sets can be told apart from it.",
            "delta at eps_i",
            noisy,
            gdp.delta(mu, step),
            closed_form=delta_from_tails(mu, step),
            claimed=LIFE_SCIENCES.step_delta,
        ),
    )
