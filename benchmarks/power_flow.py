"""A year of power flow with real homes on a low-voltage feeder, and with homes that stand in for them.

``python benchmarks/power_flow.py [--homes N] [--released N ...] [--arrangements N] [--releases N] [--docs]``: a year
of the simulator's homes, by the hour (benchmarks/years.py), is put on the 57 loads of pandapower's Kerber village
network, all homes in turn and in several random arrangements. Then others stand in for them, arranged alike:
households drawn from releases at epsilon 1 with the noise of so many homes; without privacy, from the homes' own
vectors and from one Gaussian fitted to them; and the mean profile of all homes, for every home or scaled to its
energy of the year, as planners have it. The floor is what random halves of the real homes give against each other.

A row per measure and source in results/benchmarks/power_flow.parquet: ``ours_s`` is what a year of 57 homes takes
(power_flow_parts/feeder.py), ``other_s`` what pandapower takes for it; ``quality`` says the mean of the measure over
arrangements, and how far that is from real homes. Voltages and loadings are checked against pandapower in random
hours and in that of the highest load. ``make tools`` installs pandapower; ``--docs`` writes what the page shows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from power_flow_parts.feeder import PYTHON, Feeder, Found, pandapower
from table import ROOT, load, seconds, write, write_on_page
from years import simulated

from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise, keyed_generator
from meterdp.households.common import CommonSeries, block_deviations, common_series
from meterdp.households.generate import HouseholdGenerator
from meterdp.households.mechanism import HouseholdRecords, Households, HouseholdsPublic, Population, directions_of
from meterdp.households.released import drawn_vectors
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.mechanisms.proven.mechanism import Box
from meterdp.mixture.draws import Mixture
from meterdp.profiles.grid import Calendar
from meterdp.report import style

NETWORK, LOADS = "create_kerber_dorfnetz", 57
SEED, EPSILON, DELTA = 7, 1.0, 1e-5
# Hours checked against pandapower, and how near voltages (per unit) must be.
CHECKED, NEAR = 24, 1e-6
REAL, SCALED = "real homes", "mean profile, scaled"


@dataclass(frozen=True)
class Measure:
    """A number of a year: of the lowest voltage of all nodes and the transformer's loading, both (hours,)."""

    name: str
    unit: str
    digits: int
    of: Callable[[np.ndarray, np.ndarray], float]


MEASURES = (
    Measure("lowest node voltage, the year's minimum", "p.u.", 4, lambda low, loading: low.min()),
    Measure("lowest node voltage, 0.1 % quantile of hours", "p.u.", 4, lambda low, loading: np.quantile(low, 0.001)),
    Measure("lowest node voltage, 1 % quantile of hours", "p.u.", 4, lambda low, loading: np.quantile(low, 0.01)),
    Measure("lowest node voltage, median of hours", "p.u.", 4, lambda low, loading: np.median(low)),
    Measure("hours with a node below 0.95 p.u.", "h", 1, lambda low, loading: (low < 0.95).sum()),
    Measure("hours with a node below 0.97 p.u.", "h", 0, lambda low, loading: (low < 0.97).sum()),
    Measure("loading of the transformer, maximum", "%", 1, lambda low, loading: loading.max()),
    Measure("loading of the transformer, 99 % quantile", "%", 1, lambda low, loading: np.quantile(loading, 0.99)),
    Measure("loading of the transformer, median", "%", 1, lambda low, loading: np.median(loading)),
)


@dataclass(frozen=True)
class Years:
    """What a feeder does in years with different homes."""

    measures: np.ndarray  # (years, measures)
    duration: np.ndarray  # (hours,): lowest node voltages in ascending order, mean of the years


def years_of(feeder: Feeder, kwh: np.ndarray, arrangements: int, what: str) -> Years:
    """Put homes (H, hours) on the feeder: all of them in turn, in several random orders."""
    found, curves = [], []
    for arrangement in progress(range(arrangements), f"years of {what}"):
        order = keyed_generator(SEED, "arrangement", arrangement).permutation(len(kwh))
        for begin in range(0, len(kwh) - LOADS + 1, LOADS):
            voltage, loading = feeder.solve(kwh[order[begin : begin + LOADS]].T)
            lowest = voltage.min(axis=1)
            found.append([measure.of(lowest, loading) for measure in MEASURES])
            curves.append(np.sort(lowest))
    return Years(np.array(found), np.mean(curves, axis=0))


def hourly(kwh: np.ndarray, calendar: Calendar) -> tuple[np.ndarray, Calendar]:
    each = 60 // calendar.interval_minutes
    kwh = kwh.reshape(len(kwh), -1, each).sum(axis=2)
    return kwh, Calendar(calendar.start, kwh.shape[1], 60, calendar.time_zone)


def released(sizes: list[int], releases: int, records: np.ndarray, settings: VectorSettings) -> Iterator[tuple]:
    """Yield name, as many vectors as there are records, and what homes do together, of every release.

    As in benchmarks/years.py, records are drawn from those that there are, so that noise is that of N homes.
    """
    box = Box(*map(tuple, settings.bounds.tolist()))
    for n in sizes:
        directions, days = directions_of(settings.names), settings.columns.day_count
        public = HouseholdsPublic(EPSILON, DELTA, box, (0,) * n, directions, days=days)
        mechanism = Households.calibrate(public)
        for release in range(releases):
            noise = StudyNoise(SEED, "power flow", n, release)
            of_n = records[(noise.uniform((n,)) * len(records)).astype(int)]
            d = len(settings.names)
            (population,), common = mechanism.release(HouseholdRecords.of(of_n[:, :d], of_n[:, d:]), noise)
            yield f"released, {n:,} homes", drawn_vectors(population, settings, len(records), noise), common


def instead(kwh: np.ndarray, calendar: Calendar, sizes: list[int], releases: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield as many homes (H, hours) of every kind that stand in for the real ones, those of each release apart."""
    settings = VectorSettings(calendar)
    vectors = household_vectors(kwh, settings)
    deviations = block_deviations(kwh, vectors, settings)

    def drawn(vectors: np.ndarray, common: CommonSeries | None, seed: int) -> np.ndarray:
        vectors = np.clip(vectors, *settings.bounds)
        generator = HouseholdGenerator(settings, common=common and common.among(vectors, settings))
        return np.concatenate(list(generator.batches(vectors, seed)))

    records = np.hstack([vectors, deviations.reshape(len(kwh), -1)])
    for seed, (name, found, common) in enumerate(released(sizes, releases, records, settings)):
        yield name, drawn(found, common, SEED + seed)
    without_privacy = common_series(deviations)
    yield "own vectors, without privacy", drawn(vectors, without_privacy, SEED)
    # Some entries are the same in all homes.
    covariance = np.cov(vectors.T) + 1e-9 * np.eye(vectors.shape[1])
    one = Mixture(np.ones(1), vectors.mean(axis=0)[None], covariance[None])
    noise = StudyNoise(SEED, "power flow", "one Gaussian")
    gaussian = Population(one, np.empty(0), ()).draw(len(kwh), noise)
    yield "one Gaussian, without privacy", drawn(gaussian, without_privacy, SEED)
    mean = kwh.mean(axis=0)
    yield "mean profile", np.broadcast_to(mean, kwh.shape)
    yield SCALED, kwh.mean(axis=1)[:, None] * (mean / mean.mean())


def floor_of(feeder: Feeder, kwh: np.ndarray, arrangements: int) -> np.ndarray:
    """Return how far random halves of the real homes are apart, (measures,)."""
    apart = []
    for half in range(4):
        order = keyed_generator(SEED, "halves", half).permutation(len(kwh))
        one, other = (
            years_of(feeder, kwh[part], arrangements, "half of the homes").measures.mean(axis=0)
            for part in np.array_split(order, 2)
        )
        apart.append(np.abs(one - other))
    return np.mean(apart, axis=0)


def checked_feeder(kwh: np.ndarray) -> tuple[Feeder, Found, float]:
    """Return the feeder, what pandapower finds for some hours, and how far ours is from its voltages, per unit."""
    rng = keyed_generator(SEED, "checked")
    load_kw = kwh[rng.choice(len(kwh), LOADS, replace=False)].T
    hours = [load_kw.sum(axis=1).argmax(), *rng.choice(len(load_kw), CHECKED - 1, replace=False)]
    feeder, found = pandapower(NETWORK, load_kw[hours])
    voltage, loading = feeder.solve(load_kw[hours])
    off = float(np.abs(voltage - found.voltage_pu).max())
    if off > NEAR or np.abs(loading - found.loading_percent).max() > 100 * NEAR:
        raise ArithmeticError(f"voltages are {off:.1e} p.u. off those of pandapower")
    return feeder, found, off


def rows_of(real: Years, others: dict[str, list[Years]], floor: np.ndarray, case: dict) -> Iterator[dict]:
    """Yield a row per measure and source; errors are means over releases."""
    truth = real.measures.mean(axis=0)
    for source, years in {REAL: [real], **others}.items():
        means = np.array([each.measures.mean(axis=0) for each in years])
        error = np.abs(means - truth).mean(axis=0)
        for m, measure in enumerate(MEASURES):
            value, words = means[:, m].mean(), f"{measure.digits}f"
            yield case | {
                "case": f"{measure.name}, {measure.unit}",
                "quality": f"{source}: {value:.{words}}, off by {error[m]:.{words}}",
                "source": source,
                "value": value,
                "between_years": np.mean([each.measures[:, m].std() for each in years]),
                "error": error[m],
                "floor": floor[m],
            }


def markdown(table: pd.DataFrame) -> Iterator[str]:
    """Yield the table of the page: real homes, how far others are off, and how far halves of the real ones are."""
    sources = [source for source in dict.fromkeys(table["source"]) if source != REAL]
    yield "| | real homes | " + " | ".join([*sources, "two halves of the real homes"]) + " |"
    yield "| --- |" + " --- |" * (len(sources) + 2)
    digits = {f"{measure.name}, {measure.unit}": measure.digits for measure in MEASURES}
    for case, rows in table.groupby("case", sort=False):
        of = rows.set_index("source")
        numbers = [of["value"][REAL], *of["error"][sources], rows["floor"].iloc[0]]
        yield f"| {case} | " + " | ".join(f"{number:.{digits[case]}f}" for number in numbers) + " |"


def draw(curves: dict[str, np.ndarray], output: Path) -> None:
    """Draw how many hours of a year the lowest node voltage is below each value."""
    colours = (style.BLACK, style.SKY, style.GREEN, style.ORANGE)
    looks = {source: {"color": colour} for source, colour in zip(curves, colours, strict=True)}
    with style.canvas(output, "In how many hours of a year is a node voltage lower?", 3.6) as figure:
        (axis,) = style.panels(figure, 1, 1)
        for source, curve in curves.items():
            axis.plot(np.arange(1, len(curve) + 1), curve, **looks[source])
        axis.set_xscale("log")
        style.plain_log_ticks(axis.xaxis, (1, 10, 100, 1000))
        axis.set_xlabel("hours of the year")
        axis.set_ylabel("lowest node voltage (p.u.)")
        style.legend_below(figure, [style.line_key(**look) for look in looks.values()], list(looks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--homes", type=int, default=1500, help="simulated homes")
    parser.add_argument(
        "--released", type=int, nargs=2, default=[1500, 5000], metavar="N", help="release so many homes"
    )
    parser.add_argument("--arrangements", type=int, default=4, help="of all homes on the feeder")
    parser.add_argument("--releases", type=int, default=4)
    parser.add_argument("--docs", action="store_true", help="write table and picture of docs/howto/power_flow.md")
    options = parser.parse_args()
    if not PYTHON.exists():
        write("power_flow", [("a year of power flow", np.nan, "pandapower", np.nan, np.nan, "not installed", load())])
        print("not run: pandapower is not installed (make tools installs it)")
        return
    kwh, calendar = hourly(*simulated(options.homes))
    feeder, found, off = checked_feeder(kwh)
    ours_s, _ = seconds(feeder.solve, kwh[:LOADS].T)
    other_s = found.seconds * kwh.shape[1]
    case = {
        "case": f"a year of {LOADS} homes",
        "ours_s": ours_s,
        "other": f"pandapower {found.version}",
        "other_s": other_s,
        "ratio": other_s / ours_s,
        "quality": f"voltages differ by at most {off:.0e} p.u. in {CHECKED} hours",
        "load": load(),
    }
    real, others = years_of(feeder, kwh, options.arrangements, REAL), {}
    for source, homes in instead(kwh, calendar, options.released, options.releases):
        others.setdefault(source, []).append(years_of(feeder, homes, options.arrangements, source))
    rows = list(rows_of(real, others, floor_of(feeder, kwh, options.arrangements), case))
    write("power_flow", [case, *rows])
    print(f"{len(kwh):,} homes; {case['case']}: {ours_s:.2f} s, {case['other']}: {other_s:.0f} s; {case['quality']}")
    table = pd.DataFrame(rows)
    print(table[["case", "source", "value", "between_years", "error", "floor"]].to_string(index=False))
    print(*markdown(table), sep="\n")
    shown = {REAL: [real], **others}
    curves = {
        source: np.mean([each.duration for each in shown[source]], axis=0)
        for source in (REAL, *(f"released, {n:,} homes" for n in options.released), SCALED)
    }
    draw(curves, ROOT / "results/benchmarks/power_flow.svg")
    if options.docs:
        draw(curves, ROOT / "docs/pictures/power_flow.svg")
        write_on_page("howto/power_flow.md", "power_flow.py", "\n".join(markdown(table)))


if __name__ == "__main__":
    main()
