"""The first readings of an export, taken in as a study would, to see what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from meterdp.core.errors import InputError
from meterdp.exports.bands import Bands
from meterdp.exports.batch import BATCH_BYTES, Batch
from meterdp.exports.dense import REASONS
from meterdp.exports.doubts import doubts, sample_step, step_minutes
from meterdp.exports.ingest import Survey, fill, household_numbers, refuse_unusable, survey_export
from meterdp.exports.readers.interface import reader
from meterdp.exports.roster import Roster
from meterdp.exports.settings import ExportSettings

# What a few seconds are enough for.
MOST_READINGS = 2_000_000
# So that a first look at few readings reads few.
_FIRST_LOOK_BYTES = 1 << 20
_MOST_CELLS = 1 << 27  # of the grid, 1 GiB


@dataclass(frozen=True)
class Trial:
    """What became of the first readings.

    Parameters
    ----------
    settings : ExportSettings
    survey : Survey
        Meters and range of stamps.
    counts : (R,) int64
        Rows per reason, in the order of :data:`meterdp.exports.dense.REASONS`.
    energy_kwh : (H, T) float64
        Readings on the grid, meters in order of their ids.
    batches : list of Batch
    whole : bool
        Whether these are all readings of the export.
    """

    settings: ExportSettings
    survey: Survey
    counts: np.ndarray
    energy_kwh: np.ndarray
    batches: list[Batch]
    whole: bool

    @property
    def starts_us(self) -> np.ndarray:
        """UTC start of every slot, (T,) int64 microseconds since 1970."""
        first = self.survey.first_slot
        return self.survey.anchor_us + (first + np.arange(self.survey.slots)) * self.settings.interval_us

    def doubts(self, path) -> list[InputError]:
        """Return every reason to believe that the settings do not describe the export."""
        some = self.energy_kwh[:: sample_step(len(self.energy_kwh))]
        return list(doubts(path, self.settings, self.counts, some, self.step_minutes))

    def step_minutes(self) -> float | None:
        """Return how far neighbouring stamps of a meter are usually apart."""
        return step_minutes(self.settings, self.batches)


def first_refusal(path, trial: Trial) -> list[InputError]:
    """Return what a study without a list of meters says of the first row that cannot be read, if any."""
    unreadable = ("row_malformed", "unit_differs", "stamp_unreadable", "value_unreadable")
    if not any(trial.counts[list(REASONS).index(name)] for name in unreadable):
        return []
    try:
        for _ in reader(trial.settings.format)(path, replace(trial.settings, bad_rows="refuse")):
            pass
    except InputError as error:
        return [error]
    return []


def first_batches(path, settings: ExportSettings, most_readings: int = MOST_READINGS) -> tuple[list[Batch], bool]:
    """Read the start of an export and say whether that is all; rows that cannot be read are marked, not refused.

    Raises
    ------
    InputError
        If the file cannot be read under these settings.
    """
    found, readings = [], 0
    batch_bytes = BATCH_BYTES if most_readings >= MOST_READINGS else _FIRST_LOOK_BYTES
    batches = reader(settings.format)(path, replace(settings, bad_rows="missing"), batch_bytes=batch_bytes)
    for batch in batches:
        found.append(batch)
        readings += len(batch.meter)
        if readings >= most_readings:
            return found, next(batches, None) is None
    return found, True


def try_out(path, settings: ExportSettings, batches: list[Batch], whole: bool, roster: Roster | None = None) -> Trial:
    """Take in the readings of some batches.

    Raises
    ------
    InputError
        If no stamp lies on the grid.
    """
    settings = replace(settings, bad_rows="missing")

    def read() -> Iterator[Batch]:
        return iter(batches)

    survey = survey_export(path, settings, read, roster)
    cells = len(survey.meter_ids) * survey.slots
    if cells > _MOST_CELLS and len(batches) > 1:
        return try_out(path, settings, batches[: len(batches) // 2], False, roster)
    edges = [0, len(survey.meter_ids)]
    with Bands(settings, survey.anchor_us, survey.first_slot, survey.slots, edges) as bands:
        fill(path, settings, read, survey, household_numbers(survey)[1], bands)
        [(_, energy_kwh)] = bands.arrays()
    refuse_unusable(path, settings, survey, bands)
    return Trial(settings, survey, bands.counts, energy_kwh, batches, whole)
