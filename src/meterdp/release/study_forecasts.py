"""Study-mode releases of forecasts: one draw of class-based noise per household, one file each.

The one place where noise for forecasts is drawn. Seeded; every file says "not for release".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from meterdp.classnoise.files import crosswalk_columns, example_columns, release_forecasts, write_forecast_files
from meterdp.classnoise.study import noises_of, stack
from meterdp.profiles.dense import LogLoad
from meterdp.release.noise import StudyNoise, salted_ids

QUERY_MODEL = "deterministic"
HISTORY_HOURS = 24
EXAMPLES = 3


def guarantee_in_words(design: str, rho: float, convention: str) -> str:
    """Return what a study's forecast file says about its protection."""
    return (
        f"not for release: study-mode noise of design '{design}' with accuracy budget rho {rho:g} ({convention}); "
        "class_label privacy within the neighbourhood as tabulated in study/delta_curves.parquet; "
        "nothing about replace_one; the noise is seeded and protects nobody"
    )


@dataclass(frozen=True)
class StudyRelease:
    """Released forecasts of a study and the tables that go with them."""

    release_ids: np.ndarray
    released_log_kwh: np.ndarray
    interval_start_utc: np.ndarray
    bounds_kwh: tuple[float, float]
    guarantee: str
    crosswalk: dict
    examples: dict

    def write_files(self, folder, metadata: Mapping[str, str]) -> None:
        """Write one file per household."""
        write_forecast_files(
            folder,
            self.release_ids,
            self.released_log_kwh,
            self.interval_start_utc,
            self.bounds_kwh,
            self.guarantee,
            dict(metadata),
        )


def release_study_forecasts(
    laws: pa.Table,
    designs: pa.Table,
    load: LogLoad,
    class_noise: Mapping,
    bounds_kwh: tuple[float, float],
    seed: int,
    salt: str,
) -> StudyRelease:
    """Draw the noise of every household's forecast once.

    The noise is the one designed for deterministic queries, the only model a release may use, if there is one.

    Parameters
    ----------
    laws, designs : pyarrow.Table
        Tables ``forecast_laws`` and ``noise_designs``.
    load : LogLoad
        Log load of the same households, for the examples.
    class_noise : mapping
        Section of the configuration.
    bounds_kwh : (float, float)
        Public bounds of the energy in an interval.
    seed : int
        Seed of the study; it fixes the noise.
    salt : str
        Private salt; it fixes the release ids and which three households are the examples.
    """
    household = laws["household"].to_numpy()
    mean = stack(laws["mean_log_kwh"], -1)
    models = class_noise["query_models"]
    model = QUERY_MODEL if QUERY_MODEL in models else models[0]
    key = (class_noise["file_design"], model, float(class_noise["file_rho"]))
    designed, noise = noises_of(designs)[key]
    if not (np.array_equal(designed, household) and np.array_equal(load.household, household)):
        raise ValueError("forecasts, noise and log load are not of the same households in the same order")
    draws = np.stack([StudyNoise(seed, "forecast", *key, int(h)).normal(mean.shape[1:]) for h in household])
    released = release_forecasts(mean, noise, draws)
    ids = salted_ids(salt, household)

    calendar = load.calendar
    origin = int(
        np.searchsorted(calendar.start_utc, np.datetime64(laws["origin_utc"][0].as_py().replace(tzinfo=None)))
    )
    steps = slice(origin, origin + mean.shape[1])
    history = slice(max(origin - HISTORY_HOURS * calendar.slots_per_hour, 0), origin)
    examples = example_columns(
        np.argsort(ids)[:EXAMPLES],
        load.log_kwh[:, history],
        load.log_kwh[:, steps],
        mean,
        released,
        calendar.interval_minutes / 60,
        bounds_kwh,
        key[0],
        key[2],
    )
    words = guarantee_in_words(key[0], key[2], class_noise["accuracy_convention"])
    crosswalk = crosswalk_columns(ids, household)
    return StudyRelease(ids, released, calendar.start_utc[steps], bounds_kwh, words, crosswalk, examples)
