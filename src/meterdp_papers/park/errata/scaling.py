"""P1: records are divided by the largest norm among them, which is a private number that nothing is charged for."""

from __future__ import annotations

import numpy as np

from meterdp.accounting import gdp
from meterdp.core.noise import NoiseSource
from meterdp_papers.common.finding import Finding
from meterdp_papers.park.errata.gaussian_pair import delta_from_tails
from meterdp_papers.park.errata.stated import LIFE_SCIENCES

_RECORDS, _DIMENSION, _FACTOR, _EPSILON = 1000, 10, 10.0, 1.0


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
            "P1",
            "section 7, footnote 4",
            "The farthest another record moves when one record changes.",
            "largest move of another record in the unit ball",
            "1",
            move,
            settings,
            closed_form=longest * (1 - 1 / _FACTOR),
            claimed=0.0,
        ),
        Finding(
            "P1",
            "(15)",
            "The mean of all records moves this many times the stated sensitivity 2/N.",
            "true move over stated sensitivity",
            "1",
            mean_move / stated,
            settings,
            closed_form=by_hand / stated,
            claimed=1.0,
        ),
        Finding(
            "P1",
            "(16)",
            "delta of one noisy mean at its own eps_i: the two data sets can be told apart from it.",
            "delta at eps_i",
            "1",
            gdp.delta(mu, step),
            noisy,
            closed_form=delta_from_tails(mu, step),
            claimed=LIFE_SCIENCES.step_delta,
        ),
    )
