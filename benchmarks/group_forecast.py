"""What the group forecast is worth beside public guesses and a household's own past.

``python benchmarks/group_forecast.py [SWISS_PARQUET [AUSTRALIAN_PARQUET]]``: simulated utilities (the default and
those of benchmarks/utilities.py), Swiss and Australian homes as their publishers give them. Forecasts are made from
four weeks and judged on the fifth. One row per data set, N and epsilon in results/benchmarks/group_forecast.parquet,
with means over draws of households and noise:

* energy: bias and root mean square error of the sum of files, over what the households used in the four weeks, with
  what was predicted from public numbers; of a public level of 0.5 kWh an hour;
* covered: share of hours of the fifth week within intervals of 50 and 90 %, of files and of the scaled shape;
* absolute error of an hour, kWh: own level x released shape, x public shape, own level flat, own mean of the hour,
  the file's expected energy and median, public level; of the study's own ARMA forecast, half a day ahead from two
  origins a day, on all homes of a data set or 300 of them.

Constants were chosen on the default utility, the other three and the Swiss homes; only the Australian ones judge.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
from table import ROOT, write
from utilities import LATER, NO_SEASONS, SHOPS, flat

from meterdp.core.config import complete, load_schema
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.core.weekend import SATURDAY_SUNDAY
from meterdp.evaluation.group_errors import Judge
from meterdp.forecasting.arma import ArmaSettings, fit_households
from meterdp.forecasting.rolling import Rolling, cap_slots_of, roll, training_windows
from meterdp.forecasting.settings import studied
from meterdp.groupforecast.mechanism import GroupForecast
from meterdp.groupforecast.plan import HOURS, GroupPublic, cells_of, prior_shape, worth_of
from meterdp.groupforecast.records import household_records
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar
from meterdp.profiles.seasonal import Season, seasonal_part
from meterdp.simulate.load import hourly_log_kwh
from meterdp.simulate.parameters import SimulationParameters

SIZES, EPSILONS, DELTA = (100, 300, 1000, 3000, 10_000), (0.5, 1.0, 4.0), 1e-5
DRAWS, WEEKS, LEVEL_KWH, HIGH_KWH = 10, 5, 0.5, 20.0
MONDAY = 20_395  # 2025-11-03, days since 1970
SEED = 77
ARMA_HOMES, ORIGIN_HOURS = 300, 12


def swiss(path: str) -> np.ndarray:
    """Return the last five weeks of hourly energies, (homes, hours)."""
    readings = pd.read_parquet(path)
    wide = readings.pivot_table(index="vid", columns=["week", "slot"], values="kwh").to_numpy()
    return wide.reshape(len(wide), -1, 4).sum(axis=2)[:, -WEEKS * 168 :]


def australian(path: str) -> np.ndarray:
    """Return twelve spells of five weeks as if each were a home, those that were read nearly through."""
    readings = pd.read_parquet(path)
    readings["hour"] = pd.to_datetime(readings["reading_datetime"]).dt.floor("h")
    hours = readings.groupby(["customer_id", "hour"], as_index=False)["general_supply_kwh"].agg(["sum", "count"])
    wide = hours[hours["count"] == 2].pivot_table(index="hour", columns="customer_id", values="sum")
    wide = wide.reindex(pd.date_range("2012-11-05", periods=12 * WEEKS * 168, freq="h"))
    spells = wide.to_numpy().T.reshape(wide.shape[1], 12, -1).transpose(1, 0, 2).reshape(-1, WEEKS * 168)
    return spells[np.isfinite(spells).mean(axis=1) > 0.9]


def data_sets(paths: list[str]) -> dict[str, np.ndarray]:
    parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
    utilities = {"default": NO_SEASONS.of(parameters), "later": LATER.of(parameters), "shops": SHOPS.of(parameters)}
    utilities["flat"] = flat(parameters)
    found = {}
    for name, utility in utilities.items():
        log = hourly_log_kwh(utility, SEED, max(SIZES), date(2025, 11, 3), 7 * WEEKS, (1e-4, HIGH_KWH))
        found[f"utility '{name}'"] = np.exp(log)
    for name, read, path in zip(("Swiss homes", "Australian homes"), (swiss, australian), paths, strict=False):
        found[name] = np.clip(read(path), 0, HIGH_KWH)
    return found


def own_arma_mae_kwh(kwh: np.ndarray) -> float:
    """Return the mean absolute error of an hour of the fifth week by what a study forecasts with."""
    config = complete({}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))
    settings, scale = studied(config["forecast"]), LogScale.of_interval(config["profiles"], 60)
    kwh = kwh[:ARMA_HOMES]
    calendar = Calendar(datetime(2025, 11, 3, tzinfo=UTC), kwh.shape[1], 60, "UTC")
    train = calendar.window(7 * (WEEKS - 1))
    log = scale.clipped_log(kwh)
    season = seasonal_part(log, calendar, Season.from_config(config["profiles"], train, ORIGIN_HOURS, 60))
    load = LogLoad(np.arange(len(kwh)), log, season, calendar)
    origins = np.arange(train.stop, calendar.slot_count, ORIGIN_HOURS)
    windows = training_windows(calendar, 7 * (WEEKS - 1), settings["refit_days"], origins)
    rolling = Rolling(windows, origins, ORIGIN_HOURS, cap_slots_of(settings, calendar), 0)
    fits = [
        fit_households(load.residual_log_kwh[:, window.slots], ArmaSettings.from_config(settings))
        for window in windows
    ]
    found = roll(load, fits, rolling).forecasts
    error = np.abs(scale.kwh(found.forecast_log_kwh) - kwh[:, train.stop :].reshape(found.actual_log_kwh.shape))
    return float(np.nanmean(np.nanmean(error, axis=(1, 2))))


def judged(kwh: np.ndarray, count: int, epsilon: float) -> tuple[float, str]:
    """Return seconds of a release and what it was worth."""
    cell, start = cells_of(MONDAY, 7 * WEEKS, SATURDAY_SUNDAY), (WEEKS - 1) * 7 * HOURS
    public = GroupPublic(epsilon, DELTA, count, LEVEL_KWH, HIGH_KWH, tuple(prior_shape().tolist()))
    mechanism, found, seconds = GroupForecast.calibrate(public), {}, []
    for draw in range(DRAWS):
        noise = StudyNoise(SEED, draw, count, epsilon)
        chosen = noise.uniform((len(kwh),)).argsort()[:count]
        before, after = kwh[chosen, :start], kwh[chosen, start:]
        records = household_records(before, cell[:start], public.cell_shape)
        usable = np.isfinite(records.x).all(axis=1)
        judge = Judge(records.x[usable], after[usable], cell[start:])
        begin = time.perf_counter()
        released = mechanism.release(records, noise)
        seconds.append(time.perf_counter() - begin)
        rows = [*judge.of_release(released, released.group[usable]), *judge.of_guesses(LEVEL_KWH, public.cell_shape)]
        for name, measures in rows:
            found.setdefault(name, []).append(measures)
    at = {name: pd.DataFrame(rows).mean() for name, rows in found.items()}
    group, scaled, worth = at["group"], at["scaled"], worth_of(public, mechanism.plan)
    return float(np.median(seconds)), (
        f"energy {group.energy_bias:+.1%}, rms {np.sqrt(group.energy_error):.1%} (predicted {worth.energy:.1%}; "
        f"public {np.sqrt(at['public_level'].energy_error):.0%}); covered: files {group.coverage_50:.0%} "
        f"{group.coverage_90:.0%}, scaled {scaled.coverage_50:.0%} {scaled.coverage_90:.0%}; error: scaled "
        f"{scaled.mae_kwh:.3f}, public shape {at['own_level_public_shape'].mae_kwh:.3f}, flat "
        f"{at['own_level'].mae_kwh:.3f}, own {at['own_mean'].mae_kwh:.3f}, file {group.mae_kwh:.3f}, its median "
        f"{group.mae_of_median_kwh:.3f}, public {at['public_level'].mae_kwh:.3f}"
    )


def main():
    rows = []
    for name, kwh in data_sets(sys.argv[1:]).items():
        arma = own_arma_mae_kwh(kwh)
        for count in (size for size in SIZES if size <= len(kwh)):
            for epsilon in EPSILONS:
                seconds, quality = judged(kwh, count, epsilon)
                quality += f", own ARMA {arma:.3f}"
                print(f"{name}, N = {count:,}, epsilon {epsilon:g}: {quality}", flush=True)
                rows.append((f"{name}, N = {count:,}, epsilon {epsilon:g}", seconds, None, quality))
    write("group_forecast", rows)


if __name__ == "__main__":
    main()
