"""Mixtures of any records in a public box: drawn with safe noise and, if there is a budget, charged before.

The workflow's release goes through the :mod:`~meterdp.release.service`, which knows load profiles and a
configuration. What is asked for here knows records by a public name alone.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.ingest.meter_list import digest_of_names
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.proven.mechanism import Box, Proven
from meterdp.mixture.draws import Mixture
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.mechanism import Files
from meterdp.privacy.meter_lists import plain_name
from meterdp.privacy.noise import GRID, MOST_STD_STEPS, GaussianSource
from meterdp.privacy.periods import Interval
from meterdp.privacy.policy import FEWEST_HOUSEHOLDS, MOST_HOUSEHOLDS
from meterdp.privacy.release import Part, release, release_unrecorded
from meterdp.release.mixture import parameters_of
from meterdp.release.service import DIGESTS, Calibrated, as_json, request_parameters

# Counts up when the same parameters would give another release.
VERSION = 1
FILE = "mixture.json"
MIXTURE_OF_RECORDS = "mixture_of_records"  # what the ledger calls it


@dataclass(frozen=True)
class LibraryBudget:
    """Where a release of records is charged, and under which public names.

    Records are known by ``records``, which says what they are, their days and the list of meters alone: others under
    the same names, list and settings get the release of the first.
    """

    ledger: object
    budget: PrivacyBudget
    limit: Limit
    records: str
    days: tuple[str, str]  # first and last of the readings behind them, ISO dates
    periods: tuple[Interval, ...] | None  # these days are in, in UTC; None for any
    meters: tuple[str, ...] | None  # the public list they are of; without one they count for every meter


def release_records(
    x: np.ndarray, box: Box, mechanism: Proven, budget: LibraryBudget | None, names: tuple[str, ...]
) -> Mixture:
    """Return a mixture of (N, d) finite records drawn with safe noise; with a budget charged, drawn once and stored.

    The mechanism is calibrated for the ball of the box and the grid of safe noise; ``names`` are public ones of the
    entries, if they have any. Refused by policy or ledger.
    """
    public = mechanism.public
    if max(len(x), public.records) > MOST_HOUSEHOLDS:
        raise InputError(f"has more than {MOST_HOUSEHOLDS} records", field="records", hint="release them in parts")
    if public.delta > 1 / public.records:
        raise InputError(
            f"is {public.delta:g}, but must not exceed 1/N = {1 / public.records:.3g}",
            field="delta",
            hint="use a smaller delta",
        )
    if max(step.noise_std for step in mechanism.plan.steps) > MOST_STD_STEPS * GRID:
        raise InputError("noise is too large for the discretisation grid", field="epsilon", hint="increase epsilon")
    if budget is None:
        return release_unrecorded(partial(_drawn, box=box, mechanism=mechanism), x)
    if public.records < FEWEST_HOUSEHOLDS:
        raise InputError(
            f"has fewer than {FEWEST_HOUSEHOLDS} records", field="records", hint="release more records together"
        )
    released = ReleasedRecords(mechanism, box, budget, names)
    request = Request(
        budget.budget,
        released.parameters,
        released.loss,
        budget.days,
        budget.meters,
        budget.periods,
        setting="epsilon",
    )
    ledger = Ledger(budget.ledger)
    if begins := ledger.begins:
        warnings.warn(
            f"the ledger {ledger.path.name} does not exist yet and will be made, so nothing counts as spent",
            UserWarning,
            stacklevel=3,
        )
    if budget.meters is not None:
        # Earlier versions named no list: what they drew is of these people only if it was charged to them.
        unlisted = {name: one for name, one in request.parameters.items() if name not in DIGESTS}
        request = ledger.named(request, unlisted, same_meters=True)
    if not begins and ledger.stored(request.key):
        warnings.warn(
            "the ledger already has a mixture under these names and settings, and it is returned whatever the "
            "records hold: nothing is drawn or charged. Give other records another name, in `records`",
            UserWarning,
            stacklevel=3,
        )
    try:
        (files,) = release([Part(request, released)], x, ledger, budget.limit)
    except InputError as error:
        if budget.meters is not None or error.field != request.setting:
            raise
        hint = f"{error.hint}, or give the meters of each fit: without them it counts for every meter of the ledger"
        raise InputError(error.problem, hint=hint, file=error.file, field=error.field) from None
    return _of_json(files[FILE])


@dataclass(frozen=True)
class ReleasedRecords(Calibrated):
    """A mixture of records in a box, released."""

    mechanism: Proven
    box: Box
    budget: LibraryBudget
    names: tuple[str, ...]

    @property
    def parameters(self) -> dict:
        meters = self.budget.meters
        listed = {} if meters is None else dict.fromkeys(DIGESTS, digest_of_names(map(plain_name, meters)))
        return request_parameters(
            MIXTURE_OF_RECORDS,
            self.mechanism.name,
            VERSION,
            parameters_of(self.mechanism.public),
            records=self.budget.records,
            days=list(self.budget.days),
            entries=list(self.names),
            bounds=[list(self.box.low), list(self.box.high)],
            **listed,
        )

    def answer(self, x: np.ndarray, noise: GaussianSource, earlier: Sequence[Files]) -> Mixture:
        return _drawn(x, noise, self.box, self.mechanism)

    def render(self, mixture: Mixture, earlier: Sequence[Files]) -> Files:
        return {FILE: as_json({name: value.tolist() for name, value in vars(mixture).items()})}


def study_records(x: np.ndarray, box: Box, mechanism: Proven, seed: int) -> Mixture:
    """Return a mixture with seeded noise, which protects nobody."""
    return _drawn(x, StudyNoise(seed, "records"), box, mechanism)


def _drawn(x: np.ndarray, noise: GaussianSource, box: Box, mechanism: Proven) -> Mixture:
    released = mechanism.release(PrivateRecords(box.scaled(x)), noise, 1)
    return box.unscaled(released.mixtures.draw(0))


def _of_json(data: bytes) -> Mixture:
    values: Mapping[str, list] = json.loads(data)
    return Mixture(**{name: np.array(value) for name, value in values.items()})
