"""Spells away: which days they are, how a drawn year has as many, and what is left to the rest of it."""

from itertools import groupby

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from meterdp.households.away import QUIET, at_home_and_away, days_away, draw_spells
from meterdp.households.generate import HouseholdGenerator
from meterdp.households.marginal import LARGEST, SCORES, means, quantile_functions
from meterdp.households.vector import VectorSettings, household_vectors
from tests.unit.households.homes import SANTIAGO, YEAR, seasonal, simulated

SETTINGS = VectorSettings(YEAR)


def entry(vectors: np.ndarray) -> np.ndarray:
    return SETTINGS.parts(vectors)["away"][:, 0]


def with_vacations(homes: np.ndarray, *spells: tuple[int, int]) -> np.ndarray:
    """Homes of which only a tenth of the usual load is left from one day to before another."""
    out = homes.reshape(len(homes), 365, 24).copy()
    for first, last in spells:
        out[:, first:last] *= 0.1
    return out.reshape(len(homes), -1)


def quiet_days(kwh: np.ndarray, day: np.ndarray) -> tuple[list[int], int]:
    """Oracle: days of spells, and days with half of their readings, by plain Python."""
    high = []
    for d in range(day[-1] + 1):
        of_day = [x for x in kwh[day == d] if np.isfinite(x)]
        high.append(np.quantile(of_day, 0.9) if 2 * len(of_day) >= (day == d).sum() else None)
    known = [x for x in high if x is not None]
    limit = QUIET * np.median(known)
    found, at = [], 0
    for quiet, run in groupby(high, key=lambda x: x is not None and x < limit):
        length = len(list(run))
        if quiet and length >= 2:
            found += range(at, at + length)
        at += length
    return found, len(known)


@pytest.mark.parametrize("calendar", [YEAR, SANTIAGO], ids=["UTC", "clock changes"])
def test_spells_are_runs_of_quiet_days(calendar):
    rng = np.random.default_rng(1)
    day = VectorSettings(calendar).columns.day
    for kwh in simulated(4, calendar) * np.exp(rng.normal(0, 0.9, size=(4, day[-1] + 1)))[:, day]:
        kwh[rng.random(len(kwh)) < 0.2] = np.nan
        kwh[np.isin(day, rng.integers(day[-1], size=40))] = np.nan
        kwh[np.isin(day, rng.integers(day[-1], size=40)) & (rng.random(len(kwh)) < 0.6)] = np.nan
        found, known = days_away(kwh, day, day[-1] + 1)
        wanted, wanted_known = quiet_days(kwh, day)
        assert np.flatnonzero(found).tolist() == wanted and known == wanted_known
        assert 0 < len(wanted) < 300


def test_a_home_without_a_whole_day_is_never_away():
    kwh = np.full(YEAR.slot_count, np.nan)
    found, known = days_away(kwh, SETTINGS.columns.day, 365)
    assert not found.any() and known == 0


def test_vacations_leave_the_expected_load_as_it_was():
    homes = seasonal(6)
    homes, away = np.tile(homes, (2, 1)), np.repeat([False, True], 6)
    homes[away] = with_vacations(homes[away], (30, 40), (200, 221))
    vectors = household_vectors(homes, SETTINGS)
    days = np.rint(365 * entry(vectors))
    assert np.abs(days[away] - 31).max() <= 2 and days[~away].max() <= 2
    # In multiples of a mean that vacations make smaller.
    ratio = np.exp(vectors[~away, :1] - vectors[away, :1])
    plain, rest = (SETTINGS.parts(vectors[rows])["coefficients"] for rows in (~away, away))
    assert np.abs(rest / ratio - plain).max() < 0.05


def test_net_load_has_no_entry_for_it():
    assert "days_away" not in VectorSettings(YEAR, feed_in=True).names


@pytest.mark.parametrize("away", [0, 2, 3, 20, 100, 364, 365])
def test_as_many_days_are_drawn_as_asked_for(away):
    rng = np.random.default_rng(away)
    for _ in range(50):
        spells = draw_spells(rng, away, 365)
        assert spells.sum() == away
        runs = [len(list(run)) for there, run in groupby(spells) if there]
        assert away < 4 or sum(length == 1 for length in runs) <= 1


def test_spells_are_as_likely_on_every_day():
    rng = np.random.default_rng(5)
    found = np.mean([draw_spells(rng, 30, 365) for _ in range(4000)], axis=0)
    inner = found[40:-40].reshape(-1, 57).mean(axis=1)
    assert inner == pytest.approx(np.full(5, 30 / 365), rel=0.1)


def test_what_is_split_is_the_mixture_of_both():
    """Oracle: shares below a reading of large samples of both parts."""
    levels = np.array([0.02, 0.1, 0.25, 0.45, 0.65, 0.8, 0.9, 0.95, 0.98, 0.995, 0.999])
    quantiles = -1.0 + 1.1 * ndtri(np.array([1e-4, *levels, 1 - 1e-4]))
    whole = quantile_functions(quantiles[None], np.zeros(1), np.ones(1), 8760, (0.0, LARGEST))
    at_home, away = at_home_and_away(whole, np.array([0.2]))
    assert 0.8 * means(at_home) + 0.2 * means(away) == pytest.approx(1, rel=0.005)
    assert np.interp(ndtri(0.9), SCORES, away[0]) < 0.3 * np.interp(ndtri(0.9), SCORES, whole[0])
    for reading in np.interp([-1.5, -0.5, 0.5, 1.5, 2.5], SCORES, whole[0]):
        below = [ndtr(np.interp(reading, of[0], SCORES)) for of in (whole, at_home, away)]
        assert 0.8 * below[1] + 0.2 * below[2] == pytest.approx(below[0], abs=0.005)


def test_nobody_away_changes_nothing():
    whole = quantile_functions(np.linspace(-3, 2, 13)[None], np.zeros(1), np.ones(1), 8760, (0.0, LARGEST))
    at_home, _ = at_home_and_away(whole, np.zeros(1))
    assert at_home == pytest.approx(whole, rel=1e-6)


def test_a_drawn_year_has_the_vacations_the_energy_and_the_peak():
    homes = with_vacations(seasonal(12), (100, 107), (200, 221))
    vectors = household_vectors(homes, SETTINGS)
    drawn = HouseholdGenerator(SETTINGS).kwh(vectors, seed=2)
    assert drawn.sum(axis=1) == pytest.approx(homes.sum(axis=1), rel=0.006)
    assert drawn.max(axis=1) == pytest.approx(homes.max(axis=1), rel=0.01)
    again = household_vectors(drawn, SETTINGS)
    assert entry(again).mean() == pytest.approx(28 / 365, rel=0.25)
    error = np.abs(SETTINGS.autocorrelations(again) - SETTINGS.autocorrelations(vectors))
    assert error.mean() < 0.03 and error.max() < 0.12
