"""Study-mode releases of forecasts: one draw of class-based noise per household, one file each.

The one place where noise for forecasts is drawn. Seeded; every file says "not for release".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from meterdp.class_noise.query_models import QUERY_MODELS
from meterdp.class_noise.study import noises_of, stack
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise, salted_ids
from meterdp.profiles.dense import LogLoad
from meterdp.release.forecast_files import (
    EXAMPLES,
    crosswalk_columns,
    example_columns,
    release_forecasts,
    write_forecast_files,
)
from meterdp.release.manifests.class_label import class_label_manifest, guarantee_pairs

HISTORY_HOURS = 24


@dataclass(frozen=True)
class StudyRelease:
    """Released forecasts of a study and the tables that go with them."""

    release_ids: np.ndarray
    released_log_kwh: np.ndarray
    interval_start_utc: np.ndarray
    scale: LogScale
    manifest: dict
    crosswalk: dict
    examples: dict

    def write_files(self, folder, metadata: Mapping[str, str]) -> None:
        """Write one file and manifest per household."""
        write_forecast_files(
            folder,
            self.release_ids,
            self.released_log_kwh,
            self.interval_start_utc,
            self.scale,
            self.manifest,
            metadata,
        )


def release_study_forecasts(
    distributions: pa.Table,
    designs: pa.Table,
    curves: pa.Table,
    load: LogLoad,
    class_noise: Mapping,
    public: Mapping,
    scale: LogScale,
    seed: int,
    salt: str,
) -> StudyRelease:
    """Draw the noise of every household's forecast once.

    The noise is the one designed for deterministic queries, the only model a release may use, if there is one.

    Parameters
    ----------
    distributions, designs, curves : pyarrow.Table
        Tables ``forecast_distributions``, ``noise_designs`` and ``delta_curves``.
    load : LogLoad
        Log load of the same households, for the examples.
    class_noise : mapping
        Section of the configuration.
    public : mapping
        Of :func:`meterdp.release.manifests.class_label.class_label_manifest`.
    scale : LogScale
        Of the energy in an interval.
    seed : int
        Seed of the study; it fixes the noise.
    salt : str
        Private salt; it fixes the release ids and which three households are the examples.
    """
    household = distributions["household"].to_numpy()
    mean = stack(distributions["mean_log_kwh"], -1)
    noises = noises_of(designs)
    design, rho = class_noise["file_design"], float(class_noise["rhos"][0])
    key = next((design, model, rho) for model in QUERY_MODELS if (design, model, rho) in noises)
    designed, noise = noises[key]
    if not (np.array_equal(designed, household) and np.array_equal(load.household, household)):
        raise ValueError("forecasts, noise and log load are not of the same households in the same order")
    draws = np.stack([StudyNoise(seed, "forecast", *key, int(h)).normal(mean.shape[1:]) for h in household])
    released = release_forecasts(mean, noise, draws)
    ids = salted_ids(salt, household)

    calendar = load.calendar
    origin = int(
        np.searchsorted(
            calendar.start_utc, np.datetime64(distributions["origin_utc"][0].as_py().replace(tzinfo=None))
        )
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
        scale,
        design,
        rho,
    )
    convention, stamps = class_noise["accuracy_convention"], calendar.start_utc[steps]
    pairs = guarantee_pairs(curves.to_pandas(), *key)
    words = class_label_manifest(*key, convention, pairs, stamps, scale, public)
    return StudyRelease(ids, released, stamps, scale, words, crosswalk_columns(ids, household), examples)
