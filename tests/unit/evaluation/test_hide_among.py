"""What hiding among k costs: against the full search, draws, closed forms and tables that are hard to serve."""

import numpy as np
import pyarrow as pa
import pytest

from meterdp.class_noise.designs.registry import DESIGNS, noise_design
from meterdp.class_noise.inverse import NEAR, Asker, budgets_near_limit
from meterdp.class_noise.neighbourhoods import balanced_groups
from meterdp.class_noise.query_models import ClassQueries, Noise
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow
from meterdp.evaluation import hide_among as judge
from meterdp.evaluation.hide_among import hide_among_rows, yardstick_rows
from meterdp.evaluation.tables import GROUP_MEAN, HIDE_AMONG, HIDE_AMONG_YARDSTICKS
from meterdp.forecasting.rolling import ForecastSet
from meterdp.privacy.gaussian import delta as gaussian_delta
from tests.unit.class_noise.examples import all_pairs

SCALE = LogScale(0.0025, 25.0)
DESIGNED = ("none", "white", "published", "joint")


def forecasts(households=20, entries=3, seed=0):
    level = np.random.default_rng(seed).normal(-1.5, 0.8, (households, 1))
    return level + 0.2 * np.random.default_rng(seed + 1).standard_normal((households, entries))


def rows_of(x, sizes, epsilon=1.0, delta=1e-5, designs=DESIGNED):
    table = pa.table({"mean_log_kwh": pa.array(x.tolist())})
    asked = {"sizes": sizes, "epsilon": epsilon, "delta": delta}
    found = hide_among_rows(table, x, asked, designs, SCALE)
    return {(row["size"], row["design"]): row for row in found}


def asker(design, x, convention="total", scale=SCALE):
    queries = ClassQueries(x, np.zeros((*x.shape, x.shape[1])), all_pairs(len(x)))
    return Asker(noise_design(design), queries, x, scale, convention)


@pytest.mark.parametrize("households", [2, 7, 30])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.1, 1e-9), (4.0, 1e-5), (1.0, 0.1)])
def test_near_the_limit_the_joint_design_is_answered_as_by_the_full_search(households, epsilon, delta):
    """Oracle: the search over the whole grid with its refinements; errors agree to 3 %, and delta is kept."""
    question = asker("joint", forecasts(households))
    found = question.smallest_error(epsilon, delta, budgets_near_limit(question.queries, "total", epsilon, delta))
    assert found.delta <= delta
    assert found.error_kwh == pytest.approx(question.smallest_error(epsilon, delta).error_kwh, rel=0.03)


@pytest.mark.parametrize("convention", ["total", "per_entry"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_below_the_budgets_that_are_tried_no_common_noise_is_enough(epsilon, convention):
    """Two labels: the best design is known, and at 0.9 of the least budget its delta is too large."""
    x = forecasts(2)
    queries = asker("joint", x).queries
    tried = budgets_near_limit(queries, convention, epsilon, 1e-5) * (3 if convention == "per_entry" else 1)
    distance, least = np.linalg.norm(x[0] - x[1]), 0.9 * tried[0]
    # A move of a towards the other leaves |d| - 2 a for noise of variance R - a^2; mu^2 is least 4 (|d|^2/4 - R)/R.
    mu = 2 * np.sqrt(max(distance**2 / 4 - least, 0) / least)
    assert gaussian_delta(mu, epsilon) > 1e-5
    assert np.all(np.diff(np.log(tried)) <= np.log(NEAR) + 1e-12) and tried[-1] >= distance**2 / 4


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [0.0, 1e-9, 1.0, 30.0])
def test_the_joint_design_serves_every_group(seed, scale):
    x = -1.5 + scale * np.random.default_rng(seed).standard_normal((9, 12))
    row = rows_of(x, [3], designs=("joint",))[3, "joint"]
    assert row["unserved_group_count"] == 0 and row["largest_delta"] <= 1e-5 and row["meaning"] == ""


def test_each_group_is_served_by_the_smallest_error_of_its_own():
    """Oracle: an asker per group, its groups from the same partition."""
    x = forecasts(11)
    row, label = rows_of(x, [3])[3, "white"], balanced_groups(x, 3)
    squared, reached = np.empty(x.shape), []
    for group in range(label.max() + 1):
        question = asker("white", x[label == group])
        answer = question.smallest_error(1.0, 1e-5)
        squared[label == group] = question.squared_error_kwh2(question.noise(answer.rho))
        reached.append(answer.delta)
    own = np.sqrt(squared.mean(axis=1))
    assert row["error_kwh_rms"] == pytest.approx(np.sqrt(squared.mean())) and row["largest_delta"] == max(reached)
    assert row["error_kwh_mean"] == pytest.approx(own.mean())
    assert [row[f"error_kwh_{q}"] for q in ("q25", "median", "q75")] == [np.sort(own)[i] for i in (2, 5, 8)]
    energy = np.exp(x)
    assert row["explained_share"] == pytest.approx(1 - squared.sum() / ((energy - energy.mean()) ** 2).sum())
    count = np.bincount(label)
    assert (row["group_count"], row["smallest_group"], row["largest_group"]) == (len(count), min(count), max(count))


def test_the_mean_of_the_group_is_for_everybody_and_needs_no_noise():
    """Closed form."""
    x = forecasts(8)
    row, label = rows_of(x, [4])[4, GROUP_MEAN], balanced_groups(x, 4)
    centre = np.stack([x[label == one].mean(axis=0) for one in label])
    off = np.abs(np.exp(centre) - np.exp(x))
    assert row["error_kwh_rms"] == pytest.approx(np.sqrt((off**2).mean())) and row["largest_delta"] == 0.0
    assert row["absolute_error_kwh_mean"] == pytest.approx(off.mean())


def test_hiding_among_more_costs_more_and_white_noise_most():
    found = rows_of(forecasts(24), [2, 6, 24])
    for design in (*DESIGNED[1:], GROUP_MEAN):
        errors = [found[size, design]["error_kwh_median"] for size in (2, 6, 24)]
        assert errors == sorted(errors)
    for size in (2, 6, 24):
        assert found[size, "white"]["error_kwh_rms"] > 5 * found[size, "joint"]["error_kwh_rms"]


def test_sizes_beyond_the_households_are_left_out_and_said():
    found = rows_of(forecasts(5), [2, 5, 6, 100])
    assert len(found) == 16 and {design for _, design in found} == {"white", "published", "joint", GROUP_MEAN}
    for (size, _), row in found.items():
        assert (row["group_count"] == 0) == (row["error_kwh_median"] is None) == (size > 5)
        assert row["meaning"] == ("" if size <= 5 else judge.TOO_LARGE.format(5))
    as_arrow(HIDE_AMONG, {name: [row[name] for row in found.values()] for name in HIDE_AMONG.schema.names})


def test_a_design_that_hides_nobody_is_counted_and_leaves_no_number(monkeypatch):
    def nothing(queries, budget):
        return Noise(np.zeros_like(queries.covariance))

    monkeypatch.setitem(DESIGNS, "nothing", type(DESIGNS["white"])(nothing))
    row = rows_of(forecasts(7), [3], designs=("nothing",))[3, "nothing"]
    assert row["unserved_group_count"] == row["group_count"] == 2 and row["meaning"] == judge.NOT_SERVED
    assert row["error_kwh_q25"] is None and row["explained_share"] is None and row["largest_delta"] == 1.0


def test_the_order_of_the_households_changes_no_number():
    x, order = forecasts(17), np.random.default_rng(9).permutation(17)
    shuffled = rows_of(x[order], [2, 5])
    for key, row in rows_of(x, [2, 5]).items():
        again = shuffled[key]
        assert row["group_count"] == again["group_count"]
        for name in ("error_kwh_median", "error_kwh_rms", "absolute_error_kwh_mean"):
            assert row[name] == pytest.approx(again[name], rel=1e-9)


def test_yardsticks_are_the_energy_and_the_error_of_the_forecast():
    generator = np.random.default_rng(3)
    actual, forecast = generator.normal(-1, 1, (2, 4, 5, 3))
    actual[1, 2, 1], actual[3] = np.nan, np.nan
    rows = yardstick_rows(ForecastSet(np.arange(4), forecast, actual), SCALE, 30)
    energy, error = (row for row in rows)
    own = [np.nanmean(np.exp(actual[h])) for h in range(3)]
    off = [np.sqrt(np.nanmean((np.exp(actual[h]) - np.exp(forecast[h])) ** 2)) for h in range(3)]
    assert energy["median_kwh"] == pytest.approx(np.median(own)) and energy["mean_kwh"] == pytest.approx(np.mean(own))
    assert error["median_kwh"] == pytest.approx(np.median(off)) and error["mean_kwh"] == pytest.approx(np.mean(off))
    assert {row["household_count"] for row in rows} == {3} and {row["interval_minutes"] for row in rows} == {30}
    as_arrow(HIDE_AMONG_YARDSTICKS, {n: [row[n] for row in rows] for n in HIDE_AMONG_YARDSTICKS.schema.names})


@pytest.mark.parametrize(
    ("scale", "energy"),
    [
        (SCALE, [[0.003, 0.4], [20.0, 0.0025]]),
        (LogScale(-0.02, 25.0, offset_kwh=0.03), [[-0.015, 0.4], [15.0, 0.0]]),
        (LogScale(-20.0, 25.0, scale_kwh=0.05), [[-3.0, 0.4], [15.0, 0.0]]),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_errors_in_kwh_are_those_of_many_draws_on_any_scale(scale, energy):
    """Oracle: 400,000 draws put back to kWh and clipped at both ends; within 6.5 standard errors, seeded."""
    x = scale.log(np.array(energy))
    question = asker("white", x, scale=scale)
    noise = Noise(np.tile(np.diag([0.3, 2.0]), (2, 1, 1)), shift=np.array([[0.2, -0.1], [0.4, 0.0]]))
    drawn = x + noise.shift + np.random.default_rng(0).standard_normal((400_000, 2, 2)) * np.sqrt([0.3, 2.0])
    c = scale.scale_kwh
    released = 2 * c * np.sinh(drawn - np.log(c)) if c else np.exp(drawn) - scale.offset_kwh
    off = np.clip(released, *scale.bounds_kwh) - energy
    for found, of in (
        (question.absolute_error_kwh(noise), np.abs(off)),
        (question.squared_error_kwh2(noise), off**2),
    ):
        assert np.all(np.abs(found - of.mean(axis=0)) <= 6.5 * of.std(axis=0) / np.sqrt(len(drawn)))
    assert np.allclose(question.absolute_error_kwh(Noise(np.zeros((2, 2, 2)))), 0, atol=1e-12)


def test_yardsticks_are_in_kwh_of_the_scale():
    scale = LogScale(-10.0, 10.0, scale_kwh=0.1)
    energy = np.array([[[-2.0, 1.0]], [[-0.5, 0.1]], [[3.0, 0.0]]])
    forecasts = ForecastSet(np.arange(3), *(scale.log(values) for values in (energy + 0.5, energy)))
    rows = {row["yardstick"]: row for row in yardstick_rows(forecasts, scale, 60)}
    assert rows["energy"]["median_kwh"] == pytest.approx(-0.2) and rows["energy"]["mean_kwh"] == pytest.approx(
        0.8 / 3
    )
    assert rows["forecast_error"]["median_kwh"] == pytest.approx(0.5)
