"""Our ARMA(6, 5) fits against statsmodels and statsforecast: seconds, likelihood and forecasts, same series, one run.

``make benchmark`` writes results/benchmarks/arma.parquet (seconds per series and exact log-likelihoods, all judged
by statsmodels' own evaluator; 10,000 households in one go) and results/benchmarks/arma_forecast.parquet (squared
errors of twelve steps; ``ratio`` is the other's error over ours, so above one ours is better in both tables).
``python benchmarks/arma.py [--homes N] [--many N] [--export FILE --config FILE]``: more homes than the first 40 (the
others take 8 seconds for each), fewer drawn series, or the homes of another export. Without one the developers' Swiss
homes are used where they are, else simulated homes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
from arma_parts import peers
from arma_parts.accuracy import SCALES, as_fit, origins_of, ratio, squared_errors
from arma_parts.series import SWISS, SWISS_CONFIG, Homes, real_homes, simulated_homes
from scipy.signal import lfilter
from table import seconds, write

from meterdp.core.job import progress
from meterdp.core.noise import keyed_generator
from meterdp.forecasting.arma import ArmaFit, ArmaSettings, fit_arma

ORDER = (6, 5)
OURS = {
    "likelihood, 1 start": ArmaSettings(order=ORDER, fit="likelihood", starts=1),
    "likelihood, default starts": ArmaSettings(order=ORDER, fit="likelihood"),
    "forecast": ArmaSettings(order=ORDER, fit="forecast"),
}
OTHERS = {
    "statsmodels ARIMA, default": peers.statsmodels_arima,
    "statsmodels innovations_mle": peers.statsmodels_innovations,
}
STATSFORECAST = "statsforecast ARIMA, CSS-ML"
REPEATS = 3
NATS = 0.1
SEED = 1
MANY, THREADS, BURN_IN = 10_000, 2, 1000
SIMULATED = 400


def fit_all(x: np.ndarray) -> tuple[dict[str, list[ArmaFit]], np.ndarray, dict[str, list[peers.PeerFit] | str]]:
    """Fit every series by every method, in turn. Returns our fits, our seconds (mode, series), the others' fits."""
    for settings in OURS.values():
        fit_arma(x[0], settings)  # compiles the kernel once; the cache is kept between runs
    ours, others = {name: [] for name in OURS}, {name: [] for name in OTHERS}
    taken = np.empty((len(OURS), len(x)))
    for i, row in enumerate(progress(x, "ARMA fits of all packages", total=len(x))):
        for m, (name, settings) in enumerate(OURS.items()):
            times, fits = zip(*[seconds(fit_arma, row, settings) for _ in range(REPEATS)], strict=True)
            taken[m, i] = statistics.median(times)
            ours[name].append(fits[0])
        for name, fit in OTHERS.items():
            others[name].append(peers.timed(fit, row, ORDER))
    return ours, taken, others | {STATSFORECAST: peers.statsforecast_fits(x, ORDER)}


def likelihood_quality(own: np.ndarray, other: np.ndarray, found: list[peers.PeerFit], invertible: int) -> str:
    """Say whose exact log-likelihood is higher, over the series for which the other gave a fit."""
    both = np.isfinite(other)
    gain = own[both] - other[both]
    share = np.mean(~(gain < -NATS)) if both.any() else np.nan
    raised = sum(bool(fit.trouble) for fit in found)
    low, middle, high = np.quantile(gain, [0.01, 0.5, 0.99]) if both.any() else (np.nan,) * 3
    trouble = f"; theirs without a stationary fit {(~both).sum()}, of them raised {raised}" if found else ""
    return (
        f"log-likelihood at least as high (to {NATS} nat) on {share:.2%} of {both.sum()} series; ours less theirs: "
        f"median {middle:.2f}, 1 % {low:.2f}, 99 % {high:.2f} nats{trouble}"
        + (f"; not invertible {both.sum() - invertible}" if found else "")
    )


def likelihood_rows(where: str, x: np.ndarray, ours, taken, others) -> list[tuple]:
    """Return the rows of seconds per series and likelihood."""
    own = {
        n: np.array([peers.judged(s, f.ar, f.ma) for s, f in zip(x, fits, strict=True)]) for n, fits in ours.items()
    }
    rows, best = [], np.full(len(x), np.nan)
    for other, found in others.items():
        if isinstance(found, str):
            rows += [
                (f"{mode}: {where}", taken[m].mean(), other, np.nan, np.nan, found) for m, mode in enumerate(OURS)
            ]
            continue
        theirs = np.array([peers.judged(s, f.ar, f.ma) for s, f in zip(x, found, strict=True)])
        best = np.fmax(best, theirs)
        invertible = sum(bool(np.isfinite(v)) and f.invertible for v, f in zip(theirs, found, strict=True))
        other_s = np.mean([f.seconds for f in found])
        for m, mode in enumerate(OURS):
            quality = likelihood_quality(own[mode], theirs, found, invertible)
            rows.append((f"{mode}: {where}", taken[m].mean(), other, other_s, other_s / taken[m].mean(), quality))
    for m, mode in enumerate(OURS):
        quality = likelihood_quality(own[mode], best, [], int(np.isfinite(best).sum()))
        rows.append((f"{mode}: {where}", taken[m].mean(), "best of the others", np.nan, np.nan, quality))
    return rows


def many_rows(where: str, fits: list[ArmaFit], length: int, count: int) -> list[tuple]:
    """Time many households, drawn from the fitted processes each with its own noise, from nothing to all fits."""
    processes = [fit for fit in fits if fit.ar.size and fit.ma.size]
    x = np.empty((count, length))
    for i in range(count):
        fit = processes[i % len(processes)]
        noise = keyed_generator(SEED, "benchmark", "arma", i).normal(size=BURN_IN + length)
        drawn = lfilter(np.r_[1.0, fit.ma], np.r_[1.0, -fit.ar], noise * np.sqrt(fit.innovation_variance))
        x[i] = fit.mean + drawn[BURN_IN:]
    rows = []
    for mode in ("likelihood", "forecast"):
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "series.npy", x)
            script = Path(__file__).parent / "arma_parts/many.py"
            command = [sys.executable, str(script), f"{folder}/series.npy", mode, str(THREADS)]
            environment = os.environ | {"NUMBA_CACHE_DIR": f"{folder}/cache"}
            begin = time.perf_counter()
            run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            taken = time.perf_counter() - begin
        case = f"{mode}, default starts: {count:,} series x {length}, processes of {where}, {THREADS} threads"
        quality = f"a fresh process, imports and compilation included; {run.stdout.strip()}"
        rows.append((case, taken, "none", np.nan, np.nan, quality))
    return rows


def forecast_rows(homes: Homes, ours, taken, others) -> list[tuple]:
    """Return the rows of squared errors: every mode of ours against every other method and our other modes."""
    x = homes.training
    methods = {name: (fits, taken[m].mean()) for m, (name, fits) in enumerate(ours.items())}
    missing = {name: found for name, found in others.items() if isinstance(found, str)}
    for name, found in others.items():
        if name not in missing:
            fits = [as_fit(series, f.ar, f.ma) for series, f in zip(x, found, strict=True)]
            methods[name] = fits, float(np.mean([f.seconds for f in found]))
    rows = []
    for which, origins in origins_of(homes).items():
        errors = {name: squared_errors(homes, fits, origins) for name, (fits, _) in methods.items()}
        for mode, (s, scale) in product(OURS, enumerate(SCALES)):
            case = f"{mode}, squared error in {scale}: {homes.name}, {which}"
            for other in (name for name in (*methods, *missing) if name != mode):
                if other in missing:
                    rows.append((case, methods[mode][1], other, np.nan, np.nan, missing[other]))
                    continue
                over, quality = accuracy_quality(errors[mode][s], errors[other][s])
                rows.append((case, methods[mode][1], other, methods[other][1], 1 / over, quality))
    return rows


def accuracy_quality(ours: np.ndarray, other: np.ndarray) -> tuple[float, str]:
    """Return our squared error over the other's and how sure that is, as text."""
    over, error, n = ratio(ours, other)
    both = np.isfinite(ours) & np.isfinite(other)
    own, theirs = ours[both], other[both]
    # Some homes are vacant in the training days; what a method makes of one of them can outweigh all the others.
    without = [ratio(np.delete(own, i), np.delete(theirs, i))[0] for i in range(n)] if n > 2 else [np.nan]
    return over, (
        f"ours over theirs {over:.4f}, standard error {error:.4f} paired over {n} homes; without any one home from "
        f"{min(without):.4f} to {max(without):.4f}; geometric mean of the homes' ratios "
        f"{np.exp(np.mean(np.log(own / theirs))):.4f}; ours lower for {np.mean(own < theirs):.0%}; mean squared "
        f"error {own.mean():.5g} against {theirs.mean():.5g}"
    )


def show(name: str, rows: list[tuple]) -> None:
    """Print and write one table."""
    for row in rows:
        print(row, flush=True)
    write(name, rows)


def main() -> None:
    """Run all cases and write both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--homes", type=int, default=40, help="how many homes all packages fit")
    parser.add_argument("--many", type=int, default=MANY, help="how many drawn series to fit in one go")
    parser.add_argument("--export", type=Path, help="export of real homes")
    parser.add_argument("--config", type=Path, help="its configuration")
    options = parser.parse_args()
    export, config = (options.export, options.config) if options.export else (SWISS, SWISS_CONFIG)
    homes = real_homes(export, config) if export.exists() else simulated_homes(SIMULATED, SEED)
    homes = homes.only(slice(options.homes))
    x = homes.training - np.nanmean(homes.training, axis=1, keepdims=True)
    where = f"{homes.name}, {len(x)} series x {x.shape[1]}"
    ours, taken, others = fit_all(x)
    load = os.getloadavg()[1]
    rows = likelihood_rows(where, x, ours, taken, others)
    show("arma_forecast", forecast_rows(homes, ours, taken, others))
    rows += many_rows(homes.name, ours["likelihood, default starts"], x.shape[1], options.many)
    show("arma", [(*row[:-1], f"{row[-1]}; load of the machine {load:.1f}") for row in rows])


if __name__ == "__main__":
    begin = time.perf_counter()
    main()
    print(f"{time.perf_counter() - begin:.0f} s in all")
