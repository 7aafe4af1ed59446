"""Moments of energy whose log kWh are Gaussian, clipped to the public bounds, on every kind of scale."""

import mpmath as mp
import numpy as np
import pytest

from meterdp.core.log_scale import KINDS, LOG, OFFSET, SIGNED, LogScale
from meterdp.forecasting.energy import censored_absolute_error, censored_moment

SCALES = {
    LOG: LogScale(0.0025, 25.0),
    OFFSET: LogScale(-0.02, 25.0, offset_kwh=0.025),
    SIGNED: LogScale(-12.5, 25.0, scale_kwh=0.025),
}
# Log median and deviation: narrow, beyond either bound, on both sides of zero, noise that hides everything, none.
CELLS = (
    (-2.0, 0.2),
    (0.0, 1.0),
    (-9.0, 0.1),
    (5.0, 0.3),
    (-3.7, 0.05),
    (-1.0, 10.0),
    (3.0, 12.0),
    (-8.0, 2.0),
    (-20.0, 9.0),
    (1.0, 0.0),
    (-4.0, 0.0),
)
every_cell = pytest.mark.parametrize(("f", "s"), CELLS)
every_kind = pytest.mark.parametrize("kind", KINDS)


# Panels as wide as the deviation or less, on which all that is integrated is smooth.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def inverse(scale, z):
    """Oracle of the inverse, from the definition of each kind."""
    c = scale.scale_kwh
    return 2 * c * np.sinh(z - np.log(c)) if scale.kind == SIGNED else np.exp(z) - scale.offset_kwh


def forward(scale, x):
    """Oracle of the scale."""
    c = scale.scale_kwh
    return np.log(c) + np.arcsinh(x / (2 * c)) if scale.kind == SIGNED else np.log(x + scale.offset_kwh)


def expectation(scale, f, s, function, breaks=()):
    """E function(clip(x(Z))) for Z ~ N(f, s^2) by quadrature, and by mpmath's tails beyond the bounds."""
    a, b = scale.bounds_kwh
    if s == 0:
        return function(np.clip(inverse(scale, f), a, b))
    low, high = forward(scale, a), forward(scale, b)
    knots = np.concatenate([f + s * np.arange(-8.0, 9.0), np.linspace(low, high, 30), np.array(breaks)])
    knots = np.unique(knots.clip(low, high))
    half = np.diff(knots)[:, None] / 2
    z = knots[:-1, None] + half * (1 + NODES)
    density = np.exp(-(((z - f) / s) ** 2) / 2) / (s * np.sqrt(2 * np.pi))
    inside = (half * WEIGHTS * density * function(inverse(scale, z))).sum()
    return inside + function(a) * float(mp.ncdf((low - f) / s)) + function(b) * float(mp.ncdf((f - high) / s))


def test_the_quadrature_is_that_of_extended_precision():
    """Oracle: mpmath, with the definitions once more, for an error with a kink on both sides of zero."""
    scale, f, s, target = SCALES[SIGNED], -3.0, 1.5, 0.3
    a, b, c = (mp.mpf(value) for value in (*scale.bounds_kwh, scale.scale_kwh))
    low, kink, high = (mp.log(c) + mp.asinh(x / (2 * c)) for x in (a, mp.mpf(target), b))

    def weighted(z):
        return abs(2 * c * mp.sinh(z - mp.log(c)) - mp.mpf(target)) * mp.npdf(z, f, s)

    truth = mp.quad(weighted, sorted([low, kink, high, *mp.linspace(low, high, 30), *(f + k for k in range(-2, 3))]))
    truth += (target - a) * mp.ncdf((low - f) / s) + (b - target) * mp.ncdf((f - high) / s)
    found = expectation(scale, f, s, lambda x: np.abs(x - target), [forward(scale, target)])
    assert found == pytest.approx(float(truth), rel=1e-13)


@every_kind
@every_cell
@pytest.mark.parametrize("order", [1, 2])
def test_moments_are_those_of_quadrature(kind, f, s, order):
    scale = SCALES[kind]
    value = censored_moment(np.array(f), np.array(s), scale, order)
    truth = expectation(scale, f, s, lambda x: x**order)
    # Powers of e^z cancel where energy is small against the constants of the scale.
    rounding = 1e-12 * (scale.offset_kwh + scale.scale_kwh) ** order
    assert float(value) == pytest.approx(truth, rel=1e-9, abs=rounding)


@every_kind
@every_cell
def test_absolute_errors_are_those_of_quadrature(kind, f, s):
    scale = SCALES[kind]
    for target in (scale.low_kwh, 0.004, 0.3, scale.high_kwh):
        value = censored_absolute_error(np.array([f]), np.array([s]), np.array([target]), scale)
        kink = forward(scale, target)
        truth = expectation(scale, f, s, lambda x, t=target: np.abs(x - t), [kink])
        assert float(value[0]) == pytest.approx(truth, rel=1e-9, abs=1e-12), target


@every_kind
def test_moments_are_those_of_many_draws(kind):
    """Oracle: 400,000 seeded draws, within 6 standard errors."""
    scale, generator = SCALES[kind], np.random.default_rng(3)
    f, s = generator.uniform(-5, 4, 6), generator.uniform(0.05, 2.0, 6)
    energy = scale.clipped_kwh(f + s * generator.standard_normal((400_000, 6)))
    target = np.array([-0.01, 0.0, 0.02, 0.5, 2.0, 20.0]).clip(*scale.bounds_kwh)
    for value, drawn in (
        (censored_moment(f, s, scale, 1), energy),
        (censored_moment(f, s, scale, 2), energy**2),
        (censored_absolute_error(f, s, target, scale), np.abs(energy - target)),
    ):
        assert (np.abs(value - drawn.mean(axis=0)) <= 6 * drawn.std(axis=0) / np.sqrt(len(drawn)) + 1e-12).all()


def test_the_mean_of_a_net_load_about_zero_is_zero_and_its_noise_no_energy():
    scale = LogScale(-1e3, 1e3, scale_kwh=0.1)
    zero = scale.log(0.0)
    assert censored_moment(zero, np.array(0.7), scale, 1) == pytest.approx(0.0, abs=1e-12)
    assert censored_moment(zero, np.array(0.7), scale, 2) > 0.1**2 * 0.7**2
