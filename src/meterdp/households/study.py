"""Households over a whole period in a study: unprotected beside protected, against a sample of real homes.

The homes are those of the export, or where none is given and what is simulated is too short, a simulated year. All
of them are records of a release with the noise of a study; the readings of some, every so many by their mean power,
are compared with synthetic homes in the scorecard (score.py): once drawn from the sample's own vectors without
privacy, and from a release at every epsilon. All of it is internal, never released.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

import numpy as np
import pyarrow.compute as pc

from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import read_parts
from meterdp.forecasting.select import choose_households
from meterdp.households.columns import FEWEST_DAYS
from meterdp.households.common import block_deviations, common_series
from meterdp.households.configured import calendar_of, readings_of, records_of, settings_of
from meterdp.households.generate import HouseholdGenerator
from meterdp.households.mechanism import HouseholdRecords, Households, HouseholdsPublic, directions_of
from meterdp.households.released import drawn_vectors
from meterdp.households.score import Score, Summary, compare, floors, membership, summarise
from meterdp.households.tables import (
    EXPORT,
    HOUSEHOLD_CURVES,
    HOUSEHOLD_SCORES,
    HOUSEHOLD_VECTORS,
    HOUSEHOLD_WEEKS,
    OWN,
    REAL_HOMES,
    RELEASED,
    SIMULATED_YEAR,
)
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.mechanisms.proven.mechanism import Box
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.grid import LocalTime
from meterdp.simulate.load import simulated_kwh
from meterdp.simulate.parameters import SimulationParameters

# What a study compares, whatever is released.
STUDIED = {
    # Real homes whose readings are compared, at most, and as many synthetic ones.
    "households": 300,
    # Homes that are released, by their fixed order, where there are more.
    "released": 3000,
    # Weeks are shown of the first.
    "epsilons": (1, 4),
    # Errors are averaged over so many.
    "draws": 3,
    # Weeks that are shown.
    "weeks": 10,
}
# Fewer homes are no sample.
FEWEST_HOUSEHOLDS = 20
# Of the simulated year: its days, an hour an interval, at most so many homes.
YEAR, YEAR_MINUTES, MOST_SIMULATED = (date(2025, 1, 1), date(2025, 12, 31)), 60, 2000
# Larger than what a vector holds, and no homes.
_NO_HOMES = ("agricultural", "large_commercial")
# Shares of the time of a load duration curve.
_SHARES = np.linspace(0, 1, 201)

Rows = list[dict]


@dataclass(frozen=True)
class Homes:
    """Homes of a study: the records of all N, and the vectors and readings of the n that are compared."""

    period: str
    settings: VectorSettings
    records: HouseholdRecords  # of all N, or of some of many
    vectors: np.ndarray  # (n, d)
    energy_kwh: np.ndarray  # (n, T), NaN where not read

    @property
    def days(self) -> int:
        return self.settings.columns.day_count

    @cached_property
    def week(self) -> np.ndarray:
        """Slots of the week that is shown: the middle one of the period, from a Monday to a Sunday."""
        day = self.settings.calendar.local_day
        middle = int(day[0]) + self.days // 2
        monday = middle - (middle + 3) % 7  # 1970-01-01 was a Thursday
        return np.flatnonzero((day >= monday) & (day < monday + 7))

    @cached_property
    def summary(self) -> Summary:
        return summarise([self.energy_kwh], len(self.energy_kwh), self.settings)


def simulated_year(parameters: SimulationParameters, households: int, seed: int) -> Homes:
    """Return so many homes of the simulator, farms and large shops left out, over a year."""
    kinds = tuple(kind for kind in parameters.household_types if kind.name not in _NO_HOMES)
    parameters = replace(parameters, household_types=kinds, interval_minutes=YEAR_MINUTES)
    first, last = YEAR
    settings = VectorSettings(calendar_of(first, last, LocalTime(YEAR_MINUTES, parameters.time_zone)))
    count = min(max(households, FEWEST_HOUSEHOLDS), MOST_SIMULATED)
    kwh = simulated_kwh(parameters, seed, count, first, (last - first).days + 1)
    vectors = household_vectors(kwh, settings)
    records = HouseholdRecords.of(vectors, block_deviations(kwh, vectors, settings).reshape(count, -1))
    sample = _every_so_many(vectors[:, 0])
    return Homes(SIMULATED_YEAR, settings, records, vectors[sample], kwh[sample])


def _every_so_many(log_mean_kw: np.ndarray) -> np.ndarray:
    """Return which homes are compared, ascending: as few as there may be, from those that use least to most.

    Others taken at random would show another median where homes are of two kinds, such as heated ones and cottages.
    """
    count = min(STUDIED["households"], len(log_mean_kw))
    at = ((np.arange(count) + 0.5) * len(log_mean_kw) / max(count, 1)).astype(int)
    return np.sort(np.argsort(log_mean_kw, kind="stable")[at])


def homes_of_export(
    log_load: Sequence, vectors: Sequence, deviations: Sequence, households: int, config: Mapping
) -> tuple[Homes | None, str]:
    """Return the homes of an export, or None and why there are none.

    ``log_load``, ``vectors`` and ``deviations`` are the parts of the three tables, ``households`` is how many the
    export has.
    """
    table = read_parts(vectors, HOUSEHOLD_VECTORS)
    log_mean_kw = pc.list_element(table["vector"], 0).to_numpy()
    sample = np.sort(table["household"].to_numpy()[_every_so_many(log_mean_kw)])
    parts = progress(log_load, "parts of the readings")
    loads = [read_log_load([path], sample, LocalTime.of(config["export"])) for path in parts]
    loads = [load for load in loads if len(load.household)]
    if not loads:
        return None, "no household has readings"
    settings = settings_of(config, loads[0].calendar)
    days = settings.columns.day_count
    if days < FEWEST_DAYS:
        return None, f"the period has {days} days, and households over a period need {FEWEST_DAYS}, eight weeks"
    kwh = np.concatenate([readings_of(load.log_kwh, load.calendar, settings.calendar, config) for load in loads])
    read = np.isfinite(kwh).mean(axis=1) > 0.5
    if read.sum() < FEWEST_HOUSEHOLDS:
        return None, f"fewer than {FEWEST_HOUSEHOLDS} households were read for half of the period"
    sample = np.concatenate([load.household for load in loads])[read]
    records = records_of(vectors, deviations, households, settings)
    own = records.vectors[sample]
    if households > STUDIED["released"]:
        some = choose_households(np.arange(households), STUDIED["released"])
        share = len(some) / households
        records = HouseholdRecords(records.vectors[some], share * records.deviation_sum)
    return Homes(EXPORT, settings, records, own, kwh[read]), ""


def study_tables(homes: Homes | None, delta: float, seed: int) -> dict[str, Rows]:
    """Return the rows of the three tables by name; none where there are no homes."""
    if homes is None:
        return {table.name: [] for table in (HOUSEHOLD_SCORES, HOUSEHOLD_WEEKS, HOUSEHOLD_CURVES)}
    shown, curves = _weeks(homes, _real_weeks(homes), REAL_HOMES), _curves(homes, homes.summary, REAL_HOMES)
    floor, scores = floors(homes.energy_kwh, homes.summary.homes, homes.settings), []
    for epsilon in progress((None, *STUDIED["epsilons"]), "scorecards"):
        draws, summaries = list(_draws(homes, epsilon, delta, seed)), []
        for draw in draws:
            summaries.append(summarise(draw.batches(homes), len(homes.vectors), homes.settings))
        source = OWN if epsilon is None else RELEASED
        attacks = _attacks(homes, summaries, epsilon, delta, seed)
        cards = [[*compare(homes.summary, one), attack] for one, attack in zip(summaries, attacks, strict=True)]
        scores += _scores(homes, cards, floor, epsilon, delta)
        curves += _curves(homes, summaries[0], source, epsilon)
        if epsilon == STUDIED["epsilons"][0]:
            shown += _weeks(homes, draws[0].some(_ranked(summaries[0].homes.mean_kw)), source, epsilon)
    return {HOUSEHOLD_SCORES.name: scores, HOUSEHOLD_WEEKS.name: shown, HOUSEHOLD_CURVES.name: curves}


# --- synthetic homes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Draw:
    """As many synthetic homes as there are real ones: their vectors, and what makes readings of them."""

    generator: HouseholdGenerator
    vectors: np.ndarray  # (n, d)
    seed: int
    of_real: bool  # of the vector of the same real home

    def batches(self, homes: Homes) -> Iterator[np.ndarray]:
        """Yield (h, T) kWh, some homes at a time; what was not read of a real home is not looked at in its twin."""
        begin = 0
        for batch in self.generator.batches(self.vectors, self.seed):
            real = homes.energy_kwh[begin : begin + len(batch)]
            yield np.where(np.isfinite(real), batch, np.nan) if self.of_real else batch
            begin += len(batch)

    def some(self, which: Iterable[int]) -> np.ndarray:
        """Return the readings of some of the homes again, (k, T) kWh."""
        return np.concatenate([self.generator.kwh(self.vectors[[i]], self.seed, int(i)) for i in which])


def _draws(homes: Homes, epsilon: float | None, delta: float, seed: int) -> Iterator[Draw]:
    """Yield draws from the homes' own vectors or, at an epsilon, from releases of all records."""
    settings, count = homes.settings, len(homes.vectors)
    if epsilon is None:
        deviations = block_deviations(homes.energy_kwh, homes.vectors, settings)
        together = common_series(deviations).among(homes.vectors, settings)
        for draw in range(STUDIED["draws"]):
            yield Draw(HouseholdGenerator(settings, common=together), homes.vectors, seed + draw, True)
        return
    mechanism = mechanism_of(homes, epsilon, delta)
    for draw in range(STUDIED["draws"]):
        noise = StudyNoise(seed, "households", epsilon, draw)
        (population,), common = mechanism.release(homes.records, noise)
        drawn = drawn_vectors(population, settings, count, noise)
        common = common and common.among(drawn, settings)
        yield Draw(HouseholdGenerator(settings, common=common), drawn, seed + draw, False)


def _attacks(
    homes: Homes, summaries: Sequence[Summary], epsilon: float | None, delta: float, seed: int
) -> Iterator[Score]:
    """Yield for every draw how well an attacker tells homes that were used from others that were not.

    Without privacy half of the compared homes have twins among the synthetic ones. At an epsilon half of all
    homes are released once more.
    """
    compared, settings = homes.summary.homes.vector, homes.settings
    vectors = settings.in_half_widths(homes.records.vectors)
    for draw, summary in enumerate(summaries):
        noise = StudyNoise(seed, "households attacked", epsilon, draw)
        if epsilon is None:
            order = noise.uniform((len(homes.vectors),)).argsort()
            used, others = np.array_split(order, 2)
            yield membership(compared[used], summary.homes.vector[used], compared[others])
            continue
        order = noise.uniform((len(vectors),)).argsort()
        used, others = np.array_split(order, 2)
        # What all homes do together says nothing of a vector.
        half = replace(homes.records, vectors=homes.records.vectors[used])
        (population,), _ = mechanism_of(replace(homes, records=half), epsilon, delta).release(half, noise)
        drawn = settings.in_half_widths(drawn_vectors(population, settings, len(used), noise))
        yield membership(vectors[used], drawn, vectors[others])


def mechanism_of(homes: Homes, epsilon: float, delta: float) -> Households:
    """Return the mechanism of a release of all homes, as one stratum and with noise that is on no grid."""
    settings = homes.settings
    box, directions = Box(*map(tuple, settings.bounds.tolist())), directions_of(settings.names)
    return Households.calibrate(
        HouseholdsPublic(epsilon, delta, box, (0,) * len(homes.records.vectors), directions, days=homes.days)
    )


# --- rows of the tables ---------------------------------------------------------------------------------------------


def _scores(
    homes: Homes,
    draws: Sequence[Sequence[Score]],
    floor: Mapping[tuple[str, str], float],
    epsilon: float | None,
    delta: float,
) -> Rows:
    facts = {
        "period": homes.period,
        "day_count": homes.days,
        "interval_minutes": homes.settings.calendar.interval_minutes,
        "household_count": len(homes.records.vectors),
        "sample_count": len(homes.vectors),
        "source": OWN if epsilon is None else RELEASED,
        "epsilon": epsilon,
        "delta": None if epsilon is None else delta,
        "draw_count": len(draws),
    }
    rows = []
    for same in zip(*draws, strict=True):
        one, errors = same[0], np.array([row.error for row in same])
        least = floor.get((one.statistic, one.detail), np.nan)
        rows.append(
            facts
            | {name: getattr(one, name) for name in ("statistic", "detail", "unit", "real", "error_unit")}
            | {
                "synthetic": float(np.mean([row.synthetic for row in same])),
                "error": float(errors.mean()),
                "absolute_error": float(np.abs(errors).mean()),
                "floor": float(least) if np.isfinite(least) else None,
            }
        )
    return rows


def _ranked(mean_kw: np.ndarray) -> np.ndarray:
    """Return which homes are shown: in the middles of so many equal shares of the homes, by their mean power."""
    count = STUDIED["weeks"]
    return np.argsort(mean_kw, kind="stable")[((np.arange(count) + 0.5) * len(mean_kw) / count).astype(int)]


def _real_weeks(homes: Homes) -> np.ndarray:
    """Return the readings of the real homes that are shown, (k, T); if enough were, of homes read in that week."""
    read = np.isfinite(homes.energy_kwh[:, homes.week]).mean(axis=1) > 0.5
    some = np.flatnonzero(read) if read.sum() >= STUDIED["weeks"] else np.arange(len(read))
    return homes.energy_kwh[some[_ranked(homes.summary.homes.mean_kw[some])]]


def _weeks(homes: Homes, energy_kwh: np.ndarray, source: str, epsilon: float | None = None) -> Rows:
    """Return the rows of the week that is shown of (k, T) readings."""
    calendar, slots = homes.settings.calendar, homes.week
    monday = calendar.local_day[slots[0]]
    hours = (calendar.local_day[slots] - monday) * 24 + calendar.minute_of_day[slots] / 60
    facts = {"period": homes.period, "source": source, "epsilon": epsilon}
    return [
        facts | {"home": home, "hours_from_monday": float(hour), "power_kw": float(kw) if np.isfinite(kw) else None}
        for home, row in enumerate(energy_kwh[:, slots] / homes.settings.hours, 1)
        for hour, kw in zip(hours, row, strict=True)
    ]


def _curves(homes: Homes, summary: Summary, source: str, epsilon: float | None = None) -> Rows:
    """Return the rows of the curves of real or synthetic homes."""
    empty = dict.fromkeys(("home_count", "time_share", "first_day"))
    facts = {"period": homes.period, "source": source, "epsilon": epsilon} | empty
    peaks = zip(summary.group_sizes, summary.group_peak_kw, strict=True)
    duration = zip(_SHARES, np.nanquantile(summary.mean_load_kw, 1 - _SHARES), strict=True)
    return [
        *(facts | {"curve": "diversity", "home_count": size, "power_kw": float(kw)} for size, kw in peaks),
        *(facts | {"curve": "duration", "time_share": float(share), "power_kw": float(kw)} for share, kw in duration),
        *(
            facts | {"curve": "energy", "first_day": day, "power_kw": kw}
            for day, kw in _mean_power(homes.settings, summary)
        ),
    ]


def _mean_power(settings: VectorSettings, summary: Summary) -> Iterator[tuple[str, float]]:
    """Yield the first day and the mean load of all homes of every month or, of a period without seasons, week."""
    days, columns = settings.calendar.days, settings.columns
    part = [(day.year, day.month) if columns.seasons else number // 7 for number, day in enumerate(days)]
    starts = [number for number, own in enumerate(part) if number == 0 or own != part[number - 1]]
    of_slot = np.searchsorted(starts, columns.day, side="right") - 1
    for number, start in enumerate(starts):
        load = summary.mean_load_kw[of_slot == number]
        if np.isfinite(load).any():
            yield days[start].isoformat(), float(np.nanmean(load))
