"""Real homes against homes drawn from their own vectors, without privacy, and from released ones.

``python benchmarks/years.py [DATA ...] [--homes N] [--draws N] [--blocks N] [--released N ...] [--rivals]``: of the
data sets ``simulated`` (a year of the simulator with seasons and holidays away on top), ``resort`` (the same homes,
but every fourth stands empty most of it), ``swiss`` (seven weeks at 15, 30 and 60 minutes) and ``australian`` (a
year), by default those that are here; or of canonical readings of a study,
``--readings PART ... --time-zone ZONE --interval-minutes N``. One row per data set and statistic in
results/benchmarks/years.parquet: real and drawn value, error (median, lowest and highest of some draws), the goal
where there is one, and the floor: what random halves of the real homes give against each other. ``--blocks`` is the
number of blocks of a day of the common series, 0 for none. ``--released`` adds mean absolute errors of a thousand
households of releases at epsilon 1 with the noise of so many homes. ``--rivals`` adds those of what a user would try
instead (years_parts/rivals.py); a library is used where it is installed, `make benchmark` and `make neural`, and what
was not made is named with its reason. The constants of the model were chosen on simulated and Swiss homes, and three
choices of the vector and the lengths of spells away on Australian ones, too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
from table import ROOT, load, write, write_on_page
from years_parts.errors import Errors, mean_errors
from years_parts.page import markdown
from years_parts.rivals import Rivals

from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise, keyed_generator
from meterdp.households.common import BLOCKS, block_deviations, common_series
from meterdp.households.generate import HouseholdGenerator
from meterdp.households.mechanism import HouseholdRecords, Households, HouseholdsPublic, directions_of
from meterdp.households.released import drawn_vectors
from meterdp.households.score import Score, Summary, compare, floors, summarise
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.mechanisms.proven.mechanism import Box
from meterdp.profiles.grid import Calendar, LocalTime, read_shard
from meterdp.simulate.fleet import Fleet, Period
from meterdp.simulate.load import LoadModel
from meterdp.simulate.parameters import SimulationParameters
from meterdp.simulate.year import with_second_homes

SWISS = ROOT.parent / "shared/data/ch_bamberg_15min/elcons_15min_long.parquet"
AUSTRALIAN = ROOT.parent / "shared/data/au_nsw_30min/readings.parquet"
SEED = 7
# Of released households.
EPSILON, DELTA, RELEASES, DRAWN = 1.0, 1e-5, 10, 1000
NOT_MADE = "not made, or fewer releases"
# Rows that have a goal, by the start of the statistic.
GOALS = {
    "energy": 2.0,
    "peak,": 6.0,
    "peak hour": 30.0,
    "diversified": 4.0,
    "autocorrelation": 0.12,
}


def simulated(homes: int) -> tuple[np.ndarray, Calendar]:
    """Return a year of the simulator's homes, without farms and large shops, (H, T) kWh per half hour."""
    parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
    period = Period(date(2025, 1, 1), 365, parameters.time_zone, 30)
    start = datetime.fromisoformat("2025-01-01T08:00:00+00:00")
    calendar = Calendar(start, period.slot_count, 30, parameters.time_zone)
    fleet, model = Fleet(parameters.household_types, homes, 1, SEED), LoadModel(parameters, period, SEED)
    kept = [i for i in range(homes) if fleet.kind(i).name not in ("agricultural", "large_commercial")]
    rows = [model.energy(fleet.kind(i), i) * _season(calendar, i) for i in progress(kept, "simulated homes")]
    return np.array([_sometimes_away(row, calendar, i) for row, i in zip(rows, kept, strict=True)]), calendar


def _season(calendar: Calendar, household: int) -> np.ndarray:
    """Factor on the load: a winter, with more of it in the evening, for most homes."""
    rng = keyed_generator(SEED, "season", household)
    year = 2 * np.pi * (calendar.local_day - calendar.local_day[0]) / 365.2425
    evening = np.cos(2 * np.pi * (calendar.minute_of_day / 1440 - 19 / 24))
    log = rng.normal(0.25, 0.2) * np.cos(year) + rng.normal(0, 0.1) * np.sin(year)
    log += rng.normal(0.05, 0.08) * np.cos(2 * year) + rng.normal(0.08, 0.08) * np.cos(year) * evening
    return np.exp(log)


def _sometimes_away(kwh: np.ndarray, calendar: Calendar, household: int) -> np.ndarray:
    """Leave little more than the base load on some days."""
    rng = keyed_generator(SEED, "away", household)
    day = calendar.local_day - calendar.local_day[0]
    low = np.quantile(kwh, 0.1)
    for first, days in zip(rng.integers(365, size=rng.poisson(1.5)), rng.integers(3, 20, size=20), strict=False):
        away = (day >= first) & (day < first + days)
        kwh[away] = np.minimum(kwh[away], low * (1 + 0.3 * rng.random(away.sum())))
    return kwh


def swiss(minutes: int) -> tuple[np.ndarray, Calendar]:
    """Return homes that are not zero half of the time and have no fault in the unit, over seven weeks."""
    readings = pd.read_parquet(SWISS).sort_values(["vid", "week", "slot"])
    kwh = readings["kwh"].to_numpy().reshape(-1, 49 * 96)
    kwh = kwh[((kwh > 0).mean(axis=1) > 0.5) & (kwh.max(axis=1) < 20)]
    kwh = kwh.reshape(len(kwh), -1, minutes // 15).sum(axis=2)
    return kwh, Calendar(datetime(2018, 10, 28, 23, tzinfo=UTC), kwh.shape[1], minutes, "Europe/Zurich")


def australian() -> tuple[np.ndarray, Calendar]:
    """Return the homes read for most of the year from November 2012 on; their clock is standard time."""
    readings = pd.read_parquet(AUSTRALIAN).drop_duplicates(["customer_id", "reading_datetime"])
    wide = readings.pivot_table(index="customer_id", columns="reading_datetime", values="general_supply_kwh")
    kwh = wide.reindex(columns=pd.date_range("2012-11-01", "2013-10-31 23:30", freq="30min")).to_numpy(float)
    kwh = kwh[np.isfinite(kwh).sum(axis=1) > 17_000]
    return kwh, Calendar(datetime(2012, 10, 31, 14, tzinfo=UTC), kwh.shape[1], 30, "Etc/GMT-10")


def canonical(parts: list[Path], interval_minutes: int, time_zone: str) -> tuple[np.ndarray, Calendar]:
    """Return the homes of parts of a study's readings that were read at least half of the time."""
    shards = [read_shard(part, LocalTime(interval_minutes, time_zone)) for part in parts]
    kwh = np.concatenate([shard.energy_kwh for shard in shards])
    return kwh[np.isfinite(kwh).mean(axis=1) > 0.5], shards[0].calendar


def data_sets(options: argparse.Namespace) -> Iterator[tuple[str, np.ndarray, Calendar]]:
    if options.readings:
        yield "readings", *canonical(options.readings, options.interval_minutes, options.time_zone)
        return
    wanted = options.data or ["simulated", "resort", *(["swiss"] if SWISS.exists() else [])]
    wanted = wanted if options.data or not AUSTRALIAN.exists() else [*wanted, "australian"]
    if {"simulated", "resort"} & set(wanted):
        kwh, calendar = simulated(options.homes)
        if "simulated" in wanted:
            yield "simulated", kwh, calendar
        if "resort" in wanted:
            day, hours = calendar.local_day - calendar.local_day[0], calendar.interval_minutes / 60
            yield "resort", with_second_homes(kwh, day, hours, 0.25, SEED), calendar
    if "swiss" in wanted:
        for minutes in (15, 30, 60):
            yield f"swiss, {minutes} min", *swiss(minutes)
    if "australian" in wanted:
        yield "australian", *australian()


def goal_of(row: Score) -> float:
    if row.statistic.startswith("diversified") and row.detail == "1":
        return np.nan
    return next((goal for start, goal in GOALS.items() if row.statistic.startswith(start)), np.nan)


def released_errors(
    records: np.ndarray, settings: VectorSettings, real: Summary, sizes: list[int]
) -> dict[str, Errors]:
    """Return the errors of households released at epsilon 1, by column of the table.

    Records, vectors and deviations (H, d + days * blocks), are drawn from those of the homes that there are, so that
    noise and rules are those of N of them.
    """
    box, directions = Box(*map(tuple, settings.bounds.tolist())), directions_of(settings.names)

    def summaries(n: int) -> Iterator[Summary]:
        mechanism = Households.calibrate(
            HouseholdsPublic(EPSILON, DELTA, box, (0,) * n, directions, days=real.columns.day_count)
        )
        for release in progress(range(RELEASES), f"releases of {n:,} homes"):
            noise = StudyNoise(SEED, "years", n, release)
            x = records[(noise.uniform((n,)) * len(records)).astype(int)]
            d = len(settings.names)
            (population,), common = mechanism.release(HouseholdRecords.of(x[:, :d], x[:, d:]), noise)
            drawn = drawn_vectors(population, settings, DRAWN, noise)
            generator = HouseholdGenerator(settings, common=common and common.among(drawn, settings))
            yield summarise(generator.batches(drawn, SEED + release), DRAWN, settings)

    return {f"released_{n}": mean_errors(real, summaries(n)) for n in sizes}


def rival_errors(rivals: Rivals, real: Summary, sizes: list[int]) -> tuple[dict[str, Errors], dict[str, str]]:
    """Return the errors of what a user would try instead, and why there are none or fewer releases, by column."""
    errors, missing = {}, {}
    for column, years_of_release in rivals.columns(sizes).items():
        summaries = []
        for release in progress(range(RELEASES), column):
            years = years_of_release(release)
            if isinstance(years, str):
                missing[column] = years
                break
            summaries.append(summarise(years, DRAWN, rivals.settings))
        if summaries:
            errors[column] = mean_errors(real, summaries)
    return errors, missing


def table_of(
    name: str,
    kwh: np.ndarray,
    calendar: Calendar,
    draws: int,
    blocks: int,
    released: list[int],
    with_rivals: bool,
) -> list[dict]:
    """Return the rows of one data set; the first two are times of a core, the last what was not made, and why."""
    settings = VectorSettings(calendar)
    household_vectors(kwh[:1], settings)  # compiles
    begin = time.process_time()
    vectors = household_vectors(kwh, settings)
    vector_s = time.process_time() - begin
    common = common_series(block_deviations(kwh, vectors, settings, blocks)) if blocks else None
    generator = HouseholdGenerator(settings, common=common and common.among(vectors, settings))
    generator.kwh(vectors[:1], SEED)
    real = summarise([kwh], len(kwh), settings)
    floor = floors(kwh, real.homes, settings)
    draw_s, scores = 0.0, []
    for draw in progress(range(draws), f"draws of {name} homes"):
        begin = time.process_time()
        batches = list(generator.batches(vectors, SEED + draw))
        draw_s += (time.process_time() - begin) / draws
        # What was not read of the real homes is not looked at in the drawn ones.
        drawn = np.where(np.isfinite(kwh), np.concatenate(batches), np.nan)
        scores.append(compare(real, summarise([drawn], len(drawn), settings)))
    records = (
        np.hstack([vectors, block_deviations(kwh, vectors, settings).reshape(len(kwh), -1)]) if released else vectors
    )
    columns, missing = released_errors(records, settings, real, released), {}
    if with_rivals:
        rivals = Rivals(kwh, vectors, settings, common, EPSILON, DELTA, DRAWN)
        of_rivals, missing = rival_errors(rivals, real, released)
        columns |= of_rivals
    case = {"data": name, "homes": len(kwh), "load": load()}
    speeds = {"vector": vector_s, "draw": draw_s}
    rows = [
        case
        | {
            "statistic": f"milliseconds of one core for a {what}",
            "detail": "",
            "real": np.nan,
            "drawn": 1e3 * s / len(kwh),
        }
        for what, s in speeds.items()
    ]
    for same in zip(*scores, strict=True):
        errors, one = np.array([row.error for row in same]), same[0]
        rows.append(
            case
            | {
                "statistic": one.statistic,
                "detail": one.detail,
                "unit": one.unit,
                "real": one.real,
                "drawn": float(np.mean([row.synthetic for row in same])),
                "error": np.median(errors),
                "lowest": errors.min(),
                "highest": errors.max(),
                "error_unit": one.error_unit,
                "floor": floor.get((one.statistic, one.detail), np.nan),
                "goal": goal_of(one),
                **{column: of.get((one.statistic, one.detail), np.nan) for column, of in columns.items()},
            }
        )
    return rows + [case | {"statistic": NOT_MADE, "detail": column, "unit": why} for column, why in missing.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="*", help="simulated, resort, swiss, australian")
    parser.add_argument("--homes", type=int, default=400, help="simulated homes")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    parser.add_argument("--released", type=int, nargs="*", default=[], metavar="N", help="release so many homes, too")
    parser.add_argument("--rivals", action="store_true", help="and what others would try instead; an hour and more")
    parser.add_argument("--docs", action="store_true", help="write the tables of docs/households.md")
    parser.add_argument("--readings", type=Path, nargs="+")
    parser.add_argument("--time-zone", default="UTC")
    parser.add_argument("--interval-minutes", type=int, default=30)
    options = parser.parse_args()
    rows = []
    for name, kwh, calendar in data_sets(options):
        rows += table_of(name, kwh, calendar, options.draws, options.blocks, options.released, options.rivals)
    write("years", rows)
    if options.docs:
        write_on_page("households.md", "years.py", markdown(pd.DataFrame(rows)))
    table = pd.DataFrame(rows).drop(columns="load")
    with pd.option_context("display.max_rows", None, "display.width", 220):
        for name, part in table.groupby("data", sort=False):
            print(f"\n{name}, {part['homes'].iloc[0]} homes")
            print(part.drop(columns=["data", "homes"]).round(3).to_string(index=False, na_rep=""))


if __name__ == "__main__":
    main()
