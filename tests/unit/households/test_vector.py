"""One household's vector: right, bounded, and a function of its own rows alone."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from meterdp.households.columns import PROFILE_NAMES, SEASON_NAMES
from meterdp.households.marginal import from_signed_log, signed_log
from meterdp.households.vector import VectorSettings, household_vectors
from tests.unit.households.homes import EIGHT_WEEKS, SANTIAGO, YEAR, seasonal, simulated

SETTINGS = VectorSettings(YEAR)


def entry(vectors, name, settings=SETTINGS):
    return vectors[:, settings.names.index(name)]


@pytest.fixture(scope="module")
def homes():
    values = seasonal(5)
    values[1, 1000:1300] = np.nan
    values[2, ::7] = 0.0
    values[3, np.random.default_rng(1).random(YEAR.slot_count) < 0.3] = np.nan
    return values


@pytest.fixture(scope="module")
def vectors(homes):
    return household_vectors(homes, SETTINGS)


def test_every_entry_has_a_name_a_unit_and_bounds_around_its_typical_value():
    assert len(set(SETTINGS.names)) == len(SETTINGS.entries) <= 60
    assert all(entry.unit and entry.low <= entry.typical <= entry.high for entry in SETTINGS.entries)
    net = replace(SETTINGS, feed_in=True)
    means = {entry.name: entry.meaning for entry in (*SETTINGS.entries, *net.entries)}
    assert (
        means["off"] != means["off_day_cos_1"] != means["day_cos_1"]
        and means["year_cos_2"] != means["year_cos_1_day_cos_2"]
    )
    assert means["net_share"] and means["highest"].startswith("logarithm of the largest reading")


def test_mean_quantiles_and_zeros_are_those_of_the_readings_that_are_there(homes, vectors):
    for kwh, vector in zip(homes, vectors, strict=True):
        known = kwh[np.isfinite(kwh)]
        parts = {name: part[0] for name, part in SETTINGS.parts(vector[None]).items()}
        assert np.exp(parts["log_mean_kw"]) == pytest.approx(known.mean())
        assert parts["quantiles"][6] == pytest.approx(signed_log(np.quantile(known, 0.8) / known.mean()), abs=1e-3)
        assert from_signed_log(parts["quantiles"][-1]) == pytest.approx(known.max() / known.mean(), rel=1e-9)
        assert parts["zero_share"] == pytest.approx((known == 0).mean())


def test_homes_that_use_a_twentieth_differ_in_their_mean_alone(homes, vectors):
    """With public bounds in proportion; with the usual ones they would all use the least that counts."""
    small = replace(SETTINGS, mean_kw=tuple(bound / 20 for bound in SETTINGS.mean_kw))
    found = household_vectors(homes / 20, small)
    assert found[:, 0] == pytest.approx(vectors[:, 0] - np.log(20), abs=1e-9)
    assert np.allclose(found[:, 1:], vectors[:, 1:], atol=1e-9)
    assert np.allclose(small.in_half_widths(found), SETTINGS.in_half_widths(vectors), atol=1e-9)
    assert (household_vectors(homes / 200, SETTINGS)[:, 0] == np.log(SETTINGS.mean_kw[0])).any()


def test_coefficients_are_those_of_least_squares(homes, vectors):
    """Oracle: numpy's lstsq on rows with a reading while somebody is at home, with the penalty as further rows."""
    columns = SETTINGS.columns
    for i in (0, 1, 3):
        known = np.isfinite(SETTINGS.at_home(homes[i])[0])
        ratio = homes[i][known] / np.nanmean(homes[i])
        profile = columns.profile[known]
        profile = profile - profile.mean(axis=0)
        penalty = np.sqrt(0.001 * YEAR.slot_count) * np.eye(profile.shape[1])
        wanted = np.linalg.lstsq(
            np.vstack([profile, penalty]), np.concatenate([ratio - ratio.mean(), np.zeros(len(penalty))]), rcond=None
        )[0]
        found = SETTINGS.parts(vectors[i : i + 1])["coefficients"][0, : len(PROFILE_NAMES)]
        assert found == pytest.approx(wanted, abs=1e-9)


def test_a_season_is_found_in_the_month_it_is_in():
    north = household_vectors(seasonal(2), SETTINGS)
    south = household_vectors(seasonal(2, amplitude=-0.4), SETTINGS)
    assert entry(north, "year_cos_1") == pytest.approx(0.4, abs=0.04)
    assert entry(south, "year_cos_1") == pytest.approx(-0.4, abs=0.04)


def test_autocorrelations_are_those_of_numpy(homes, vectors):
    x = homes[0] - homes[0].mean()
    wanted = [np.mean(x[:-lag] * x[lag:]) / x.var() for lag in (1, 2, 24, 168)]
    assert SETTINGS.autocorrelations(vectors)[0] == pytest.approx(wanted)


def test_expected_load_is_what_the_daily_covariances_are_about(homes, vectors):
    """Oracle: daily means by reshaping, of a home without missing readings; the fit may differ by its constant."""
    residual = homes[0] / homes[0].mean() - SETTINGS.expected_ratio(vectors[:1])[0]
    days = (residual - residual.mean()).reshape(365, 24).mean(axis=1)
    variance = np.var(homes[0] / homes[0].mean())
    assert entry(vectors, "daily_variance")[0] == pytest.approx(days.var() / variance, rel=0.01)
    assert entry(vectors, "daily_covariance_1")[0] == pytest.approx(
        np.mean(days[1:] * days[:-1]) / variance, abs=0.002
    )


def test_the_bits_depend_on_nothing_but_the_household_s_rows(homes, vectors):
    for i, row in enumerate(homes):
        assert np.array_equal(household_vectors(row[None], SETTINGS)[0], vectors[i])
    rewritten = homes.copy()
    rewritten[1] = 1e6
    rewritten[2] = np.nan
    again = household_vectors(rewritten[::-1], SETTINGS)[::-1]
    assert np.array_equal(again[[0, 3, 4]], vectors[[0, 3, 4]])
    # The memory layout is no row of anybody's either.
    assert np.array_equal(household_vectors(np.asfortranarray(homes), SETTINGS), vectors)


HOSTILE = {
    "nothing": np.nan,
    "infinite": np.inf,
    "zero": 0.0,
    "constant": 1.0,
    "negative": -5.0,
    "huge": 1e300,
    "tiny": 1e-300,
}


@pytest.mark.parametrize("feed_in", [False, True])
@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_whatever_the_readings_are_the_vector_is_finite_and_in_the_box(value, feed_in):
    settings = replace(SETTINGS, feed_in=feed_in)
    rows = np.full((3, YEAR.slot_count), value)
    rows[1, ::3] = 1.0
    rows[2, 5000] = 1e9
    vectors = household_vectors(rows, settings)
    assert np.isfinite(vectors).all()
    assert (vectors >= settings.bounds[0]).all() and (vectors <= settings.bounds[1]).all()


def test_less_than_a_week_of_readings_gives_the_typical_vector(homes):
    rows = np.full((2, YEAR.slot_count), np.nan)
    rows[0, : 7 * 24 - 1] = homes[0, : 7 * 24 - 1]
    rows[1, : 7 * 24] = homes[0, : 7 * 24]
    vectors = household_vectors(rows, SETTINGS)
    assert np.array_equal(vectors[0], SETTINGS.typical)
    assert not np.array_equal(vectors[1], SETTINGS.typical)


def test_few_weeks_in_winter_claim_little_of_a_season(homes):
    rows = np.full((1, YEAR.slot_count), np.nan)
    rows[0, : 56 * 24] = homes[0, : 56 * 24]
    season = SETTINGS.parts(household_vectors(rows, SETTINGS))["coefficients"][0, len(PROFILE_NAMES) :]
    assert len(season) == len(SEASON_NAMES)
    assert np.abs(season).max() < 0.3


def test_a_period_of_weeks_has_no_seasons():
    settings = VectorSettings(EIGHT_WEEKS)
    vectors = household_vectors(simulated(2, EIGHT_WEEKS), settings)
    assert vectors.shape == (2, len(SETTINGS.entries) - len(SEASON_NAMES))
    assert not set(SEASON_NAMES) & set(settings.names)


def test_habits_follow_the_local_clock_across_its_changes():
    """An hour of cooking at 19:00 local time all year; on the clock of the other half-year it would be 20:00."""
    settings = VectorSettings(SANTIAGO)
    kwh = np.where(SANTIAGO.minute_of_day // 60 == 19, 3.0, 0.2)[None]
    expected = settings.expected_ratio(household_vectors(kwh, settings))[0]
    for month in (1, 7):
        here = np.array([day.month == month for day in SANTIAGO.days])[settings.columns.day]
        hours = np.array([expected[here & (SANTIAGO.minute_of_day // 60 == h)].mean() for h in range(24)])
        assert np.argmax(hours) == 19


def test_a_day_off_counts_as_a_sunday():
    holidays = tuple(date(2025, month, 12) for month in range(1, 13))
    columns = VectorSettings(YEAR, holidays).columns
    is_off = dict(zip(YEAR.days, columns.is_off, strict=True))
    assert all(is_off[day] for day in holidays)
    assert is_off[date(2025, 1, 4)] and is_off[date(2025, 1, 5)] and not is_off[date(2025, 1, 6)]


def test_net_load_keeps_its_sign():
    settings = replace(SETTINGS, feed_in=True)
    sun = 3 * np.maximum(np.sin(2 * np.pi * (np.arange(YEAR.slot_count) % 24 - 6) / 24), 0)
    vectors = household_vectors(simulated(2) - sun, settings)
    kwh = simulated(2) - sun
    assert entry(vectors, "net_share", settings) == pytest.approx(kwh.mean(axis=1) / np.abs(kwh).mean(axis=1))
    assert (from_signed_log(entry(vectors, "lowest", settings)) < -1).all()
    assert np.array_equal(household_vectors(-np.abs(kwh), SETTINGS), household_vectors(0 * kwh, SETTINGS))
