"""The group forecast: records, sensitivities, posterior means, what comes out."""

import json

import numpy as np
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.groupforecast.mechanism import (
    BINS,
    Distribution,
    ForecastRecords,
    between_variance,
    kronecker_posterior,
    level_vectors,
    levels_of,
)
from meterdp.groupforecast.plan import (
    CELL_SHARE,
    HOURS,
    LEVEL_EDGES,
    SHAPE_BOUND,
    SPREAD_EDGES,
    spread_prior,
    worth_of,
)
from meterdp.groupforecast.records import household_records
from meterdp.publish.forecast_files import Intervals
from meterdp.release.study_forecasts import group_manifest
from tests.unit.groupforecast.made_up import MISSING, calibrate, public, records_of, town

N = 400


class NoNoise:
    """A source that adds nothing."""

    grid = 0.0

    def add_gaussian(self, exact, std):
        return exact


@pytest.fixture(scope="module")
def many():
    return records_of(town(N, 28))


# -- records ---------------------------------------------------------------------------------------------------------


def test_records_are_those_of_a_loop():
    hours = town(6, 15, missing=(2,))
    hours.kwh[1, 5:9] = np.nan
    found = records_of(hours).x
    shape = public().cell_shape
    assert np.isnan(found[2]).all() and np.isfinite(np.delete(found, 2, axis=0)).all()
    for n in (0, 1, 5):
        row, seen = hours.kwh[n], np.isfinite(hours.kwh[n])
        mean = np.array([row[seen & (hours.cell == c)].mean() for c in range(48)])
        level = (5 * mean[:24].mean() + 2 * mean[24:].mean()) / 7
        assert found[n, 0] == pytest.approx(level) and found[n, 1:49] == pytest.approx(mean / level)
        for hour in range(HOURS):
            at = seen & (hours.cell % HOURS == hour)
            z = np.log(row[at] / level / shape[hours.cell[at]])
            expected = np.histogram(z, [-np.inf, *SPREAD_EDGES, np.inf])[0] / at.sum()
            assert found[n, 49 + hour * BINS : 49 + (hour + 1) * BINS] == pytest.approx(expected)


def test_a_record_is_of_ones_own_readings_only():
    hours = town(6, 14, missing=())
    other = hours.kwh.copy()
    other[1:] = np.random.default_rng(0).random(other[1:].shape)
    shape = public().cell_shape
    own = [household_records(kwh, hours.cell, shape).x[0] for kwh in (hours.kwh, other, hours.kwh[:1])]
    assert np.array_equal(own[0], own[1]) and np.array_equal(own[0], own[2])


@pytest.mark.parametrize("days", [1, 3, 28])
def test_strange_readings_give_finite_records_or_none(days):
    hours = town(8, days, missing=())
    hours.kwh[0] = 0.0
    hours.kwh[1] = -3.0  # feed-in counts as nothing
    hours.kwh[2, : len(hours.cell) // 2 + 1] = np.nan
    hours.kwh[3, hours.cell >= HOURS] = np.nan  # no weekend
    hours.kwh[4] = 1e9
    x = records_of(hours).x
    assert np.isnan(x[2]).all()
    assert np.isfinite(x[[0, 1, 3, 4]]).all() or days == 1
    assert x[0, 0] == x[1, 0] == 0 and x[0, 49:] == pytest.approx(np.tile(spread_prior()[0], HOURS))
    sums = x[np.isfinite(x[:, 0])][:, 49:].reshape(-1, HOURS, BINS).sum(axis=2)
    assert sums == pytest.approx(1)


# -- sensitivities ---------------------------------------------------------------------------------------------------


def wild(generator, count):
    """Records of all sizes: heavy tails, shares that are none, households without readings."""
    x = np.abs(generator.standard_cauchy((count, 49 + HOURS * BINS)))
    one = np.zeros((count, HOURS, BINS))
    one[np.arange(count)[:, None], np.arange(HOURS), generator.integers(0, BINS, (count, HOURS))] = 1
    x[:, 49:] = np.where(generator.random((count, 1)) < 0.7, one.reshape(count, -1), x[:, 49:] - 1)
    x[generator.random(count) < 0.1] = np.nan
    return x


@pytest.mark.parametrize("circuits", [0, 3])
@pytest.mark.parametrize("bound", [np.exp(0.5), 5.0, 50.0])
def test_replacing_a_household_moves_an_answer_by_no_more_than_declared(circuits, bound):
    """Over pairs of wild records; the pair that is built to be worst reaches it."""
    mechanism = calibrate(1.0, 300, circuits)
    x = wild(np.random.default_rng(1), 300)
    same = np.array(mechanism.public.circuit or np.zeros(300, int))
    own = same[:, None] == np.arange(circuits)

    def added(x):
        vectors = mechanism.profile_vectors(x, 0.7, bound)
        return np.column_stack([vectors, vectors[:, :1] * own])

    vectors = added(x)
    assert mechanism.profile_sum(x, 0.7, bound)[0] == pytest.approx(vectors.sum(axis=0), rel=1e-9, abs=1e-12)
    worst = 0.0
    for c in np.unique(same):
        at = vectors[same == c]
        worst = max(worst, np.sqrt(((at[:, None] - at) ** 2).sum(axis=2)).max())
    assert 0.7 < worst <= mechanism.plan.profile.sensitivity * (1 + 1e-9)
    opposite = np.zeros((300, x.shape[1]))
    opposite[:, 1:49] = mechanism.public.cell_shape
    opposite[:2, 0] = 0, 1e6
    opposite[2:4, 0] = 1e6
    opposite[2:4, 1:49] += np.array([[1e3], [-1e3]])
    opposite[[2, 3], 49:] = np.eye(BINS)[[0, 1]].repeat(HOURS, axis=0).reshape(2, -1)
    found = added(opposite)
    # Both at the bound of the level: shape and spread as far apart as they can be.
    counted = min(bound / SHAPE_BOUND, 1.0)
    spread_apart = (mechanism.plan.profile.sensitivity**2) * (0.35 * counted**2 + 0.25)
    part = slice(1, 49 + HOURS * BINS)
    assert ((found[2, part] - found[3, part]) ** 2).sum() == pytest.approx(spread_apart, rel=1e-9)
    levels = np.delete(found, np.arange(1, 49 + HOURS * BINS), axis=1)
    if not circuits:  # beside circuits two households are on two of them
        assert ((levels[0] - levels[1]) ** 2).sum() == pytest.approx(0.4, rel=1e-9)


def test_a_household_is_in_one_bin():
    x = wild(np.random.default_rng(2), 200)
    vectors = level_vectors(x, 0.5)
    assert (vectors.sum(axis=1) == 1).all() and set(np.unique(vectors)) == {0.0, 1.0}
    assert np.array_equal(vectors[:, -1] == 1, ~np.isfinite(x).all(axis=1))
    assert calibrate().plan.levels.sensitivity == pytest.approx(np.sqrt(2))
    level = np.exp([LEVEL_EDGES[0] - 1, LEVEL_EDGES[3] + 0.1, LEVEL_EDGES[-1] + 9]) / 2
    rows = np.zeros((3, x.shape[1]))
    rows[:, 0] = level
    assert level_vectors(rows, 0.5).argmax(axis=1).tolist() == [0, 4, len(LEVEL_EDGES)]


# -- estimates -------------------------------------------------------------------------------------------------------


def test_without_noise_files_say_what_households_use(many):
    """Energy of the week to 1 %, of every hour to 5 %, the shape to 0.05; half and nine tenths of hours inside."""
    released = calibrate(500.0, N).release(many, NoNoise())
    usable = np.isfinite(many.x[:, 0])
    level, ratio = many.x[usable, 0], many.x[usable, 1:49]
    mean = (level[:, None] * ratio).mean(axis=0)
    assert released.expected_kwh[0] @ CELL_SHARE == pytest.approx(level.mean(), rel=0.01)
    assert released.expected_kwh[0] == pytest.approx(mean, rel=0.08)
    assert released.expected_ratio @ CELL_SHARE == pytest.approx(1)
    hours = town(N, 28)
    kwh, cell = hours.kwh[usable], hours.cell
    for quantile, level_kwh in ((released.quantile_kwh[0][cell], 1.0), (released.quantile_ratio[cell], level)):
        at = np.multiply.outer(np.atleast_1d(level_kwh), quantile)
        for low, high, share in ((1, 3, 0.5), (0, 4, 0.9)):
            inside = ((kwh >= at[..., low]) & (kwh <= at[..., high])).mean()
            assert inside == pytest.approx(share, abs=0.05)
        assert np.mean(kwh <= at[..., 2]) == pytest.approx(0.5, abs=0.04)


def test_more_budget_gives_a_smaller_error(many):
    usable = np.isfinite(many.x[:, 0])
    level = many.x[usable, 0]
    truth = (level[:, None] * many.x[usable, 1:49]).mean(axis=0)
    errors = []
    for epsilon in (0.5, 2.0, 8.0, 100.0):
        mechanism, noise = calibrate(epsilon, N), StudyNoise(1, epsilon)
        released = [mechanism.release(many, noise).expected_kwh[0] for _ in range(40)]
        errors.append(np.mean((np.array(released) - truth) ** 2))
    assert errors == sorted(errors, reverse=True) and errors[-1] < 0.02 * errors[0]


def test_quantiles_ascend_and_everything_is_positive_whatever_the_noise():
    for epsilon, circuits in ((0.05, 0), (0.05, 3), (4.0, 3)):
        released = calibrate(epsilon, circuits=circuits).release(records_of(town(days=28)), StudyNoise(2, epsilon))
        for quantile in (released.quantile_kwh, released.quantile_ratio):
            assert (np.diff(quantile, axis=-1) > 0).all() and (quantile > 0).all()
        assert (released.expected_kwh > 0).all() and (released.expected_ratio > 0).all()


def test_circuits_keep_their_households_and_differ_where_they_differ(many):
    mechanism = calibrate(100.0, N, 4)
    x = many.x.copy()
    x[:, 0] *= np.array([0.5, 1.0, 1.0, 2.0])[np.arange(N) % 4]
    released = mechanism.release(ForecastRecords(x), StudyNoise(4))
    assert np.array_equal(released.group, np.arange(N) % 4)
    week = released.expected_kwh @ CELL_SHARE
    means = [np.nanmean(x[np.arange(N) % 4 == c, 0]) for c in range(4)]
    assert week == pytest.approx(means, rel=0.15)
    # Files still add up to all households.
    assert week[released.group].mean() == pytest.approx(np.nanmean(x[:, 0]), rel=0.03)
    noisy = calibrate(0.3, N, 4).release(ForecastRecords(x), StudyNoise(4)).expected_kwh @ CELL_SHARE
    assert np.ptp(np.log(noisy)) < 0.8, "at a small epsilon a circuit does not follow its noise"


def test_variance_between_circuits_is_the_posterior_mean():
    """Oracle: quadrature on a grid 40 times finer, written out again."""
    level, noise = np.array([0.3, -0.5, 0.1, 0.9]), np.array([0.2, 0.1, 0.4, 0.05])
    std = np.linspace(0, 1.2, 1921)
    density = np.exp(-std / 0.2) * np.prod(
        np.exp(-0.5 * level**2 / (std[:, None] ** 2 + noise)) / np.sqrt(std[:, None] ** 2 + noise), axis=1
    )
    assert between_variance(level, noise) == pytest.approx(density @ std**2 / density.sum(), rel=0.05)
    assert between_variance(np.zeros(3), np.full(3, 100.0)) < 0.1


def test_the_posterior_of_a_matrix_is_that_of_its_long_vector():
    """Oracle: the normal equations with the full covariance."""
    generator = np.random.default_rng(5)
    rows, columns = (m @ m.T for m in (generator.standard_normal((4, 4)), generator.standard_normal((3, 3))))
    seen = generator.standard_normal((4, 3))
    full = np.kron(rows, columns)
    expected = full @ np.linalg.solve(full + 0.7 * np.eye(12), seen.ravel())
    assert kronecker_posterior(seen, rows, columns, 0.7) == pytest.approx(expected.reshape(4, 3))


def test_distributions_add_up_like_draws():
    """Oracle: 2 x 10^6 draws; quantiles within the step of the grid and five standard errors."""
    generator = np.random.default_rng(6)
    bins = [generator.dirichlet(np.ones(len(edges) + 1)) for edges in (LEVEL_EDGES, SPREAD_EDGES)]
    parts = [
        Distribution.of_bins(edges, p, (edges[0] - 1, edges[-1] + 1))
        for edges, p in zip((LEVEL_EDGES, SPREAD_EDGES), bins, strict=True)
    ]
    for part, edges, p in zip(parts, (LEVEL_EDGES, SPREAD_EDGES), bins, strict=True):
        held = np.bincount(np.digitize(part.at, edges), weights=part.weight)
        assert held == pytest.approx(p)
    draws = sum(generator.choice(part.at, 2_000_000, p=part.weight / part.weight.sum()) for part in parts)
    shares = (0.05, 0.25, 0.5, 0.75, 0.95)
    twice = Distribution(parts[1].at, np.tile(parts[1].weight, (2, 1)))
    expected = np.tile(np.quantile(draws, shares), (2, 1))
    assert parts[0].plus(twice).quantiles(shares) == pytest.approx(expected, abs=0.05)


def test_levels_follow_the_bins_where_there_is_no_noise_and_the_prior_where_there_is():
    mechanism = calibrate(200.0, 2000)
    x = records_of(town(2000, 7)).x
    exact = level_vectors(x, 0.5).sum(axis=0)
    found = levels_of(exact, mechanism.public, mechanism.plan.levels)
    level = x[np.isfinite(x[:, 0]), 0]
    assert found.count == pytest.approx(len(level), rel=0.01)
    assert found.median_kwh == pytest.approx(np.median(level), rel=0.05)
    for bound in (np.inf, 3.0):
        clipped = np.minimum(level, bound * found.median_kwh).mean()
        assert found.bins @ found.expected_kwh(bound) == pytest.approx(clipped, rel=0.05)
    for bound in (1.0, 2.0, 4.0):
        excess = np.maximum(level / found.median_kwh - bound, 0).mean()
        assert found.excess(np.array([bound]))[0] == pytest.approx(excess, rel=0.15, abs=0.02)
    faint = calibrate(0.001, 2000)
    guess = levels_of(exact + 0 * exact, faint.public, faint.plan.levels)
    assert 0.1 < guess.median_kwh < 2.5 and guess.bins.sum() == pytest.approx(1)
    assert np.exp(found.distribution.at.max()) * 0.5 <= 20.0 * 1.03, "no level is beyond the public bound"


@pytest.mark.parametrize(("median", "spread"), [(0.3, 0.3), (0.6, 0.6), (1.0, 0.6), (1.6, 1.1)])
def test_the_energy_of_few_households_is_off_by_little_more_than_is_stated(median, spread):
    """70 households at epsilon 1.5, 100 draws each. What is right on average in kWh is up to 50 % too high."""
    generator = np.random.default_rng(8)
    mechanism = calibrate(1.5, 70)
    x = records_of(town(70, 7, missing=())).x
    error = []
    for draw in range(100):
        x[:, 0] = 0.5 * median * np.exp(spread * generator.standard_normal(70))
        released = mechanism.release(ForecastRecords(x), StudyNoise(8, draw))
        error.append(released.expected_kwh[0] @ CELL_SHARE / x[:, 0].mean() - 1)
    assert abs(np.mean(error)) < 0.2
    assert np.sqrt(np.mean(np.square(error))) < 1.4 * worth_of(mechanism.public, mechanism.plan).energy


def test_households_without_readings_hardly_matter(many):
    """They add nothing, and their number is found: the forecast is of those that were read."""
    x = many.x.copy()
    x[: N // 4] = np.nan
    released = calibrate(200.0, N).release(ForecastRecords(x), NoNoise())
    assert released.expected_kwh[0] @ CELL_SHARE == pytest.approx(np.nanmean(x[:, 0]), rel=0.02)
    assert np.isnan(records_of(town()).x[list(MISSING)]).all()


@pytest.mark.parametrize("value", [1e300, 0.0, np.nan])
@pytest.mark.parametrize("circuits", [0, 2])
def test_wild_records_keep_the_release_finite(value, circuits):
    mechanism = calibrate(circuits=circuits)
    x = np.full((50, 49 + HOURS * BINS), value)
    released = mechanism.release(ForecastRecords(x), StudyNoise(6))
    assert all(np.isfinite(v).all() for v in (released.expected_kwh, released.quantile_kwh, released.quantile_ratio))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_handful_of_households_is_served(count):
    released = calibrate(count=count).release(records_of(town(count, 7, missing=())), StudyNoise(7))
    assert np.isfinite(released.expected_kwh).all()


def test_another_number_of_households_is_refused(many):
    with pytest.raises(InputError, match="public number of households"):
        calibrate(1.0, N).release(ForecastRecords(many.x[1:]), StudyNoise(8))


def test_guarantee_and_manifest_say_the_same_and_no_count_of_households():
    mechanism = calibrate(2.0, 4321)
    stamps = np.datetime64("2025-11-02T08:00") + np.arange(48) * np.timedelta64(60, "m")
    manifest = group_manifest(mechanism, Intervals(stamps, 60, "Europe/Zurich", LogScale(0.01, 20.0)))
    stated = mechanism.guarantee
    assert (stated.adjacency, stated.family, stated.epsilon, stated.delta) == ("replace_one", "sound", 2.0, 1e-5)
    assert manifest["privacy"]["epsilon"] == 2.0 and manifest["privacy"]["adjacency"] == "replace_one"
    assert manifest["guarantee"].startswith("not for release") and "(2, 1e-05)" in manifest["guarantee"]
    assert "4321" not in json.dumps(manifest)
    assert any("class-based" in line for line in manifest["privacy"]["does_not_hide"])
    assert manifest["time"]["first_interval_start_local"] == "2025-11-02T09:00:00+01:00"
