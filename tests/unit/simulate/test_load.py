"""The load model: its noise has the stated distribution, and its households look like the types they are."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import toeplitz
from sklearn.cluster import KMeans
from statsmodels.tsa.arima_process import ArmaProcess

from meterdp.core.noise import keyed_generator
from meterdp.simulate.fleet import Fleet, Period
from meterdp.simulate.load import LoadModel, autoregressive_noise, switched_energy
from meterdp.simulate.parameters import Appliance

MONDAY = date(2025, 11, 3)
# Mean energy a day, kWh, by type: what such customers use, not what the model happens to give.
PLAUSIBLE_KWH_PER_DAY = {
    "gas_heated": (5, 20),
    "all_electric": (25, 60),
    "solar": (5, 25),
    "small_commercial": (30, 120),
    "agricultural": (80, 400),
    "large_commercial": (200, 900),
}


@pytest.fixture(scope="module")
def full_run(parameters):
    """Type index (N,) and energy (N, 2, 24) kWh per hour of a full run on a Monday and a Tuesday."""
    fleet = Fleet(parameters.household_types, parameters.households, 12, 20251102)
    period = Period(MONDAY, 2, parameters.time_zone, parameters.interval_minutes)
    model = LoadModel(parameters, period, 20251102)
    energy = np.array([model.energy(fleet.kind(i), i) for i in range(fleet.count)])
    return fleet.type_index, energy.reshape(fleet.count, 2, 24, -1).sum(axis=3)


@pytest.mark.parametrize(("decay", "cycle"), [(20.0, None), (6.0, 12.0), (3.0, 4.5)])
def test_noise_has_the_autocorrelation_of_its_arma_process(decay, cycle):
    """Oracle: statsmodels' ArmaProcess. Seeded; the tolerance is eight standard errors of white noise."""
    rng = keyed_generator(1, "noise", str(cycle))
    draws = np.array([autoregressive_noise(rng, 200, decay, cycle) for _ in range(2000)])
    modulus = np.exp(-1 / decay)
    phi = [1, -modulus] if cycle is None else [1, -2 * modulus * np.cos(2 * np.pi / cycle), modulus**2]
    expected = ArmaProcess(phi, [1]).acf(10)
    measured = [(draws[:, 100] * draws[:, 100 + lag]).mean() for lag in range(10)]
    assert np.allclose(measured, expected, atol=8 * np.sqrt(2 / 2000))


def test_noise_is_stationary_from_its_first_value():
    rng = keyed_generator(1, "start")
    draws = np.array([autoregressive_noise(rng, 2, 40.0, None) for _ in range(4000)])
    assert np.allclose(draws.var(axis=0), 1, atol=8 * np.sqrt(2 / 4000))


def test_switched_energy_is_power_times_duration():
    """Closed form: uses of fixed power and duration, far from the ends of the period."""
    period = Period(MONDAY, 400, "UTC", 15)
    heater = Appliance("heater", 1.0, 1.0, (2.0, 2.0), (0.7, 0.7), 12.1, 1.0)
    energy = switched_energy(keyed_generator(1, "heater"), (heater,), period)
    uses = energy.sum() / (2.0 * 0.7)
    assert uses == pytest.approx(round(uses), abs=1e-9)
    assert abs(uses - 400) < 8 * np.sqrt(400)
    by_slot = energy.reshape(400, 96).sum(axis=0)
    assert by_slot[4 * 8 : 4 * 17].sum() > 0.99 * by_slot.sum()


def test_an_appliance_nobody_owns_or_uses_needs_no_energy():
    period = Period(MONDAY, 2, "UTC", 15)
    for owned, uses in ((0.0, 5.0), (1.0, 0.0)):
        idle = Appliance("idle", owned, uses, (2.0, 2.0), (0.5, 1.0), 12.0, 1.0)
        assert not switched_energy(keyed_generator(1), (idle,), period).any()


def test_day_effects_change_at_the_hour_the_parameters_name(parameters):
    period = Period(MONDAY, 2, parameters.time_zone, 15)
    effect_day = LoadModel(parameters, period, 1)._effect_day
    changes = np.flatnonzero(np.diff(effect_day)) + 1
    assert [period.stamps[i][-5:] for i in changes] == ["04:00", "04:00"]


def test_levels_are_plausible_for_each_type(parameters, full_run):
    type_index, hourly = full_run
    for t, kind in enumerate(parameters.household_types):
        low, high = PLAUSIBLE_KWH_PER_DAY[kind.name]
        mean = hourly[type_index == t].sum(axis=2).mean()
        assert low < mean < high, kind.name
    assert hourly.min() > 0
    assert hourly.max() < 80


def test_shapes_are_those_of_the_types(full_run):
    """Homes peak in the evening, shops by day, solar homes buy little at noon, pumps rest at the peak tariff."""
    type_index, hourly = full_run
    gas, electric, solar, shop, pump, large = (hourly[type_index == t].mean(axis=(0, 1)) for t in range(6))
    assert 18 <= gas.argmax() <= 21 and 18 <= electric.argmax() <= 21 and 18 <= solar.argmax() <= 21
    assert 9 <= shop.argmax() <= 16 and 9 <= large.argmax() <= 17
    assert solar[11:14].max() < 0.1 * solar.max()
    assert pump[17:20].max() < 0.05 * pump[10:15].min()


def test_log_profiles_are_nearly_gaussian_within_each_type(full_run):
    """Seeded. Marginal skewness and excess kurtosis of each hour of the half-day, for types with enough homes."""
    type_index, hourly = full_run
    for t in (0, 1, 2, 3):
        log_kwh = np.log(hourly[type_index == t, 0, 12:])
        assert np.abs(stats.skew(log_kwh)).max() < 0.8
        assert np.abs(stats.kurtosis(log_kwh)).max() < 1.5


def nearest_toeplitz(covariance):
    return toeplitz([np.diag(covariance, k).mean() for k in range(len(covariance))])


@pytest.fixture(scope="module")
def half_days(parameters):
    """Log energy (types, 600, 12) of as many households of every type, noon to midnight of a Monday."""
    model = LoadModel(parameters, Period(MONDAY, 1, parameters.time_zone, 15), 1)
    energy = np.array([[model.energy(kind, i) for i in range(600)] for kind in parameters.household_types])
    return np.log(energy[:, :, 48:].reshape(len(energy), 600, 12, 4).sum(axis=3))


def test_covariances_are_not_toeplitz(half_days):
    """A release must not owe its utility to the simulator: no type has the structure that it may assume.

    Oracle: the distance to the nearest Toeplitz matrix exceeds that of each of 100 Gaussian samples of the same size
    whose true covariance is that Toeplitz matrix. Seeded.
    """
    rng = keyed_generator(1, "toeplitz")
    for log_kwh in half_days:
        covariance = np.cov(log_kwh.T)
        distribution = nearest_toeplitz(covariance)
        samples = rng.multivariate_normal(np.zeros(12), distribution, size=(100, len(log_kwh)), method="eigh")
        by_chance = [np.linalg.norm(c - nearest_toeplitz(c)) for c in (np.cov(x.T) for x in samples)]
        assert np.linalg.norm(covariance - distribution) > max(by_chance)


def test_correlations_differ_by_type(half_days):
    correlations = [np.corrcoef(log_kwh.T) for log_kwh in half_days]
    for a in range(len(correlations)):
        for b in range(a):
            assert np.abs(correlations[a] - correlations[b]).max() > 0.2


def test_k_means_finds_classes_like_table_i(full_run):
    """Liu et al., section V-C: K = 6 on 12 hourly log readings; every class has more than d = 12 members."""
    type_index, hourly = full_run
    log_kwh = np.log(np.maximum(hourly[:, 0, 12:], 0.01))
    labels = KMeans(6, n_init=10, random_state=0).fit_predict(log_kwh)
    sizes = np.sort(np.bincount(labels))[::-1]
    assert np.allclose(sizes, [687, 428, 147, 102, 31, 14], atol=35)
    assert sizes[-1] >= 13
    agreeing = sum(np.bincount(type_index[labels == c]).max() for c in range(6))
    assert agreeing > 0.94 * len(labels)


def test_arma_forecasts_beat_naive_ones(parameters):
    """An autoregression of order 24 on the remainder, one hour to three ahead, against last value and last week."""
    period = Period(date(2025, 10, 6), 28, "UTC", 15)
    model = LoadModel(parameters, period, 5)
    train, errors = 96 * 21, []
    for household in range(8):
        log_kwh = np.log(model.energy(parameters.household_types[household % 2], household))
        weekly = log_kwh[:train].reshape(3, 672).mean(axis=0)
        daily = np.array([weekly[:480].reshape(5, 96).mean(0)] * 5 + [weekly[480:].reshape(2, 96).mean(0)] * 2)
        remainder = log_kwh - np.tile(daily.reshape(-1), 4)
        lagged = np.lib.stride_tricks.sliding_window_view(remainder[:train], 25)
        phi = np.linalg.lstsq(lagged[:, :24], lagged[:, 24], rcond=None)[0]
        for origin in range(train, train + 600, 24):
            path = list(remainder[origin - 24 : origin])
            for _ in range(12):
                path.append(np.dot(phi, path[-24:]))
            truth = log_kwh[origin : origin + 12]
            forecast = np.array(path[24:]) + (log_kwh - remainder)[origin : origin + 12]
            naive = log_kwh[origin - 1], log_kwh[origin - 672 : origin - 660]
            errors.append([np.mean((truth - f) ** 2) for f in (forecast, *naive)])
    arma, last_value, last_week = np.mean(errors, axis=0)
    assert arma < 0.85 * last_value and arma < 0.85 * last_week
    assert arma > 0.1 * min(last_value, last_week)  # real load is not that predictable either
