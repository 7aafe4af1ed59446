"""Compiled tails of the privacy loss between two Gaussian distributions, each with a bound on its numerical error.

The loss of Proposition 1 (Ramakrishna et al., section IV) is a quadratic form in a normal vector: its tails are
generalised chi-square probabilities, integrals of its moment generating function along a line right of the pole at
zero. The line is bent into a hyperbola and integrated by the trapezoidal rule; :func:`tail` says what bounds its
error.
"""

from __future__ import annotations

import math

import numpy as np

from meterdp.core.compiled import njit

_NEWTON_STEPS = 200
_PART = 2e-5  # truncation, ends and aliasing may each be this share of width times height of the integrand
_EDGES = 1e-5  # what the ends of the strip's edges count: the damping a step of this aliasing has
_CELL, _PIECES = 0.5, 4  # grid on which the edges of the strip are integrated; parts of half an end
_SAFETY = 2.0  # the larger end of a cell stands for its largest value; this is for a peak inside it
_LONGEST, _STEEPEST = 90.0, 60.0  # of the line in y; the integrand may grow by e to the second
_SMALLEST_LOG = -740.0  # of a probability a float64 holds
_LARGEST = 1e150  # saddle point whose square is a float64
_ENOUGH_NODES, _INSIDE = 50.0, 1e-12
# (bend, half width of the strip) in radians, the bend to the side on which the integrand decays far out.
_SHAPES = np.array(
    [[0.35, 0.35], [-0.35, 0.35], [0.0, 0.3], [0.15, 0.15], [-0.15, 0.15], [0.0, 0.1], [0.0, 0.03], [0.0, 0.01]]
)

# A ``form`` is the exponent phi(u) = ln E e^(u sign L) - u epsilon: (a, q, flat, linear, sign, size) with
# phi(u) = 1/2 sum_i [ -ln(1 - u a_i) + q_i u (u + sign) / (1 - u a_i) ] + flat/2 u (u + sign) - linear u.


@njit(cache=True)
def _form(gamma, nu, sign, epsilon, a, q):
    """Return the form of gamma, nu (k,): a = sign (gamma - 1) where that is not zero; flat sums up the others."""
    n, flat, linear, size = 0, 0.0, epsilon, abs(epsilon)
    for i in range(gamma.size):
        if gamma[i] == 1.0:
            flat += nu[i] * nu[i]
            continue
        a[n], q[n] = sign * (gamma[i] - 1.0), nu[i] * nu[i]
        n += 1
        linear += 0.5 * sign * math.log(gamma[i])
        size += 0.5 * abs(math.log(gamma[i]))
    return a[:n], q[:n], flat, linear, sign, size


@njit(cache=True)
def _slope(form, u):
    """phi'(u) and phi''(u) for real u."""
    a, q, flat, linear, sign, _ = form
    first, second = 0.5 * flat * (2.0 * u + sign) - linear, flat
    for i in range(a.size):
        d = 1.0 - u * a[i]
        ratio = a[i] / d
        first += 0.5 * ratio + 0.5 * q[i] * ((2.0 * u + sign) * d + a[i] * u * (u + sign)) / (d * d)
        second += 0.5 * ratio * ratio + q[i] * (1.0 + sign * a[i]) / (d * d * d)
    return first, second


@njit(cache=True)
def _far_slope(form):
    """-phi'(u) far out, where no a is positive and nothing is flat: epsilon less the largest sign L."""
    a, q, _, linear, _, _ = form
    for i in range(a.size):
        linear += 0.5 * q[i] / a[i]
    return linear


@njit(cache=True)
def _never(form):
    """Whether sign L cannot exceed epsilon: it is bounded above, no a being positive, and epsilon not below that."""
    a, flat = form[0], form[2]
    if flat != 0.0:
        return False
    for value in a:
        if not value < 0:
            return False
    return _far_slope(form) >= 0


@njit(cache=True)
def _saddle(form, pole, tolerance):
    """The u > 0 with phi'(u) = pole / u, by Newton steps inside a bracket; pole is 0 or 1.

    To a relative ``tolerance`` only: any u inside the strip of convergence gives a valid integral and a valid bound.
    """
    edge = 0.0
    for value in form[0]:
        edge = max(edge, value)
    # At the edge itself is a pole, and a saddle point rounded onto it would divide by zero.
    edge = (1.0 - _INSIDE) / edge if edge > 1e-300 else np.inf
    first, second = _slope(form, 0.0)
    root = math.sqrt(first * first + 4.0 * pole * second)
    # The root of the quadratic that a normal loss has.
    if first > 0:
        u = 2.0 * pole / (first + root)
    else:
        u = (root - first) / (2.0 * second) if second > 0 else np.inf
    if not 0 < u < edge:
        u = 0.5 * edge if edge < np.inf else 1.0
    low, high = 0.0, edge
    for _ in range(_NEWTON_STEPS):
        first, second = _slope(form, u)
        first -= pole / u
        second += pole / (u * u)
        if first > 0:
            high = u
        else:
            low = u
        new = u - first / second if second > 0 else np.inf
        if not low < new < high:
            if high == np.inf:
                new = 4.0 * u
            elif low > 0:
                new = 0.5 * (low + high) if high < 4.0 * low else math.sqrt(low * high)
            else:
                new = 0.25 * high
        step = abs(new - u)
        u = new
        if step <= tolerance * min(u, edge - u) or u > 1e300:
            break
    return u


@njit(cache=True)
def _log_modulus(form, p, v):
    """Real part of phi at u = p + iv."""
    a, q, flat, linear, sign, _ = form
    real, imaginary = p * p - v * v + sign * p, v * (2.0 * p + sign)
    total, product = 0.5 * flat * real - p * linear, 1.0
    for i in range(a.size):
        x, y = 1.0 - p * a[i], v * a[i]
        modulus = x * x + y * y
        total += 0.5 * q[i] * (real * x - imaginary * y) / modulus
        product *= modulus
        if product > 1e100 or product < 1e-100:
            total -= 0.25 * math.log(product)
            product = 1.0
    return total - 0.25 * math.log(product)


@njit(cache=True)
def _exponent(form, p, v):
    """phi at u = p + iv, v >= 0, as real and imaginary part."""
    a, q, flat, linear, sign, _ = form
    real, imaginary = p * p - v * v + sign * p, v * (2.0 * p + sign)
    total, phase = 0.5 * flat * real - p * linear, 0.5 * flat * imaginary - v * linear
    # One logarithm for the product of all 1 - ua. Their arguments lie in (-pi, 0) for a > 0 and in (0, pi) for a < 0:
    # where the product passes the cut, ``turns`` counts it.
    rx, ry, turns = 1.0, 0.0, 0.0
    for i in range(a.size):
        x, y = 1.0 - p * a[i], -v * a[i]
        modulus = x * x + y * y
        total += 0.5 * q[i] * (real * x + imaginary * y) / modulus
        phase += 0.5 * q[i] * (imaginary * x - real * y) / modulus
        sx, sy = rx * x - ry * y, rx * y + ry * x
        if ry < 0 and y < 0 and sy >= 0:
            turns -= 1.0
        elif ry > 0 and y > 0 and sy <= 0:
            turns += 1.0
        rx, ry = sx, sy
        size = rx * rx + ry * ry
        if size > 1e100 or size < 1e-100:
            total -= 0.25 * math.log(size)
            rx, ry = rx / math.sqrt(size), ry / math.sqrt(size)
    total -= 0.25 * math.log(rx * rx + ry * ry)
    return total, phase - 0.5 * (math.atan2(ry, rx) + 2.0 * math.pi * turns)


@njit(cache=True)
def _point(s, w, bend, reweighting, y):
    """The hyperbola that turns into the one through s when its bend + reweighting is ``bend``: p, v of u = p + iv,
    du/dy."""
    sine, cosine = w * math.sin(bend + reweighting), w * math.cos(bend + reweighting)
    ch, sh = math.cosh(y), math.sinh(y)
    return s - w * math.sin(bend) + sine * ch, cosine * sh, complex(sine * sh, cosine * ch)


@njit(cache=True)
def _modulus(form, s, w, peak, bend, reweighting, y):
    """Modulus of both integrands, relative to e^peak; infinite if it has grown too much."""
    p, v, direction = _point(s, w, bend, reweighting, y)
    height = _log_modulus(form, p, v) - peak
    if not height < _STEEPEST:
        return np.inf, np.inf
    value = math.exp(height) * abs(direction) / math.hypot(p, v)
    return value, value / math.hypot(p + 1.0, v)


@njit(cache=True)
def _truncation(form, s, w, peak, bend, y):
    """Bounds on int |e^phi/u| and int |e^phi/(u (u+1))| over the vertical ray upwards from the point y, over e^peak.

    On the ray |1 - ua|, |u| and |u+1| rise, and by partial fractions u (u+sign)/(1-ua) is linear except for
    (1 + sign a)/a^2/(1-ua), whose real part falls, or rises towards zero if it is negative.
    """
    p, v, _ = _point(s, w, bend, 0.0, y)
    a, q, flat, _, sign, _ = form
    if v <= 0:
        return np.inf, np.inf
    log_value, decaying, best = _log_modulus(form, p, v) - peak, 0, np.inf
    for i in range(a.size):
        x, z = 1.0 - p * a[i], v * a[i]
        if x < 0:
            log_value += 0.5 * q[i] * (1.0 + sign * a[i]) / (a[i] * a[i]) * -x / (x * x + z * z)
        if abs(z) >= abs(x):
            decaying += 1
        best = min(best, 2.0 * (1.0 + (x / z) ** 2) ** 0.25)
    if not log_value < _STEEPEST:
        return np.inf, np.inf
    if decaying > 0:
        best = min(best, 2.0 / decaying * 2.0 ** (0.25 * decaying))
    if flat > 0:
        best = min(best, 1.0 / (flat * v * v))
    return math.exp(log_value) * best, math.exp(log_value) / v


@njit(cache=True)
def _scan(form, s, w, peak, bend, strip, edges):
    """Follow the edges of the strip, the hyperbolas bend +- strip, up to where the rest is negligible.

    Writes upper sums of both integrands over both edges into ``edges`` (2,) and returns how far it is; infinite if an
    integrand grows too much.
    """
    edges[:] = 0.0
    end_one, end_two = _PART * w / s, _PART * w / (s * (s + 1.0))
    before = (0.0, 0.0, 0.0, 0.0)
    length = -1.0
    for j in range(int(_LONGEST / _CELL)):
        y = j * _CELL
        now = (*_modulus(form, s, w, peak, bend, -strip, y), *_modulus(form, s, w, peak, bend, strip, y))
        if now[0] == np.inf or now[2] == np.inf:
            return np.inf
        if j > 0:
            edges[0] += _CELL * (max(now[0], before[0]) + max(now[2], before[2]))
            edges[1] += _CELL * (max(now[1], before[1]) + max(now[3], before[3]))
        before = now
        if length >= 0:
            return length  # one more cell than needed: the last node lies in it
        if _EDGES * max(now[0], now[2]) <= end_one and _EDGES * max(now[1], now[3]) <= end_two:
            one, two = _truncation(form, s, w, peak, bend, y)
            if one <= end_one and two <= end_two:
                length = y
    return np.inf


@njit(cache=True)
def _step(edges, s, w, strip):
    """Step of the trapezoidal rule at which the aliasing is the share ``_PART`` of width times height."""
    ratio = max(edges[0], edges[1] * (s + 1.0)) * s / w
    return 2.0 * math.pi * strip / math.log1p(_SAFETY * ratio / _PART)


@njit(cache=True)
def _ends(form, s, w, peak, bend, strip, h, y):
    """Upper sums of int |integrand| / (e^(2 pi |t| / h) + 1) dt over the end |t| <= strip of the rectangle at y."""
    one = two = 0.0
    rate = 2.0 * math.pi / h
    for side in (-1.0, 1.0):
        before = _modulus(form, s, w, peak, bend, 0.0, y)
        for j in range(_PIECES):
            t, next_t = strip * j / _PIECES, strip * (j + 1) / _PIECES
            weight = (math.log1p(math.exp(-rate * t)) - math.log1p(math.exp(-rate * next_t))) / rate
            now = _modulus(form, s, w, peak, bend, side * next_t, y)
            one += weight * max(now[0], before[0])
            two += weight * max(now[1], before[1])
            before = now
    return one, two


@njit(cache=True)
def _rounding(form, u):
    """Relative rounding error of e^phi(u), first order."""
    a, q, flat, _, sign, size = form
    total = 4.0 + u * size + 0.5 * flat * u * abs(u + sign)
    for i in range(a.size):
        d = 1.0 - u * a[i]
        inverse = max(1.0, 1.0 / d)
        total += 0.5 * (abs(math.log(d)) + inverse) + 0.5 * q[i] * u * abs(u + sign) / d * inverse
    return 4.0 * 2.3e-16 * total


@njit(cache=True)
def tail(gamma, nu, sign, epsilon, a, q, edges, out):
    """Write Pr(sign L > epsilon), its error bound, E (1 - e^(epsilon - L))_+ and its error bound into ``out`` (4,).

    The second pair is meant for sign = +1 only. ``a``, ``q`` (k,) and ``edges`` (2,) are work space.

    Notes
    -----
    The value is (1/2 pi i) int e^(phi(u)) k(u) du with k = 1/u or 1/(u (u+1)), over the hyperbola
    u = s + w (sin b (cosh y - 1) + i cos b sinh y) through the saddle point s: h times the sum over the nodes
    y = j h, |j| <= n, in place of the integral. Its error bound is the sum of four parts.

    Aliasing: the integrand is analytic in the strip |Im y| <= d, whose edges are the hyperbolas with bends b - d and
    b + d; the residue theorem on the rectangle |Re y| <= Y = (n + 1/2) h bounds it by the integrals of |integrand|
    over the edges, divided by e^(2 pi d/h) - 1. Ends of the rectangle: the integral of |integrand| /
    (e^(2 pi |t|/h) + 1) over them. Truncation: from Y on the line may go straight up, where the integrand has a
    closed bound (:func:`_truncation`). Rounding of the exponent, first order.

    Theorems, but that edges and ends are upper sums on a grid, doubled (a sharp peak inside a cell would hide), and
    that an epsilon equal to the largest sign L up to rounding gives zeros: off by up to 1e-6, the second by 1e-18.
    """
    out[:] = 0.0
    form = _form(gamma, nu, sign, epsilon, a, q)
    if form[0].size == 0 and form[2] == 0.0:
        if epsilon < 0:  # the loss is zero
            out[0], out[2] = 1.0, -math.expm1(epsilon)
        return
    if _never(form):
        return
    s = _saddle(form, 1.0, 1e-3)
    if s > _LARGEST:
        return  # distributions that differ by less than 1e-70 count as equal
    peak = _log_modulus(form, s, 0.0)
    if not peak > _SMALLEST_LOG:
        return  # by Chernoff's bound, less than any float64
    w = 1.0 / math.sqrt(_slope(form, s)[1] + 1.0 / (s * s))
    side = 1.0 if _far_slope(form) > 0 else -1.0
    fewest, bend, strip, h, length = np.inf, 0.0, 0.0, 1.0, 0.0
    tried = np.empty(2)
    for shape in range(_SHAPES.shape[0]):
        reach = _scan(form, s, w, peak, side * _SHAPES[shape, 0], _SHAPES[shape, 1], tried)
        if reach == np.inf:
            continue
        step = _step(tried, s, w, _SHAPES[shape, 1])
        if reach / step < fewest:
            fewest, h, length = reach / step, step, reach
            bend, strip = side * _SHAPES[shape, 0], _SHAPES[shape, 1]
            edges[0], edges[1] = tried[0], tried[1]
        if fewest <= _ENOUGH_NODES:
            break
    if fewest == np.inf:
        out[:] = 0.5  # no strip will do, nothing is known; no test has found such a pair
        return
    last = max(1, math.ceil(length / h - 0.5))
    one = two = all_one = all_two = 0.0
    for j in range(last + 1):
        p, v, direction = _point(s, w, bend, 0.0, j * h)
        height, phase = _exponent(form, p, v)
        value = math.exp(height - peak) * complex(math.cos(phase), math.sin(phase)) * direction / complex(p, v)
        if j == 0:
            value *= 0.5
        one += value.imag
        all_one += abs(value)
        value /= complex(p + 1.0, v)
        two += value.imag
        all_two += abs(value)
    y = (last + 0.5) * h
    rounding = _rounding(form, s) * h
    cut_one, cut_two = _truncation(form, s, w, peak, bend, y)
    end_one, end_two = _ends(form, s, w, peak, bend, strip, h, y)
    share = _SAFETY / math.expm1(2.0 * math.pi * strip / h)
    scale = math.exp(peak) / math.pi
    out[0] = min(1.0, max(0.0, scale * h * one))
    out[1] = scale * (share * edges[0] + _SAFETY * end_one + cut_one + rounding * all_one)
    out[2] = min(1.0, max(0.0, scale * h * two))
    out[3] = scale * (share * edges[1] + _SAFETY * end_two + cut_two + rounding * all_two)


@njit(cache=True)
def bound(gamma, nu, sign, epsilon, a, q):
    """Lemma 1 minimised, (34): upper bounds on Pr(sign L > epsilon) and on the hockey stick; a, q are work space."""
    form = _form(gamma, nu, sign, epsilon, a, q)
    if _never(form):
        return 0.0, 0.0
    if _slope(form, 0.0)[0] >= 0:
        return 1.0, 1.0
    u = _saddle(form, 0.0, 1e-5)
    if u > _LARGEST:
        return 0.0, 0.0  # as in ``tail``
    value = math.exp(min(0.0, _log_modulus(form, u, 0.0)))
    # (1 - e^-x)_+ <= u^u / (1+u)^(1+u) e^(u x) for every x.
    return value, value * math.exp(-u * math.log1p(1.0 / u) - math.log1p(u))


@njit(cache=True)
def all_tails(gamma, nu, epsilon, wanted, out):
    """Fill ``out`` (P, E, 6) from gamma, nu (P, k), epsilon (P, E): upper, error, hockey stick, error, lower, error.

    ``wanted`` is 1 for the first four, 2 for the last two, 3 for both.
    """
    k = gamma.shape[1]
    a, q, edges, four = np.empty(k), np.empty(k), np.empty(2), np.empty(4)
    for pair in range(gamma.shape[0]):
        for column in range(epsilon.shape[1]):
            if wanted & 1:
                tail(gamma[pair], nu[pair], 1.0, epsilon[pair, column], a, q, edges, four)
                for i in range(4):
                    out[pair, column, i] = four[i]
            if wanted & 2:
                tail(gamma[pair], nu[pair], -1.0, epsilon[pair, column], a, q, edges, four)
                for i in range(2):
                    out[pair, column, 4 + i] = four[i]


@njit(cache=True)
def all_bounds(gamma, nu, epsilon, wanted, out):
    """Fill ``out`` (P, E, 3): Chernoff bounds of upper tail, hockey stick, and lower tail unless ``wanted`` is 1."""
    k = gamma.shape[1]
    a, q = np.empty(k), np.empty(k)
    for pair in range(gamma.shape[0]):
        for column in range(epsilon.shape[1]):
            out[pair, column, 0], out[pair, column, 1] = bound(
                gamma[pair], nu[pair], 1.0, epsilon[pair, column], a, q
            )
            if wanted & 2:
                out[pair, column, 2] = bound(gamma[pair], nu[pair], -1.0, epsilon[pair, column], a, q)[0]
