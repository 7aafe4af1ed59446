"""Is the study's forecast worth having? Beside the paper's season and every other forecaster, on the same homes.

``python benchmarks/forecasters.py [EXPORT CONFIG]`` forecasts 400 simulated homes of a seed no study uses and the
homes of a real export (by default the Swiss and the Australian ones, where they are) from a study's 24 origins. There
is a row per case, rival and scale in results/benchmarks/forecasters.parquet: seconds of ours and of the rival,
``ratio`` theirs over ours, and as quality our error over theirs with its standard error paired over homes, the share
of homes we win, how often our calibrated intervals cover, and what both are worth by their means and distributions.
The season's constants were settled on 150 of the Swiss homes, what gradient boosting is made of on 100 of them; the
others are a case apart, and nothing was settled on the Australian ones.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from arma_parts.series import ROOT, SWISS, SWISS_CONFIG, Homes, configuration, real_homes, simulated_homes
from table import write

from meterdp.errors import NotInstalled
from meterdp.evaluation.forecast_errors import SCALES, household_means, plain_errors
from meterdp.evaluation.forecasters import mean_measures
from meterdp.forecasting.forecasters import FORECASTERS, Forecast, Task
from meterdp.forecasting.rolling import Rolled, roll
from meterdp.forecasting.select import choose_households
from meterdp.forecasting.settings import studied
from meterdp.forecasting.study import rolling_of, window_fits
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.seasonal import Season, seasonal_part
from meterdp_papers.ramakrishna.households import FORECAST

SETTLED_ON = 150  # homes the constants of the season were settled on
SIMULATED, SEED, THREADS = 400, 1, 2
AUSTRALIAN = ROOT.parent / "shared/data/au_nsw_30min/readings.parquet"
AUSTRALIAN_CONFIG = Path(__file__).with_name("arma_parts") / "au-nsw-30min.yaml"
PAPER = "season and fit of the paper"


def cases() -> Iterator[tuple[str, Homes]]:
    """Yield homes to forecast, with a name."""
    yield "simulated homes", simulated_homes(SIMULATED, SEED)
    if len(sys.argv) > 2:
        homes = real_homes(*map(Path, sys.argv[1:3]))
        yield homes.name, homes
        return
    if SWISS.exists():
        homes = real_homes(SWISS, SWISS_CONFIG)
        tuned = np.isin(homes.household, choose_households(homes.household, SETTLED_ON))
        yield f"{homes.name}, {SETTLED_ON} the season was settled on", homes.only(tuned)
        yield f"{homes.name}, the others", homes.only(~tuned)
    if AUSTRALIAN.exists():
        yield "Australian homes", real_homes(AUSTRALIAN, AUSTRALIAN_CONFIG)


def rolled(load: LogLoad, settings: dict) -> Rolled:
    """Forecast as a study with these settings does, intervals included."""
    rolling = rolling_of(load.calendar, settings, settings["interval_levels"])
    return roll(load, window_fits(load, settings, THREADS), rolling)


def worth(measures: dict) -> str:
    """Say what means and distribution are worth."""
    total = measures["sum_kwh"]
    words = f"root mean squared error of means {measures['rmse_mean_kwh']:.4f} kWh, sum over homes " + ", ".join(
        f"{measures[name] / total:+.1%} {what}"
        for name, what in (
            ("sum_of_medians_bias_kwh", "by medians"),
            ("sum_bias_kwh", "by means"),
            ("sum_rmse_kwh", "error"),
        )
    )
    if "crps_kwh" in measures:
        covered = (f"{measures[f'covered_{level}_share']:.1%} of {level} %" for level in (50, 90))
        words += f", CRPS {measures['crps_kwh']:.4f} kWh, distribution covers {', '.join(covered)}"
    return words


def rows_of(name: str, homes: Homes, config: dict) -> Iterator[dict]:
    """Yield the rows of one case."""
    settings = studied(config["forecast"])
    # Homes come with the paper's season.
    paper = LogLoad(homes.household, homes.log_kwh, homes.seasonal_log_kwh, homes.calendar)
    season = Season.from_config(
        config["profiles"], homes.train, settings["horizon_steps"], homes.calendar.interval_minutes
    )
    load = replace(paper, seasonal_log_kwh=seasonal_part(homes.log_kwh, homes.calendar, season))
    begin = time.perf_counter()
    ours = rolled(load, settings)
    ours_s, own = time.perf_counter() - begin, ours.forecasts
    seen = np.isfinite(own.actual_log_kwh)
    covered = []
    for i, level in enumerate(settings["interval_levels"]):
        lower, upper = np.moveaxis(ours.interval_log_kwh[:, :, i], 2, 0)
        inside = (own.actual_log_kwh >= lower) & (own.actual_log_kwh <= upper)
        covered.append(f"{household_means(inside, seen).mean():.1%} of {level:.0%}")
    covers = ", ".join(covered)
    task = Task(load, rolling_of(load.calendar, settings), settings, THREADS, homes.scale)
    mine = Forecast(own.forecast_log_kwh, std_log_kwh=own.forecast_std_log_kwh)
    for rival in (PAPER, *FORECASTERS):
        if rival == settings["method"]:
            continue
        begin, label = time.perf_counter(), rival
        try:
            if rival == PAPER:
                made = rolled(paper, {**settings, **FORECAST}).forecasts
                theirs = Forecast(made.forecast_log_kwh, std_log_kwh=made.forecast_std_log_kwh)
            else:
                theirs, label = FORECASTERS[rival]().forecast(task), FORECASTERS[rival].label
        except NotInstalled as error:
            yield {"case": name, "ours_s": ours_s, "other": label, "quality": f"not run: {error}"}
            continue
        other_s = time.perf_counter() - begin
        cells = np.isfinite(own.actual_log_kwh) & np.isfinite(theirs.median_log_kwh)
        medians = (f.median_log_kwh for f in (mine, theirs))
        pairs = zip(*(plain_errors(f, own.actual_log_kwh, homes.scale) for f in medians), strict=True)
        sums = "; ".join(
            f"{who} {worth(mean_measures(f, own.actual_log_kwh, cells, homes.scale))}"
            for who, f in (("ours", mine), ("theirs", theirs))
        )
        for (a, b), scale in zip(pairs, SCALES, strict=True):
            field = "squared" if scale == "log_kwh" else "absolute"
            a, b = (household_means(getattr(e, field), cells) for e in (a, b))
            ratio = a.mean() / b.mean()
            error = np.std(a - ratio * b, ddof=1) / np.sqrt(a.size) / b.mean()
            yield {
                "case": f"{name}, {field} error in {scale.replace('_', ' ')}",
                "ours_s": ours_s,
                "other": label,
                "other_s": other_s,
                "ratio": other_s / ours_s,
                "quality": f"our error over theirs {ratio:.3f} ± {error:.3f} ({a.mean():.4f} over {b.mean():.4f}), "
                f"median {np.median(a / b):.3f}, better in {np.mean(a < b):.0%} of {a.size} homes; our intervals "
                f"cover {covers}; {sums}",
            }


def main() -> None:
    """Run all cases and write the table."""
    config, rows = configuration(), []
    for name, homes in cases():
        for row in rows_of(name, homes, config):
            rows.append({**row, "load": os.getloadavg()[0]})
            print(*(rows[-1][key] for key in ("case", "other", "quality")), sep="; ", flush=True)
    write("forecasters", rows)


if __name__ == "__main__":
    main()
