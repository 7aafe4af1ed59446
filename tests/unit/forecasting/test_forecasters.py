"""Other forecasters: what each forecasts, that none looks ahead, and which look at other homes."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import numpy as np
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.evaluation.forecasters import comparison_rows, naive_error_kwh
from meterdp.forecasting.forecasters import FORECASTERS, OWN, POOLED, WEIGHTS, ExponentialSmoothing, Task
from meterdp.forecasting.rolling import roll
from meterdp.forecasting.study import rolling_of, window_fits
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar
from meterdp.profiles.seasonal import Season, seasonal_part
from tests.unit.forecasting.processes import settings

SETTINGS = settings(long_ar_order=6, refit_days=5, calibration_days=7, origins=9)
CALENDAR = Calendar(datetime(2025, 10, 12, 22, tzinfo=UTC), 24 * 30, 60, "Europe/Zurich")  # clocks change on day 14
SCALE = LogScale(1e-4, 50.0)  # of which no reading here is cut


def made(log_kwh):
    season = seasonal_part(log_kwh, CALENDAR, Season("rolling", CALENDAR.window(14), 4))
    return LogLoad(np.arange(len(log_kwh), dtype=np.int32), log_kwh, season, CALENDAR)


@pytest.fixture(scope="module")
def task():
    generator = np.random.default_rng(3)
    noise = generator.standard_normal((5, CALENDAR.slot_count))
    noise[:, 1:] += 0.6 * noise[:, :-1]
    log_kwh = -2 + np.sin(CALENDAR.minute_of_day / 1440 * 2 * np.pi) + 0.4 * noise
    log_kwh[1, 300:330] = np.nan
    return Task(made(log_kwh), rolling_of(CALENDAR, SETTINGS), SETTINGS, scale=SCALE)


def everything(task, name):
    """All that a forecaster gives, one behind the other: (H, n, h, 1 to 3)."""
    made = FORECASTERS[name]().forecast(task)
    return np.stack([part for part in vars(made).values() if part is not None], axis=-1)


@pytest.fixture(scope="module")
def unchanged(task):
    """What each forecaster gives for the task as it is."""
    return cache(lambda name: everything(task, name))


@pytest.fixture
def few_trees(monkeypatch):
    """Twenty see every feature that looks a slot ahead that a hundred see: tried with each of the 35 in turn."""
    monkeypatch.setattr("meterdp.forecasting.forecasters.TREES", 20)


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize("name", FORECASTERS)
def test_no_forecaster_knows_a_reading_at_or_after_its_origin(task, unchanged, name):
    before = unchanged(name)
    assert before.shape[:3] == (5, 9, 4) and np.isfinite(before).all()
    place = 6
    changed = task.load.log_kwh.copy()
    changed[:, task.rolling.origins[place] :] += 9.0
    after = everything(replace(task, load=made(changed)), name)
    assert np.array_equal(before[:, : place + 1], after[:, : place + 1])
    assert not np.array_equal(before[:, place + 1 :], after[:, place + 1 :])


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize("name", FORECASTERS)
def test_what_a_forecaster_looks_at_is_what_it_says(task, unchanged, name):
    before = unchanged(name)
    changed = task.load.log_kwh.copy()
    changed[1:] = changed[1:, ::-1] * 2.0
    changed[3] = np.nan
    after = everything(replace(task, load=made(changed)), name)
    same = np.array_equal(before[0], after[0])
    assert FORECASTERS[name].looks_at == (OWN if same else POOLED)


def test_a_short_window_leaves_gradient_boosting_the_season(task):
    short = {**SETTINGS, "train_days": 7, "refit_days": None}
    rolling = rolling_of(CALENDAR, short)
    found = FORECASTERS["gradient_boosting"]().forecast(replace(task, rolling=rolling, settings=short))
    season = task.load.seasonal_log_kwh[:, rolling.slots]
    assert found.median_log_kwh == pytest.approx(season) and found.mean_kwh == pytest.approx(np.exp(season))


def test_gradient_boosting_finds_median_and_mean_of_what_follows_from_the_past():
    """A skewed load that hangs on the reading before; oracle: its known distribution.

    With x the log load an hour ago and e ~ N(0, 0.6^2), the next is -2 + 0.8 (x + 2) + e: median the same without e,
    mean exp(median + 0.18) in kWh.
    """
    generator = np.random.default_rng(4)
    log_kwh = np.full((60, CALENDAR.slot_count), -2.0)
    for slot in range(1, CALENDAR.slot_count):
        log_kwh[:, slot] = -2 + 0.8 * (log_kwh[:, slot - 1] + 2) + 0.6 * generator.standard_normal(60)
    settings = {**SETTINGS, "horizon_steps": 1}
    task = Task(made(log_kwh), rolling_of(CALENDAR, settings), settings, scale=SCALE)
    found = FORECASTERS["gradient_boosting"]().forecast(task)
    median = -2 + 0.8 * (log_kwh[:, task.rolling.origins - 1] + 2)
    assert np.corrcoef(found.median_log_kwh[..., 0].ravel(), median.ravel())[0, 1] > 0.95
    assert found.means(SCALE).sum() / np.exp(median + 0.18).sum() == pytest.approx(1, abs=0.05)
    assert np.exp(found.median_log_kwh).sum() / np.exp(median).sum() == pytest.approx(1, abs=0.05)


def test_a_mean_of_seven_days_is_one():
    """Oracle: local days on end by the calendar of pandas."""
    import pandas as pd

    log_kwh = np.random.default_rng(1).normal(size=(2, CALENDAR.slot_count))
    task = Task(made(log_kwh), rolling_of(CALENDAR, SETTINGS), SETTINGS)
    local = pd.DatetimeIndex(CALENDAR.start_utc).tz_localize("UTC").tz_convert("Europe/Zurich").tz_localize(None)
    values = pd.Series(log_kwh[1], index=local)
    values = values[~values.index.duplicated()]
    for name, to, back in (("rolling_mean", lambda v: v, lambda v: v), ("rolling_mean_kwh", np.exp, np.log)):
        found = FORECASTERS[name]().forecast(task).median_log_kwh[1]
        for place, slots in enumerate(task.rolling.slots):
            for step, slot in enumerate(slots):
                days = [to(values[local[slot] - pd.Timedelta(days=k)]) for k in range(1, 8)]
                assert found[place, step] == pytest.approx(back(np.mean(days)), abs=1e-12)


def test_exponential_smoothing_takes_the_weight_the_past_liked_best():
    """A load that jumps once a week is followed fast, one that only scatters slowly; oracle: the recursion itself."""
    generator = np.random.default_rng(2)
    days = np.arange(CALENDAR.slot_count) // 24
    jumping = np.where(days % 14 < 7, 3.0, -3.0) + 0.01 * generator.standard_normal(days.size)
    scattered = generator.standard_normal(days.size)
    utc = replace(CALENDAR, time_zone="UTC", start=datetime(2025, 10, 13, tzinfo=UTC))
    load = LogLoad(np.arange(2), np.stack([jumping, scattered]), np.zeros((2, days.size)), utc)
    task = Task(load, rolling_of(utc, SETTINGS), SETTINGS)
    found = ExponentialSmoothing().forecast(task).median_log_kwh

    def recursion(x, weight):
        weights = weight * (1 - weight) ** np.arange(28)
        ahead = np.full(x.size, np.nan)
        for slot in range(24, x.size):
            past = x[slot - 24 :: -24][:28] if slot >= 24 else x[:0]
            ahead[slot] = weights[: past.size] @ past / weights[: past.size].sum()
        return ahead

    for row, x in enumerate((jumping, scattered)):
        ahead = {w: recursion(x, w) for w in WEIGHTS}
        window = task.rolling.windows[-1]
        best = min(WEIGHTS, key=lambda w: np.nansum((x - ahead[w])[window.slots] ** 2))
        assert best in ((0.4, 0.6) if row == 0 else (0.05, 0.1))
        slots = task.rolling.slots[window.origins]
        assert np.allclose(found[row, window.origins], ahead[best][slots])


def test_the_comparison_is_paired_over_households(task):
    """Oracle: loops over households."""
    own = roll(task.load, window_fits(task.load, SETTINGS), task.rolling).forecasts
    rows = {(r["forecaster"], r["scale"]): r for r in comparison_rows(own, task, ["rolling_mean", "arma", "season"])}
    assert rows["arma", "kwh"]["mae_ratio"] == 1 and rows["arma", "kwh"]["mae_ratio_se"] == 0
    theirs = FORECASTERS["rolling_mean"]().forecast(task).median_log_kwh
    a, b, c = ([], [], [])
    for h in range(5):
        seen = np.isfinite(own.actual_log_kwh[h])
        truth = np.exp(own.actual_log_kwh[h][seen])
        a.append(np.abs(np.exp(theirs[h][seen]) - truth).mean())
        b.append(np.abs(np.exp(own.forecast_log_kwh[h][seen]) - truth).mean())
        c.append(((theirs[h] - own.actual_log_kwh[h])[seen] ** 2).mean())
    a, b = np.array(a), np.array(b)
    row, log = rows["rolling_mean", "kwh"], rows["rolling_mean", "log_kwh"]
    ratio = a.mean() / b.mean()
    assert row["mae"] == pytest.approx(a.mean()) and row["mae_ratio"] == pytest.approx(ratio)
    assert row["mae_ratio_se"] == pytest.approx(np.std(a - ratio * b, ddof=1) / np.sqrt(5) / b.mean())
    assert row["mae_won_share"] == np.mean(a < b) and row["mae_ratio_median"] == pytest.approx(np.median(a / b))
    assert log["mse"] == pytest.approx(np.mean(c)) and log["mase"] is None
    window = CALENDAR.window(14)
    energy, yesterday = np.exp(task.load.log_kwh), CALENDAR.same_time_before(1)
    gaps = [
        abs(energy[0, t] - energy[0, yesterday[t]]) for t in range(window.start, window.stop) if yesterday[t] >= 0
    ]
    assert naive_error_kwh(task)[0] == pytest.approx(np.mean(gaps))
    assert row["mase"] == pytest.approx(np.mean(a / naive_error_kwh(task)))


def test_means_sums_and_distributions_are_judged_by_their_definitions(task):
    """Oracle: loops over households, origins and steps, and draws of the distribution (seeded, 1 %)."""
    own = roll(task.load, window_fits(task.load, SETTINGS), rolling_of(CALENDAR, SETTINGS, (0.5, 0.9))).forecasts
    rows = comparison_rows(own, task, ["rolling_mean", "arma"])
    assert all(r["sum_kwh"] is None and r["crps_kwh"] is None for r in rows if r["scale"] == "log_kwh")
    mine, theirs = (r for r in rows if r["scale"] == "kwh")
    assert theirs["crps_kwh"] is None and theirs["sum_bias_kwh"] == theirs["sum_of_medians_bias_kwh"]
    seen, generator = np.isfinite(own.actual_log_kwh), np.random.default_rng(0)
    truth, f, s = np.exp(own.actual_log_kwh), own.forecast_log_kwh, own.forecast_std_log_kwh
    squares, scores, sums, medians = [], [], [], []
    for h in range(5):
        drawn = np.exp(f[h][seen[h]] + s[h][seen[h]] * generator.standard_normal((40_000, seen[h].sum())))
        squares.append(np.mean((np.exp(f + s**2 / 2)[h][seen[h]] - truth[h][seen[h]]) ** 2))
        halves = np.abs(drawn[:20_000] - drawn[20_000:]).mean(axis=0) / 2
        scores.append((np.abs(drawn - truth[h][seen[h]]).mean(axis=0) - halves).mean())
    for place in range(9):
        for step in range(4):
            at = seen[:, place, step]
            if at.any():
                total = truth[at, place, step].sum()
                sums.append((total, np.exp(f + s**2 / 2)[at, place, step].sum() - total))
                medians.append(np.exp(f)[at, place, step].sum() - total)
    total, gap = np.array(sums).T
    assert mine["rmse_mean_kwh"] == pytest.approx(np.sqrt(np.mean(squares)))
    assert mine["crps_kwh"] == pytest.approx(np.mean(scores), rel=0.01)
    assert mine["sum_kwh"] == pytest.approx(total.mean()) and mine["sum_bias_kwh"] == pytest.approx(gap.mean())
    assert mine["sum_rmse_kwh"] == pytest.approx(np.sqrt(np.mean(gap**2)))
    assert mine["sum_of_medians_bias_kwh"] == pytest.approx(np.mean(medians))
    for level, reach in ((50, 0.6744898), (90, 1.6448536)):
        inside = [(np.abs(own.actual_log_kwh - f)[h] <= reach * s[h])[seen[h]].mean() for h in range(5)]
        assert mine[f"covered_{level}_share"] == pytest.approx(np.mean(inside))
