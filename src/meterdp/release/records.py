"""Mixtures of any records in a public box: drawn with safe noise and, if there are books, charged before.

The workflow's release goes through the :mod:`~meterdp.release.service`, which knows load profiles and a
configuration. What is asked for here knows records by a public name alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from meterdp.core.dates import Interval
from meterdp.errors import InputError
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.sound.box import Box
from meterdp.mechanisms.sound.mechanism import Sound
from meterdp.mixture.draws import Mixture
from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.noise import GRID, MOST_STD_STEPS, GaussianSource
from meterdp.privacy.policy import FEWEST_HOUSEHOLDS, MOST_HOUSEHOLDS, check_release
from meterdp.privacy.release import Part, release, release_unrecorded
from meterdp.release.mixture import words_of_settings
from meterdp.release.noise import StudyNoise
from meterdp.release.service import as_json, words_of

# Counts up when the same public words would give another release.
VERSION = 1
FILE = "mixture.json"


@dataclass(frozen=True)
class Books:
    """Where a release of records is charged, and under which public names.

    Parameters
    ----------
    ledger : path-like
    budget : PrivacyBudget
    limit : Limit
        Of all that is spent of the budget.
    records : str
        What the records are. Records are known by this name and their days alone: others under the same names and
        settings get the release of the first.
    days : (str, str)
        First and last day of the readings behind them, ISO dates.
    periods : tuple of Interval, or None
        Budget periods these days are in, in UTC; None for any.
    meters : tuple of str, or None
        The public list of meters that the records are of; without one they count for every meter of the ledger.
    """

    ledger: object
    budget: PrivacyBudget
    limit: Limit
    records: str
    days: tuple[str, str]
    periods: tuple[Interval, ...] | None
    meters: tuple[str, ...] | None


def release_records(
    x: np.ndarray, box: Box, mechanism: Sound, books: Books | None, names: tuple[str, ...]
) -> Mixture:
    """Return a mixture that was drawn with safe noise; with books charged and drawn once, afterwards the stored one.

    Parameters
    ----------
    x : (N, d) float64
        Finite records.
    box : Box
    mechanism : Sound
        Calibrated for the ball of the box and the grid of safe noise.
    books : Books or None
    names : tuple of str
        Public names of the entries, empty if they have none.

    Raises
    ------
    InputError
        If gate or ledger refuses.
    """
    guarantee, public = mechanism.guarantee, mechanism.public
    if max(len(x), public.records) > MOST_HOUSEHOLDS:
        raise InputError(
            f"has more than {MOST_HOUSEHOLDS} records", field="records", hint="release parts of them apart"
        )
    if public.delta > 1 / public.records:
        raise InputError(
            "is larger than 1 in the number of records, so that it allows to tell all of one of them",
            field="delta",
            hint="use a smaller delta",
        )
    if max(step.noise_std for step in mechanism.plan.steps) > MOST_STD_STEPS * GRID:
        raise InputError("asks for more noise than its grid holds", field="epsilon", hint="use a larger epsilon")
    if books is None:
        return release_unrecorded(partial(_drawn, box=box, mechanism=mechanism), x)
    if public.records < FEWEST_HOUSEHOLDS:
        raise InputError(
            f"has fewer than {FEWEST_HOUSEHOLDS} records", field="records", hint="release more records together"
        )
    check_release(guarantee, public.records, books.limit)
    words = words_of(
        "mixture_of_records",
        mechanism.name,
        VERSION,
        words_of_settings(public),
        records=books.records,
        days=list(books.days),
        entries=list(names),
        bounds=[list(box.low), list(box.high)],
    )
    charge = Charge(mechanism.mu, mechanism.total_variation)
    request = Request(books.budget, words, charge, books.days, books.meters, books.periods, setting="epsilon")

    def answer(x: np.ndarray, noise: GaussianSource, _) -> Mixture:
        return _drawn(x, noise, box, mechanism)

    part = Part(request, guarantee, public.records, answer, lambda mixture, _: {FILE: _as_json(mixture)})
    (files,) = release([part], x, Ledger(books.ledger), books.limit)
    return _of_json(files[FILE])


def study_records(x: np.ndarray, box: Box, mechanism: Sound, seed: int) -> Mixture:
    """Return a mixture with seeded noise, which protects nobody; see :func:`release_records`."""
    return _drawn(x, StudyNoise(seed, "records"), box, mechanism)


def _drawn(x: np.ndarray, noise: GaussianSource, box: Box, mechanism: Sound) -> Mixture:
    released = mechanism.release(PrivateRecords(box.scaled(x)), noise, 1)
    return box.unscaled(released.mixtures.draw(0))


def _as_json(mixture: Mixture) -> bytes:
    return as_json({name: value.tolist() for name, value in vars(mixture).items()})


def _of_json(data: bytes) -> Mixture:
    values: Mapping[str, list] = json.loads(data)
    return Mixture(**{name: np.array(value) for name, value in values.items()})
