"""Released households as a file: what is needed to draw any number of them, for any period."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

import numpy as np
import pyarrow as pa

from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.households.common import CommonSeries
from meterdp.households.configured import calendar_of, days_off
from meterdp.households.consistent import consistent
from meterdp.households.generate import HouseholdGenerator
from meterdp.households.mechanism import MEASURED, Population, directions_of, functions_of
from meterdp.households.vector import VectorSettings
from meterdp.mechanisms.proven.marginals import LINEAR_COSINES, Directions, LinearReference
from meterdp.mixture.draws import Mixture
from meterdp.privacy.noise import NoiseSource
from meterdp.profiles.grid import LocalTime

FILE = "households.json"
# Homes drawn to know what is usual among them.
_HOMES = 1000


def _of_year(day: date) -> tuple[int, int]:
    """Return month and day, by which a day comes again in another year; a leap day is the day before it."""
    return day.month, min(day.day, 28) if day.month == 2 else day.day


def _words(stratum: str) -> set[str]:
    return {word.strip() for word in stratum.split(",") if word.strip()}


def _directions(functions: list[dict] | dict, settings: VectorSettings) -> Directions:
    """Read what :func:`functions_of` states; earlier releases state fewer, without order or least values."""
    if isinstance(functions, dict):
        return directions_of(settings.names, {name: functions[name] for name in MEASURED if name in functions}, {})
    measured = {one["name"]: dict(one["entries"]) for one in functions}
    least = {one["name"]: one["least"] for one in functions if one["least"] is not None}
    return directions_of(settings.names, measured, least)


def _can_be_drawn(population: Population) -> bool:
    parts = LinearReference(population.mixture, population.directions).parts
    return parts[0].stop > 0 and parts[-1].stop == population.exponents.size


def drawn_vectors(
    population: Population, settings: VectorSettings, households: int, noise: NoiseSource
) -> np.ndarray:
    """Return the vectors of so many synthetic households of a stratum, (n, d), within their bounds."""
    drawn = population.draw(households, noise)
    mixture = population.mixture
    return consistent(drawn, settings, mixture.weights @ mixture.means)


@dataclass(frozen=True)
class ReleasedHouseholds:
    """Public settings of vectors, and what was released of every stratum.

    ``listed`` are the meters of the public list in each stratum, by name; populations are in their order.
    """

    settings: VectorSettings
    country: str | None  # whose public holidays are days off
    listed: Mapping[str, int]
    populations: tuple[Population, ...]
    common: CommonSeries | None

    def generator(self, year: int | None = None) -> HouseholdGenerator:
        """Return what draws readings of vectors, for the period of the release or a calendar year."""
        own = self.settings.calendar
        if year is None:
            return HouseholdGenerator(self.settings, common=self._common)
        first, last = date(year, 1, 1), date(year, 12, 31)
        calendar = calendar_of(first, last, own.local)
        days = days_off(self.country, first, last)
        return HouseholdGenerator(self.settings, calendar, days, self._common_on(calendar.days))

    def without_seasons(self, year: int | None) -> str | None:
        """Say which days of a year that is drawn have no season; None if all have one or are of the period."""
        if year is None or self.settings.columns.seasons:
            return None
        days = self.settings.calendar.days
        first, last = (f"{day.day} {day:%B}" for day in (days[0], days[-1]))
        return (
            f"The release covers {first} to {last}, too short a period to tell seasons: other days of {year} carry "
            "none, and households use as much in every month of these."
        )

    @cached_property
    def _common(self) -> CommonSeries | None:
        """What homes do together, among homes of the release; of one without strata, all alike."""
        if self.common is None or not self.populations:
            return self.common
        _, vectors = self.draw(_HOMES, StudyNoise(0, "homes together"))
        return self.common.among(vectors, self.settings)

    def _common_on(self, days: Sequence[date]) -> CommonSeries | None:
        """Return what homes do together in another year: on days that the period lacks nothing.

        What they did on the nearest day of the period is mostly noise, and would last for months.
        """
        if self._common is None:
            return None
        at: dict[tuple[int, int], int] = {}
        for number, day in enumerate(self.settings.calendar.days):
            at.setdefault(_of_year(day), number)
        own = self._common.z
        nothing = np.full(own.shape[1:], np.nan)
        z = np.array([own[at[day]] if day in at else nothing for day in map(_of_year, days)])
        return replace(self._common, z=z)

    def readings(self, vectors: np.ndarray, seed: int, year: int | None = None) -> Iterator[dict]:
        """Yield the rows of ``RELEASED_READINGS`` of (n, d) vectors, some households at a time."""
        generator, first = self.generator(year), 1
        stamps = pa.array(generator.columns.calendar.start_utc, pa.timestamp("us", tz="UTC"))
        for kwh in generator.batches(vectors, seed):
            yield {
                "household": np.repeat(np.arange(first, first + len(kwh), dtype=np.int32), kwh.shape[1]),
                "interval_start_utc": pa.concat_arrays([stamps] * len(kwh)),
                "energy_kwh": kwh.ravel(),
            }
            first += len(kwh)

    def draw(self, households: int, noise: NoiseSource, stratum: str | None = None) -> tuple[list[str], np.ndarray]:
        """Return the strata and the vectors (n, d) of so many synthetic households.

        Of all strata by their shares of the public list, or of those whose names have all parts of ``stratum``:
        ``flat``, or ``flat, panels``. Raises InputError if there is none.
        """
        names, wanted = list(self.listed), _words(stratum or "")
        meters = np.array([self.listed[name] if wanted <= _words(name) else 0 for name in names], dtype=float)
        if not meters.any():
            raise InputError(
                f"is '{stratum}', which was not released",
                field="--stratum",
                hint=f"use one of these, or some of their words: {'; '.join(names)}",
            )
        below = np.cumsum(meters) / meters.sum()
        of = np.searchsorted(below, noise.uniform((households,)), side="right")
        vectors = np.empty((households, len(self.settings.names)))
        for s, population in enumerate(self.populations):
            own = of == s
            vectors[own] = drawn_vectors(population, self.settings, int(own.sum()), noise)
        return [names[s] for s in of], vectors

    @property
    def stated(self) -> dict:
        """All of it as JSON."""
        settings, calendar = self.settings, self.settings.calendar
        days = calendar.days
        return {
            "period": [days[0].isoformat(), days[-1].isoformat()],
            "interval_minutes": calendar.interval_minutes,
            "time_zone": calendar.time_zone,
            "weekend": calendar.weekend.setting,
            "holidays_of": self.country,
            "days_off": [day.isoformat() for day in settings.days_off],
            "feed_in": settings.feed_in,
            "mean_kw": list(settings.mean_kw),
            "reading_kw": list(settings.reading_kw),
            "entries": [
                {
                    "name": entry.name,
                    "means": entry.meaning,
                    "unit": entry.unit,
                    "low": float(low),
                    "high": float(high),
                }
                for entry, low, high in zip(settings.entries, *settings.bounds, strict=True)
            ],
            "strata": [
                {
                    "name": name,
                    "listed_meters": listed,
                    "weights": population.mixture.weights.tolist(),
                    "means": population.mixture.means.tolist(),
                    "covariances": population.mixture.covariances.tolist(),
                    "exponents": population.exponents.tolist(),
                }
                for (name, listed), population in zip(self.listed.items(), self.populations, strict=True)
            ],
            "common": self.common and {"z": self.common.z.tolist(), "share": self.common.share},
            "reweighting": {"functions": functions_of(self.settings.names), "cosines": LINEAR_COSINES},
        }

    @classmethod
    def of(cls, data: bytes, file="households.json") -> ReleasedHouseholds:
        """Read what :attr:`stated` is; InputError if it is something else."""
        try:
            stated = json.loads(data)
            period = [date.fromisoformat(day) for day in stated["period"]]
            settings = VectorSettings(
                calendar_of(*period, LocalTime.of(stated)),
                tuple(date.fromisoformat(day) for day in stated["days_off"]),
                stated["feed_in"],
                tuple(stated["mean_kw"]),
                # Earlier releases do not state it.
                reading_kw=tuple(stated.get("reading_kw", VectorSettings.reading_kw)),
            )
            if settings.names != [entry["name"] for entry in stated["entries"]]:
                raise ValueError("entries of another version")
            bounds = tuple(tuple(float(entry[end]) for entry in stated["entries"]) for end in ("low", "high"))
            if bounds != tuple(map(tuple, settings.bounds.tolist())):
                settings = replace(settings, earlier_bounds=bounds)
            strata = stated["strata"]
            directions = _directions(stated["reweighting"]["functions"], settings)
            populations = tuple(
                Population(
                    Mixture(*(np.array(one[key], float) for key in ("weights", "means", "covariances"))),
                    np.array(one["exponents"], float),
                    directions,
                )
                for one in strata
            )
            if not all(_can_be_drawn(one) for one in populations if one.exponents.size):
                raise ValueError("other functions than exponents")
            common = stated["common"]
            if common is not None:
                common = CommonSeries(np.array(common["z"], float), float(common["share"]))
            listed = {one["name"]: one["listed_meters"] for one in strata}
            return cls(settings, stated["holidays_of"], listed, populations, common)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise InputError(
                "does not hold released households", file=file, hint="name a folder release/households, unchanged"
            ) from None
