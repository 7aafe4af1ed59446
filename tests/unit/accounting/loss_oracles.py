"""Tails of the privacy loss in extended precision, from closed forms and from plain quadrature, and by simulation."""

import mpmath
import numpy as np
from mpmath import mp

from meterdp.accounting.gaussian_loss import PairLosses


def losses_of(*pairs) -> PairLosses:
    """PairLosses of (gamma, nu) pairs of one dimension."""
    gamma, nu = (np.array([pair[i] for pair in pairs], dtype=float) for i in (0, 1))
    return PairLosses(gamma, nu, np.zeros(len(gamma), dtype=bool))


def one_dimension(gamma, nu, epsilon):
    """(Pr(L > eps), Pr(L < -eps), hockey stick) of one entry, by normal distribution functions; 60 digits."""
    with mpmath.workdps(60):
        gamma, nu, epsilon = mp.mpf(gamma), mp.mpf(nu), mp.mpf(epsilon)
        above, below = _both_sides(gamma, nu, epsilon)[0], _both_sides(gamma, nu, -epsilon)[1]
        # Under X' the loss L_XX' is -L_X'X.
        reverse = _both_sides(1 / gamma, nu / mp.sqrt(gamma), -epsilon)[1]
        return above, below, above - mp.exp(epsilon) * reverse


def _both_sides(gamma, nu, epsilon):
    """Pr(L > eps), Pr(L < eps): L = (gamma-1)/2 x^2 - sqrt(gamma) nu x + (nu^2 - ln gamma)/2, x standard normal."""
    square, linear = (gamma - 1) / 2, -mp.sqrt(gamma) * nu
    constant = (nu**2 - mp.log(gamma)) / 2 - epsilon
    if square == 0:
        if linear == 0:
            return mp.mpf(constant > 0), mp.mpf(constant < 0)
        return mp.ncdf(constant / abs(linear)), mp.ncdf(-constant / abs(linear))
    root = linear**2 - 4 * square * constant
    if root <= 0:
        return mp.mpf(square > 0), mp.mpf(square < 0)
    # The stable pair of roots.
    q = -(linear + (1 if linear >= 0 else -1) * mp.sqrt(root)) / 2
    low, high = sorted([q / square, constant / q if q else mp.mpf(0)])
    outside = mp.ncdf(low) + mp.ncdf(-high)
    inside = mp.ncdf(-low) - mp.ncdf(-high) if low > 0 else mp.ncdf(high) - mp.ncdf(low)
    return (outside, inside) if square > 0 else (inside, outside)


def equal_gammas(gamma, nu, epsilon):
    """Pr(L > eps) where all gamma are the same: a noncentral chi-square, as a Poisson mixture; 60 digits."""
    with mpmath.workdps(60):
        nu = [mp.mpf(n) for n in nu]
        gamma, k = mp.mpf(gamma), len(nu)
        a = gamma - 1
        squares = sum(n**2 for n in nu)
        shift = (squares - k * mp.log(gamma)) / 2 - gamma * squares / (2 * a)
        x, half_distance = 2 * (mp.mpf(epsilon) - shift) / a, gamma * squares / a**2 / 2
        if x <= 0:
            return mp.mpf(a > 0)
        where = (x / 2, mp.inf) if a > 0 else (0, x / 2)
        total, weight, term, j = mp.mpf(0), mp.exp(-half_distance), mp.inf, 0
        while True:
            before, term = term, weight * mp.gammainc(mp.mpf(k) / 2 + j, *where, regularized=True)
            total += term
            if term <= before and term < total * mp.mpf(10) ** -30:
                return total
            j += 1
            weight *= half_distance / j


def by_quadrature(gamma, nu, epsilon, sign=1, digits=12):
    """(Pr(sign L > eps), hockey stick), trapezoidal rule in 40-digit arithmetic, halved until it stands still."""
    with mpmath.workdps(40):
        g, n = [mp.mpf(x) for x in gamma], [mp.mpf(x) for x in nu]
        epsilon = mp.mpf(epsilon)

        def phi(u):
            total = -u * epsilon
            for gi, ni in zip(g, n, strict=True):
                d = 1 - sign * u * (gi - 1)
                total += (-sign * u * mp.log(gi) - mp.log(d) + u * (u + sign) * ni**2 / d) / 2
            return total

        edge = max([sign * (gi - 1) for gi in g])
        s = _saddle(phi, 1 / edge if edge > 0 else mp.inf)
        curvature = mp.diff(phi, s, 2, h=s * mp.mpf(10) ** -10) + 1 / s**2
        w, peak = 1 / mp.sqrt(curvature), phi(s)
        for bend in (mp.mpf("0.2"), mp.mpf("-0.2"), mp.mpf("0.05"), mp.mpf("-0.05"), mp.mpf(0)):
            found = _halved(phi, s, w, peak, bend, digits)
            if found is not None:
                return tuple(mp.exp(peak) * part for part in found)
        raise ArithmeticError("no line will do")


def _saddle(phi, edge):
    low, high = mp.mpf(10) ** -30, edge if edge < mp.inf else mp.mpf(10) ** 30
    for _ in range(200):
        middle = mp.sqrt(low * high) if high > 2 * low else (low + high) / 2
        step = min(middle, high - middle, middle - low) * mp.mpf(10) ** -12
        rising = phi(middle + step) - phi(middle - step) > mp.log((middle + step) / (middle - step))
        low, high = (low, middle) if rising else (middle, high)
        if high - low < low / 1000:
            break
    return low


def _halved(phi, s, w, peak, bend, digits):
    def integrand(y):
        u = s + w * (mp.sin(bend) * (mp.cosh(y) - 1) + 1j * mp.cos(bend) * mp.sinh(y))
        value = mp.exp(phi(u) - peak) * w * (mp.sin(bend) * mp.sinh(y) + 1j * mp.cos(bend) * mp.cosh(y)) / u
        return value, value / (u + 1)

    smallest = mp.mpf(10) ** -(digits + 3)
    first = integrand(mp.mpf(0))
    h, sums, before = mp.mpf("0.4"), [first[0].imag / 2, first[1].imag / 2], None
    for level in range(7):
        y, stride = h, h if level == 0 else 2 * h
        while True:
            values = integrand(y)
            if abs(values[0]) > 1e6 * abs(first[0]) or y > 80:
                return None
            sums = [total + value.imag for total, value in zip(sums, values, strict=True)]
            if all(abs(v) < smallest * abs(f) for v, f in zip(values, first, strict=True)):
                break
            y += stride
        now = [h * total / mp.pi for total in sums]
        if before and all(abs(a - b) < mp.mpf(10) ** -digits * abs(a) for a, b in zip(now, before, strict=True)):
            return now
        before, h = now, h / 2
    return None


def sample(losses: PairLosses, pair: int, generator: np.random.Generator, count: int = 400_000) -> np.ndarray:
    """Losses (29) of one pair at so many standard normal vectors."""
    gamma, nu = losses.gamma[pair], losses.nu[pair]
    draws = generator.standard_normal((count, gamma.size))
    return draws**2 @ (0.5 * (gamma - 1)) - draws @ (np.sqrt(gamma) * nu) + losses.constant[pair]


def is_mean(value: float, terms: np.ndarray, slack: float = 0.0) -> bool:
    """Whether a number lies within 6.5 standard errors of the mean of its draws: false alarm below 1e-10."""
    return abs(terms.mean() - value) <= 6.5 * terms.std() / np.sqrt(terms.size) + slack


def stick(losses: np.ndarray, epsilon: float) -> np.ndarray:
    """The terms (1 - e^(epsilon - L))_+ of a hockey stick."""
    return np.maximum(0, -np.expm1(epsilon - losses))
