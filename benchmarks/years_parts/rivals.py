"""What a user would try instead of a release of households: from one Gaussian to a neural network.

Each makes years of households of the same real homes, some of them without privacy, which is the easier task:

- ``one_gaussian``: one Gaussian of the homes' own vectors, without privacy, drawn by our generator;
- ``independent_days``: a mixture of the days of all homes, without privacy, every day drawn by itself. Those who have
  only a release of daily profiles can make a year of them in this way;
- ``smartnoise_mst_N``, ``opendp_mst_N``, ``dpmm_mst_N``: marginals of the vectors in equal bins between their public
  bounds, at the epsilon of our release, drawn by our generator. Neighbours differ by one record more or less, which
  is less to hide than another record in its place;
- ``opensynth_faraday``: OpenSynth's Faraday of the days of all homes, without privacy; every day drawn by itself from
  those of its month and day of the week.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from peers_parts.apart import UNFINISHED, run_apart
from peers_parts.grid import BINS, BINS_OF_FEW, FEW

from meterdp.core.noise import keyed_generator
from meterdp.households.common import CommonSeries
from meterdp.households.generate import HouseholdGenerator
from meterdp.households.vector import VectorSettings

from .days import DaysOfTheCalendar, IndependentDays, days_of, mixture_of_days, month_and_weekday

SEED = 11
# Of processor time on one core: for all releases of a column, and for training.
LIMIT_S, FARADAY_LIMIT_S = 600, 900
# Environments and names of the scripts of peers_parts.
LIBRARIES = {"smartnoise_mst": ("benchmark", "smartnoise"), "opendp_mst": ("opendp",) * 2, "dpmm_mst": ("dpmm",) * 2}
FARADAY_DAYS = 300_000

# Batches of (h, T) kWh per interval of one release, or the sentence that says why there are none.
Years = Iterator[np.ndarray] | str


def vectors_of(unit: np.ndarray, settings: VectorSettings) -> np.ndarray:
    """Return the vectors of (n, d) numbers of :meth:`VectorSettings.in_half_widths`, clipped to the bounds."""
    low, high = settings.bounds
    return np.clip(low + (unit + 1) / 2 * (high - low), low, high)


@dataclass(frozen=True)
class Rivals:
    """Makes ``households`` of each rival from real homes."""

    kwh: np.ndarray  # (H, T) per interval
    vectors: np.ndarray  # (H, d)
    settings: VectorSettings
    common: CommonSeries | None  # without privacy
    epsilon: float
    delta: float
    households: int
    # Libraries that did not finish in time, which are not tried with as many records or more.
    unfinished: set[str] = field(default_factory=set)
    # What each release of a library took, by its name and the number of records.
    seconds: dict[tuple[str, int], list[float]] = field(default_factory=dict)

    def columns(self, sizes: list[int]) -> dict[str, Callable[[int], Years]]:
        """Return by column of the table what makes the years of a release, by its number."""
        libraries = {f"{name}_{n}": partial(self.marginals, name, n) for n in sorted(sizes) for name in LIBRARIES}
        return {
            "one_gaussian": self.one_gaussian,
            "independent_days": self.independent_days,
            **libraries,
            "opensynth_faraday": self.faraday,
        }

    def one_gaussian(self, release: int) -> Years:
        rng = keyed_generator(SEED, "one Gaussian", release)
        drawn = rng.multivariate_normal(self.vectors.mean(axis=0), np.cov(self.vectors.T), self.households)
        return self._generator(drawn).batches(drawn, SEED + release)

    def _generator(self, drawn: np.ndarray) -> HouseholdGenerator:
        return HouseholdGenerator(self.settings, common=self.common and self.common.among(drawn, self.settings))

    def independent_days(self, release: int) -> Years:
        days = IndependentDays(self._mixture, self.settings.columns)
        return days.batches(self.households, SEED + release)

    def marginals(self, name: str, n: int, release: int) -> Years:
        """Marginals of ``n`` records that are drawn from those that there are."""
        if name in self.unfinished:
            return f"not tried: {UNFINISHED} with fewer records"
        spent = self.seconds.setdefault((name, n), [])
        if spent and sum(spent) + max(spent) > LIMIT_S:
            return f"releases: {len(spent)}, as {LIMIT_S} s of processor time are for all of a column"
        rng = keyed_generator(SEED, "records of marginals", n, release)
        x = self.settings.in_half_widths(self.vectors)[rng.integers(len(self.vectors), size=n)]
        edges = np.linspace(-1, 1, (BINS_OF_FEW if n < FEW else BINS) + 1)
        given = {"x": x, "edges": edges, "rows": self.households, "epsilon": self.epsilon, "delta": self.delta}
        environment, library = LIBRARIES[name]
        script = Path(__file__).parents[1] / f"peers_parts/{library}_release.py"
        found = run_apart(environment, script, LIMIT_S, "MST", **given)
        if isinstance(found, str):
            if UNFINISHED in found:
                self.unfinished.add(name)
            return found
        spent.append(float(found["seconds"]))
        drawn = vectors_of(found["samples"].astype(float), self.settings)
        return HouseholdGenerator(self.settings).batches(drawn, SEED + release)

    def faraday(self, release: int) -> Years:
        found = self._faraday
        return found if isinstance(found, str) else found.batches(self.households, SEED + release)

    @cached_property
    def _days(self) -> tuple[np.ndarray, np.ndarray]:
        return days_of(self.kwh, self.settings.columns)

    @cached_property
    def _mixture(self):
        return mixture_of_days(self._days[0], self.settings.hours, SEED)

    @cached_property
    def _faraday(self) -> DaysOfTheCalendar | str:
        kwh, day = self._days
        month, weekday = month_and_weekday(self.settings.columns)[day].T
        given = {"kwh": kwh, "month": month, "weekday": weekday, "rows": FARADAY_DAYS}
        script = Path(__file__).with_name("faraday_days.py")
        found = run_apart("opensynth", script, FARADAY_LIMIT_S, **given)
        if isinstance(found, str):
            return found
        labels = np.column_stack([found["month"], found["weekday"]])
        return DaysOfTheCalendar(found["kwh"], labels, self.settings.columns)
