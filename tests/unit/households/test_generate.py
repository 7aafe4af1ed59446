"""Readings drawn from vectors: what they keep, what they depend on, and the integrals behind them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from meterdp.households.columns import Columns
from meterdp.households.common import CommonSeries, block_deviations, common_series
from meterdp.households.components import COUNT, Components, Lags
from meterdp.households.correlations import lags_of
from meterdp.households.generate import HouseholdGenerator
from meterdp.households.latent import MEANS, VALUES, Covariances, Readings, find_readings
from meterdp.households.marginal import CELL_PROBABILITIES, SCORES
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.profiles.grid import Calendar
from tests.unit.households.homes import EIGHT_WEEKS, NEXT_YEAR, YEAR, seasonal

SETTINGS = VectorSettings(YEAR)


@pytest.fixture(scope="module")
def homes():
    return seasonal(12)


@pytest.fixture(scope="module")
def vectors(homes):
    return household_vectors(homes, SETTINGS)


@pytest.fixture(scope="module")
def drawn(vectors):
    return HouseholdGenerator(SETTINGS).kwh(vectors, seed=1)


def test_energy_and_peak_are_the_household_s(homes, drawn):
    assert drawn.sum(axis=1) == pytest.approx(homes.sum(axis=1), rel=0.003)
    assert drawn.max(axis=1) == pytest.approx(homes.max(axis=1), rel=0.01)


def test_expected_load_is_the_household_s(homes, drawn):
    """The mean of twelve homes by hour, and by month: noise of both is below a few per cent."""
    by_hour = [x.mean(axis=0).reshape(365, 24).mean(axis=0) for x in (homes, drawn)]
    assert by_hour[1] == pytest.approx(by_hour[0], rel=0.06)
    month = np.array([day.month for day in YEAR.days])[SETTINGS.columns.day]
    by_month = [np.bincount(month, x.mean(axis=0))[1:] / np.bincount(month)[1:] for x in (homes, drawn)]
    assert by_month[1] == pytest.approx(by_month[0], rel=0.08)


def test_autocorrelations_are_the_household_s(vectors, drawn):
    again = household_vectors(drawn, SETTINGS)
    for of in (SETTINGS.autocorrelations, lambda x: SETTINGS.parts(x)["daily"]):
        error = np.abs(of(again) - of(vectors))
        assert error.mean() < 0.03 and error.max() < 0.12


def test_a_series_depends_on_seed_and_number_alone(vectors, drawn):
    generator = HouseholdGenerator(SETTINGS)
    assert np.allclose(generator.kwh(vectors[5:7], seed=1, first=5), drawn[5:7], rtol=1e-9)
    assert np.allclose(np.concatenate(list(generator.batches(vectors, seed=1))), drawn, rtol=1e-9)
    assert not np.allclose(generator.kwh(vectors[5:7], seed=2, first=5), drawn[5:7])


def test_another_year_has_the_same_energy_and_other_days(vectors, drawn):
    other = HouseholdGenerator(SETTINGS, calendar=NEXT_YEAR).kwh(vectors, seed=1)
    assert other.sum(axis=1) == pytest.approx(drawn.sum(axis=1), rel=0.01)
    weekend = Columns(NEXT_YEAR, ()).is_off
    assert np.abs(other - drawn).max() > 0.1
    share = other.reshape(12, 365, 24).mean(axis=2)[:, weekend].mean() / other.mean()
    real = drawn.reshape(12, 365, 24).mean(axis=2)[:, SETTINGS.columns.is_off].mean() / drawn.mean()
    assert share == pytest.approx(real, abs=0.02)


def test_eight_weeks_of_winter_use_what_the_season_says(vectors):
    weeks = HouseholdGenerator(SETTINGS, calendar=EIGHT_WEEKS).kwh(vectors, seed=1)
    winter = SETTINGS.expected_ratio(vectors, columns=Columns(EIGHT_WEEKS, ())).mean(axis=1)
    found = weeks.mean(axis=1) / np.exp(vectors[:, 0])
    assert winter.min() > 1.15
    assert found == pytest.approx(winter, rel=0.03)


def test_three_years_may_have_a_higher_peak(vectors, drawn):
    years = Calendar(YEAR.start, 3 * YEAR.slot_count, 60, "UTC")
    peak = HouseholdGenerator(SETTINGS, calendar=years).kwh(vectors[:4], seed=1).max(axis=1)
    assert (peak >= drawn[:4].max(axis=1)).all() and (peak < 1.5 * drawn[:4].max(axis=1)).all()


def test_another_interval_is_refused():
    with pytest.raises(ValueError, match="interval"):
        HouseholdGenerator(SETTINGS, calendar=replace(YEAR, interval_minutes=30))


@pytest.mark.parametrize("feed_in", [False, True])
def test_any_vector_in_the_box_gives_a_sane_year(feed_in):
    settings = VectorSettings(EIGHT_WEEKS, feed_in=feed_in)
    low, high = settings.bounds
    rng = np.random.default_rng(3)
    uniform = low + (high - low) * rng.random((20, len(low)))
    corners = np.where(rng.random((20, len(low))) < 0.5, low, high)
    kwh = HouseholdGenerator(settings).kwh(np.vstack([uniform, corners, settings.typical, low, high, 10 * high]), 1)
    size = settings.mean_kw[1]
    assert np.isfinite(kwh).all()
    assert kwh.min() >= (-100.1 * size if feed_in else 0.0) and kwh.max() <= 100.1 * size


def test_moderate_noise_moves_a_year_moderately(vectors, drawn):
    low, high = SETTINGS.bounds
    noisy = vectors + 0.02 * (high - low) * np.random.default_rng(4).standard_normal(vectors.shape)
    noisy[:, 0] = vectors[:, 0]
    kwh = HouseholdGenerator(SETTINGS).kwh(noisy, seed=1)
    assert kwh.sum(axis=1) == pytest.approx(drawn.sum(axis=1), rel=0.02)
    assert np.median(kwh.max(axis=1)) == pytest.approx(np.median(drawn.max(axis=1)), rel=0.25)


def test_net_load_comes_back_with_its_mean_and_its_extremes():
    settings = replace(SETTINGS, feed_in=True)
    sun = 3 * np.maximum(np.sin(2 * np.pi * (np.arange(YEAR.slot_count) % 24 - 6) / 24), 0)
    clouds = np.repeat(np.random.default_rng(2).random(365), 24)
    kwh = seasonal(4) - sun * clouds
    drawn = HouseholdGenerator(settings).kwh(household_vectors(kwh, settings), seed=1)
    size = np.abs(kwh).mean(axis=1)
    assert drawn.mean(axis=1) / size == pytest.approx(kwh.mean(axis=1) / size, abs=0.02)
    assert drawn.min(axis=1) == pytest.approx(kwh.min(axis=1), rel=0.05)
    assert drawn.max(axis=1) == pytest.approx(kwh.max(axis=1), rel=0.05)


def test_true_zeros_come_back(homes):
    kwh = homes[:3].copy()
    kwh[:, ::4] = 0.0
    drawn = HouseholdGenerator(SETTINGS).kwh(household_vectors(kwh, SETTINGS), seed=1)
    assert (drawn == 0).mean(axis=1) == pytest.approx(0.25, abs=0.02)


def test_homes_share_as_much_as_the_common_series_says(vectors):
    z = np.random.default_rng(5).standard_normal((365, 6))
    generator = HouseholdGenerator(SETTINGS, common=CommonSeries(z, 0.2))
    kwh = generator.kwh(np.repeat(vectors, 3, axis=0), seed=1)
    common = CommonSeries(z, 0.2).over(SETTINGS.columns)
    deviation = kwh / np.exp(np.repeat(vectors[:, :1], 3, axis=0)) - SETTINGS.expected_ratio(vectors).repeat(
        3, axis=0
    )
    correlation = np.array([np.corrcoef(row, common)[0, 1] for row in deviation])
    assert correlation == pytest.approx(np.sqrt(0.2), abs=0.1)


def test_the_common_series_is_found_again(vectors):
    z = np.random.default_rng(6).standard_normal((365, 1))
    many = np.repeat(vectors, 6, axis=0)
    kwh = HouseholdGenerator(SETTINGS, common=CommonSeries(z, 0.1)).kwh(many, seed=1)
    again = household_vectors(kwh, SETTINGS)
    found = common_series(block_deviations(kwh, again, SETTINGS, blocks=1))
    assert np.corrcoef(found.z.ravel(), z.ravel())[0, 1] > 0.9
    assert found.share == pytest.approx(0.1, abs=0.05)
    apart = HouseholdGenerator(SETTINGS).kwh(many, seed=1)
    assert common_series(block_deviations(apart, household_vectors(apart, SETTINGS), SETTINGS)).share < 0.003


def test_every_block_of_a_day_changes_as_much_as_its_own_readings_vary(homes):
    """Drawn homes have the deviations that were measured, also where most is used and varies in the evening."""
    hour = np.arange(homes.shape[1]) % 24
    evening = homes * np.where(hour >= 16, 3.0, np.where(hour < 7, 0.3, 1.0))
    vectors = np.repeat(household_vectors(evening, SETTINGS), 8, axis=0)
    rng, z = np.random.default_rng(8), np.zeros((365, 3))
    for day in range(1, 365):
        z[day] = 0.8 * z[day - 1] + 0.5 * rng.standard_normal() + 0.4 * rng.standard_normal(3)
    z = (z - z.mean()) / z.std()
    kwh = HouseholdGenerator(SETTINGS, common=CommonSeries(z, 0.15)).kwh(vectors, seed=3)
    found = block_deviations(kwh, vectors, SETTINGS).mean(axis=0)
    slopes = [np.polyfit(np.sqrt(0.15) * z[:, block], found[:, block], 1)[0] for block in range(3)]
    assert slopes == pytest.approx([1.0, 1.0, 1.0], abs=0.25)


def test_homes_whose_days_are_alike_follow_the_series_more(vectors):
    z = np.random.default_rng(9).standard_normal((365, 1))
    steady, other = SETTINGS.parts(vectors.copy()), SETTINGS.parts(vectors.copy())
    steady["daily"][:, :2], other["daily"][:, :2] = (0.2, 0.16), (0.2, 0.01)
    both = np.vstack([np.hstack(list(parts.values())) for parts in (steady, other)])
    common = CommonSeries(z, 0.04).among(both, SETTINGS)
    assert common.correlations(both, SETTINGS) == pytest.approx(np.repeat([0.32, 0.08], 12))
    kwh = HouseholdGenerator(SETTINGS, common=common).kwh(both, seed=1)
    found = block_deviations(kwh, both, SETTINGS, blocks=1)[:, :, 0] @ z[:, 0] / 365
    assert found[:12].mean() > 2.5 * found[12:].mean() > 0


def test_quantile_functions_have_the_mean_and_the_largest_reading(vectors):
    table = SETTINGS.quantile_functions(vectors)
    assert table @ CELL_PROBABILITIES == pytest.approx(1.0, abs=1e-6)
    assert (np.diff(table, axis=1) >= 0).all()
    swapped = vectors.copy()
    SETTINGS.parts(swapped)["quantiles"][:] = SETTINGS.parts(vectors)["quantiles"][:, ::-1]
    assert (np.diff(SETTINGS.quantile_functions(swapped), axis=1) >= 0).all()


@pytest.mark.parametrize("calendar", [YEAR, NEXT_YEAR])
def test_no_reading_is_above_the_public_bound_and_the_energy_stays(vectors, calendar):
    """Oracle: the same homes without a bound; those below it hardly change."""
    noisy = vectors.copy()
    noisy[:6, SETTINGS.names.index("highest")] += 1.5
    held = replace(SETTINGS, reading_kw=(0.0, 5.0))
    free, kwh = (HouseholdGenerator(s, calendar).kwh(noisy, seed=4) for s in (SETTINGS, held))
    over = free.max(axis=1) > 5
    assert over[:6].all() and not over.all() and kwh.min() >= 0 and kwh.max() <= 5 * (1 + 1e-9)
    assert np.sort(kwh[~over]) == pytest.approx(np.sort(free[~over]), rel=0.02)
    assert kwh.sum(axis=1) == pytest.approx(free.sum(axis=1), rel=0.02)


def test_net_load_is_held_to_both_bounds():
    settings = VectorSettings(EIGHT_WEEKS, feed_in=True, reading_kw=(-1.0, 2.0))
    rng = np.random.default_rng(3)
    low, high = settings.bounds
    kwh = HouseholdGenerator(settings).kwh(low + (high - low) * rng.random((12, len(low))), seed=1)
    assert kwh.min() == pytest.approx(-1) and kwh.max() == pytest.approx(2)


STD = 0.6


@pytest.fixture(scope="module")
def lognormal():
    """Readings exp(STD y) of a home whose latent mean is zero all the time."""
    reading = np.exp(STD * VALUES)[None]
    distribution = (np.abs(MEANS) < 1e-9).astype(float)[None]
    expected = np.exp(STD * MEANS + STD**2 / 2)[None]
    return Readings(reading, expected, np.zeros(1), distribution, VALUES[None])


def test_covariances_are_those_of_a_lognormal_series(lognormal):
    """Oracle: exp(s^2) (exp(s^2 rho) - 1)."""
    table = Covariances.of(lognormal)
    rho = np.array([0.05, 0.3, 0.6, 0.88, 1.0])
    wanted = np.exp(STD**2) * np.expm1(STD**2 * rho)
    assert table.correlations(0, wanted) == pytest.approx(rho, abs=0.01)


@pytest.mark.parametrize("known", [0.0, 0.2, 0.6])
def test_latent_means_and_variances_are_those_of_a_lognormal_series(lognormal, known):
    """Oracle: exp(s a + s^2 (1 - known) / 2) is expected at the latent mean a, with the usual variance."""
    at = np.linspace(-2, 2, 9)
    expected = np.exp(STD * at + STD**2 * (1 - known) / 2)
    assert lognormal.latent_means(expected, 0, known) == pytest.approx(at, abs=0.01)
    left = np.expm1(STD**2) * np.exp(2 * STD * at + STD**2)
    assert lognormal.variances(at, 0) == pytest.approx(left, rel=0.01)


def test_the_latent_means_give_the_expected_load_and_the_distribution(vectors):
    """Oracle: a million draws of a + e through g."""
    quantiles = SETTINGS.quantile_functions(vectors)
    expected = SETTINGS.expected_ratio(vectors)
    readings = find_readings(quantiles[:2], expected[:2])
    e = np.random.default_rng(7).standard_normal((120, YEAR.slot_count))
    for i in range(2):
        drawn = np.interp(readings.latent_means(expected[i], i) + e, VALUES, readings.reading[i])
        busy, quiet = expected[i] > 1.5, expected[i] < 0.8
        assert drawn[:, busy].mean() == pytest.approx(expected[i][busy].mean(), rel=0.02)
        assert drawn[:, quiet].mean() == pytest.approx(expected[i][quiet].mean(), rel=0.02)
        levels = ndtr(SCORES[[160, 240, 320]])
        assert np.quantile(drawn, levels) == pytest.approx(quantiles[i][[160, 240, 320]], rel=0.02)


def test_components_have_the_correlations_that_weights_are_found_from():
    """Oracle: products of 40 draws of a year."""
    components = Components(SETTINGS.columns)
    drawn = np.array([components.room() for _ in range(40)])
    for seed, out in enumerate(drawn):
        components.draw(np.random.default_rng(seed), out)
    assert (drawn**2).mean(axis=(0, 2)) == pytest.approx(1.0, abs=0.03)
    for row, lag in enumerate(lags_of(24), start=1):
        found = (drawn[..., lag:] * drawn[..., :-lag]).mean(axis=(0, 2))
        assert found == pytest.approx(components.correlations[row], abs=0.07)
    assert components.correlations.shape == (len(Lags(24).of(lambda lag: 1.0 * (lag >= 0))), COUNT)


def test_weights_that_can_be_met_are_found():
    components = Components(SETTINGS.columns)
    weights = np.array([0.1, 0.1, 0.0, 0.05, 0.05, 0.1, 0.1, 0.2, 0.05, 0.2, 0.05, 0.0, 0.0])
    wanted = (Components.rows(components.correlations, 0.8) @ weights)[1:]
    found = components.weights(wanted, 0.8, np.zeros(11), 0.0)
    assert found.sum() == pytest.approx(1.0) and (found >= 0).all()
    assert (Components.rows(components.correlations, 0.8) @ found)[1:] == pytest.approx(wanted, abs=0.02)
