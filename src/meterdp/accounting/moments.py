"""Moments accountant (Abadi et al. 2016; (2)-(4), (20)-(21) of Park et al.): tails from moments of the privacy loss.

Moments alpha(lambda) = ln E e^(lambda L) of the steps add up, and Markov's inequality gives delta = min of
exp(alpha(lambda) - lambda epsilon) over lambda. The paper tries integer lambda; any positive one is valid, and the
exponent is convex in it, being a sum of cumulant generating functions and a line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import ModuleType

import numpy as np

from meterdp.accounting import FAR_ORDER, FEW_ORDERS, LARGEST_ORDER
from meterdp.accounting.sequence import Curve, Infeasible, Sequence, calibrated_to_tail, check_budget, log_target

# Real orders are searched between the inverse of this and this; whatever is found is a valid bound.
_FARTHEST = 1e150
_CLOSE = 1e-9
_GOLDEN = (math.sqrt(5) - 1) / 2


def log_tail(order, step_epsilon: float, sequence: Sequence, epsilon: float):
    """Return alpha(lambda) - lambda epsilon of the whole sequence at positive orders lambda, a number or an array.

    The exponent of (3), convex in lambda. Of a Laplace step that adds noise to a vector it is an upper bound
    (docs/proofs/compositions.md), reached if one entry alone may change.
    """
    return _log_tail(order, step_epsilon, sequence.laplace, sequence.gaussian_rho(step_epsilon), epsilon, np)


def _log_tail(order, step_epsilon: float, laplace: int, gaussian_rho: float, epsilon: float, of: ModuleType):
    """Return the same; ``of`` is :mod:`numpy`, or :mod:`math`, which is quicker with one order."""
    # alpha_L(lambda) - lambda epsilon_i of (20), from 0 to -ln 2; loses no digit to either exponential.
    below_line = of.log1p(order / (2 * order + 1) * of.expm1(-(2 * order + 1) * step_epsilon))
    slope = laplace * step_epsilon - epsilon + (order + 1) * gaussian_rho
    return order * slope + laplace * below_line


def log_delta(step_epsilon: float, sequence: Sequence, epsilon: float, largest: float = math.inf) -> float:
    """Return the smallest exponent of (3) over all positive orders to ``largest``, at most 0."""
    if epsilon == math.inf:
        return -math.inf
    if step_epsilon == math.inf:
        return 0.0
    if sequence.gaussian == 0 and sequence.laplace * step_epsilon < epsilon and largest == math.inf:
        return -math.inf  # the exponent has no minimum: the loss cannot exceed epsilon

    rho = sequence.gaussian_rho(step_epsilon)

    def exponent(order: float) -> float:
        return _log_tail(min(order, largest), step_epsilon, sequence.laplace, rho, epsilon, math)

    # Convex: once a factor of two no longer helps, the minimum is less than another factor of two away.
    order, least = 1.0, exponent(1.0)
    for factor in (2.0, 0.5):
        while 1 / _FARTHEST < order < _FARTHEST and (value := exponent(factor * order)) < least:
            order, least = factor * order, value
    return min(0.0, least, _least(lambda t: exponent(order * 2**t), -1.0, 1.0))


def _least(convex: Callable[[float], float], low: float, high: float) -> float:
    """Return the least value of a convex function on an interval, by golden sections."""
    inner = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_inner = convex(inner[0]), convex(inner[1])
    while high - low > _CLOSE:
        if at_inner[0] <= at_inner[1]:
            high = inner[1]
            inner = high - _GOLDEN * (high - low), inner[0]
            at_inner = convex(inner[0]), at_inner[0]
        else:
            low = inner[0]
            inner = inner[1], low + _GOLDEN * (high - low)
            at_inner = at_inner[1], convex(inner[1])
    return min(at_inner)


def log_delta_integer(step_epsilon: float, sequence: Sequence, epsilon: float, largest: int = LARGEST_ORDER) -> float:
    """Return the smallest exponent of (3) over the orders 1 to ``largest``, at most 0."""
    if epsilon == math.inf:
        return -math.inf
    if step_epsilon == math.inf:
        return 0.0
    orders = np.arange(1.0, largest + 1)
    return min(0.0, float(log_tail(orders, step_epsilon, sequence, epsilon).min()))


def delta(step_epsilon: float, sequence: Sequence, epsilon: float, largest: float = math.inf) -> float:
    """Return delta at ``epsilon`` by real orders to ``largest``."""
    return math.exp(log_delta(step_epsilon, sequence, epsilon, largest))


def delta_integer(step_epsilon: float, sequence: Sequence, epsilon: float, largest: int = LARGEST_ORDER) -> float:
    """Return delta at ``epsilon`` by the orders 1 to ``largest``."""
    return math.exp(log_delta_integer(step_epsilon, sequence, epsilon, largest))


def calibrated(sequence: Sequence, epsilon: float, delta: float, largest: float = math.inf) -> float:
    """Return the largest step_epsilon that is (epsilon, delta)-DP by real orders to ``largest``, on the safe side."""
    _check_largest(epsilon, delta, largest)
    return calibrated_to_tail(partial(log_delta, largest=largest), sequence, epsilon, delta)


def calibrated_integer(sequence: Sequence, epsilon: float, delta: float, largest: int = LARGEST_ORDER) -> float:
    """Return the largest step_epsilon that is (epsilon, delta)-DP by the orders 1 to ``largest``, on the safe side.

    Infeasible, too, if delta is so small that e^(-lambda epsilon), which is left of (3) without any loss, does not
    reach it at the largest order.
    """
    _check_largest(epsilon, delta, largest)
    return calibrated_to_tail(partial(log_delta_integer, largest=largest), sequence, epsilon, delta)


def _check_largest(epsilon: float, delta: float, largest: float) -> None:
    check_budget(epsilon, delta)
    if epsilon * largest <= -log_target(delta):
        raise Infeasible(
            "the largest order is too small for an epsilon this small",
            field="epsilon",
            hint="raise epsilon or delta, or compose by zcdp or moments_real",
        )


CURVE = Curve("moments accountant, integer orders", delta_integer, calibrated_integer)
CURVE_FEW, CURVE_FAR = (
    Curve(
        f"moments accountant, integer orders to {largest:,}",
        partial(delta_integer, largest=largest),
        partial(calibrated_integer, largest=largest),
    )
    for largest in (FEW_ORDERS, FAR_ORDER)
)
CURVE_REAL = Curve("moments accountant, real orders", delta, calibrated)
CURVE_REAL_CAPPED = Curve(
    f"moments accountant, real orders to {LARGEST_ORDER}",
    partial(delta, largest=LARGEST_ORDER),
    partial(calibrated, largest=LARGEST_ORDER),
)
