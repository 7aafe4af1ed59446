"""Exact (epsilon, delta) curves of pairs of Gaussian distributions, with an error bound beside every value.

Definition 1 of Ramakrishna et al. counts Pr(|L| > eps); (6)-(7) drop a side (defect R10); a release is stated by the
hockey-stick divergence, Pr_X(L > eps) - e^eps Pr_X'(L > eps), maximised over both orders of every pair, which is
(epsilon, delta)-DP and survives any further processing. All three, with Chernoff's bound (Lemma 1) as a cross-check.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr

from meterdp.accounting.gaussian_loss import PairLosses, log_deltas, pair_losses
from meterdp.accounting.sequence import Curve
from meterdp.accounting.tail_integral import all_bounds, all_tails
from meterdp.privacy import gaussian

Side = Literal["one", "two", "hockey_stick"]
_BATCH, _FIRST, _FARTHEST = 256, 4, 2048
_CLOSE, _CLEAR = 1e-6, 1e-3
# Of a hockey stick: rounding that may cost no more is not looked at closely.
_SMALL = 1e-6
# What a bound on the ratio of two densities can omit, in delta.
_UNLIKELY = 1e-300


@dataclass(frozen=True)
class ExactTails:
    """Tails of P losses at E values of epsilon; every array (P, E) float64.

    ``upper`` and ``lower`` are Pr(L > eps) and Pr(L < -eps) under X, whose sum is Pr(|L| > eps); ``hockey_stick`` is
    E (1 - e^(eps - L))_+ = Pr_X(L > eps) - e^eps Pr_X'(L > eps). Each has a bound on its absolute numerical error,
    derived in :func:`meterdp.accounting.tail_integral.tail`. That of the hockey stick, by which releases are stated,
    covers the condition of the covariances, too (``rounding`` of :class:`PairLosses`). The others cover the integral,
    from gamma and nu on.
    """

    upper: np.ndarray
    lower: np.ndarray
    hockey_stick: np.ndarray
    upper_error: np.ndarray
    lower_error: np.ndarray
    hockey_stick_error: np.ndarray

    @property
    def two_sided(self) -> np.ndarray:
        """Pr(|L| > eps), Definition 1."""
        return np.minimum(self.upper + self.lower, 1.0)

    @property
    def two_sided_error(self) -> np.ndarray:
        return self.upper_error + self.lower_error

    def side(self, side: Side) -> tuple[np.ndarray, np.ndarray]:
        """Return value and error bound of 'one', 'two' or 'hockey_stick'."""
        return {
            "one": (self.upper, self.upper_error),
            "two": (self.two_sided, self.two_sided_error),
            "hockey_stick": (self.hockey_stick, self.hockey_stick_error),
        }[side]


def exact_tails(losses: PairLosses, epsilon) -> ExactTails:
    """Return the tails of P losses at ``epsilon``, (E,) for all pairs or (P, E) for each.

    Epsilon may be negative, as under a prior.
    """
    return _as_tails(_raw(losses, _per_pair(losses, epsilon), 3))


def chernoff(losses: PairLosses, epsilon) -> tuple[np.ndarray, np.ndarray]:
    """Lemma 1 minimised over s: upper bounds on Pr(L > eps) and on Pr(|L| > eps) under X, (P, E) float64 each, at
    most 1.

    With u = 1/(s - 1) and K(u) = ln E e^(uL) the bound (34) is exp(K(u) - u eps), log-convex in u; the lower tail is
    bounded by exp(K(-u) - u eps) in the same way. ``epsilon`` as of :func:`exact_tails`.
    """
    out = _bounds(losses, _per_pair(losses, epsilon), 3)
    return out[..., 0], np.minimum(out[..., 0] + out[..., 2], 1.0)


@dataclass(frozen=True)
class Worst:
    """The largest delta over all pairs, and the position of the pair it belongs to.

    No pair has more than delta + error. ``evaluated`` counts the pairs whose delta was computed so far; the others
    are excluded by Chernoff's bound or by their distance. ``chernoff`` is the largest bound of Chernoff over all
    pairs, for the hockey stick its own sharper form.
    """

    pair: int
    delta: float
    error: float
    evaluated: int
    chernoff: float


def worst_pair(losses: PairLosses, epsilon: float, side: Side = "hockey_stick") -> Worst:
    """Return the pair with the largest delta: Pr(L > eps), Pr(|L| > eps) or the hockey stick, by ``side``."""
    return worst_pairs(losses, epsilon, (side,))[side]


def worst_pairs(
    losses: PairLosses, epsilon: float, sides: tuple[Side, ...], enough: float = math.inf
) -> dict[Side, Worst]:
    """Return the pair with the largest delta for each meaning of delta; the meanings share their integrals.

    The search ends at a pair whose delta is at least ``enough``; there may then be worse ones.

    Pairs of distributions with one covariance have a closed form that grows with their distance mu, so the farthest
    are looked at, except for one- and two-sided delta at a negative epsilon, where all are. The others are taken in
    the order of their Chernoff bounds until the next bound is at most 1 + 1e-6 times the largest delta found. So no
    pair exceeds it by more than the error stated.
    """
    if losses.singular.any():
        return dict.fromkeys(sides, Worst(int(np.argmax(losses.singular)), 1.0, 0.0, 0, 1.0))
    column, wanted = _per_pair(losses, [epsilon]), 3 if "two" in sides else 1
    upper, stick, lower = _bounds(losses, column, wanted)[:, 0].T
    bound = {"one": upper, "two": np.minimum(upper + lower, 1.0), "hockey_stick": stick}
    known = np.full((upper.size, 6), np.nan)
    normal = _is_normal(losses.gamma)
    far = np.flatnonzero(normal)
    if far.size:
        grows = epsilon >= 0 or set(sides) == {"hockey_stick"}
        known[far] = _farthest(losses, far, column, wanted, sides if grows else None)
        far = far[~np.isnan(known[far, 0])]
    found = {}
    for side in sides:
        best, pair, highest, seen = -1.0, 0, 0.0, 0
        if far.size:
            value, error = _as_tails(known[far]).side(side)
            pair = int(far[value.argmax()])
            best, highest = float(value.max()), float((value + error).max())
        order = np.flatnonzero(~normal)
        order = order[np.argsort(-bound[side][order], kind="stable")]
        while seen < order.size and best < enough and bound[side][order[seen]] > best * (1 + _CLOSE):
            some = order[seen : seen + _BATCH]
            seen += some.size
            # In small steps: where the bounds are clearly below the largest delta, the rest of the batch is no news.
            step = _FIRST
            while some.size and best < enough and bound[side][some[0]] * (1 + _CLEAR) > best:
                now, some = some[:step], some[step:]
                new = now[np.isnan(known[now, 0])]
                known[new] = _raw(losses.take(new), column[new], wanted)[:, 0]
                value, error = _as_tails(known[now]).side(side)
                highest = max(highest, float((value + error).max()))
                if value.max() > best:
                    best, pair = float(value.max()), int(now[value.argmax()])
                step *= 2
        if seen < order.size:
            highest = max(highest, float(bound[side][order[seen]]))
        rest = np.flatnonzero(np.isnan(known[:, 0]) & ~normal)
        if side == "hockey_stick" and rest.size:
            highest = max(highest, _rounded_bound(losses.take(rest), column[rest], bound[side][rest]))
        evaluated = int(np.count_nonzero(~np.isnan(known[:, 0])))
        found[side] = Worst(pair, best, max(highest - best, 0.0), evaluated, float(bound[side].max()))
    return found


def _farthest(losses: PairLosses, normal: np.ndarray, column: np.ndarray, wanted: int, sides) -> np.ndarray:
    """Return values and errors of the losses at positions ``normal``, (n, 6), nan where they cannot be the largest.

    Delta, and the bound on its error at a given rounding, grow with mu where ``sides`` are given. So what no pair
    from some mu on exceeds is that of a pair with this mu and with the largest rounding of them all.
    """
    out = np.full((normal.size, 6), np.nan)
    mu = np.linalg.norm(losses.nu[normal], axis=1)
    order = np.argsort(-mu, kind="stable")
    seen, count = 0, _FARTHEST if sides else normal.size
    while seen < normal.size:
        new = order[seen:count]
        out[new] = _raw(losses.take(normal[new]), column[normal[new]], wanted)[:, 0]
        seen, count = count, 8 * count
        if seen < normal.size:
            next_nu = np.zeros((1, losses.nu.shape[1]))
            next_nu[0, 0] = mu[order[seen]]
            off = losses.off[normal[order[seen:]]].max(axis=0)[None]
            limit = PairLosses(np.ones_like(next_nu), next_nu, np.zeros(1, dtype=bool), off)
            bound, found = _as_tails(_raw(limit, column[:1], wanted)[:, 0]), _as_tails(out[order[:seen]])
            if all(sum(bound.side(side))[0] <= sum(found.side(side)).max() for side in sides):
                break
    return out


def hockey_stick(shift, covariance, other, epsilon: float) -> float:
    """Return sup over sets H of P(H) - e^epsilon Q(H) for P = N(0, covariance), Q = N(shift, other), both positive
    definite.
    """
    shift = np.asarray(shift, dtype=float)
    losses = pair_losses(np.stack([np.zeros_like(shift), shift]), np.stack([covariance, other]), [[0, 1]])
    return float(exact_tails(losses, [epsilon]).hockey_stick[0, 0])


def _per_pair(losses: PairLosses, epsilon) -> np.ndarray:
    epsilon = np.asarray(epsilon, dtype=float)
    return np.ascontiguousarray(np.broadcast_to(epsilon, (len(losses.singular), epsilon.shape[-1])))


def _raw(losses: PairLosses, epsilon: np.ndarray, wanted: int) -> np.ndarray:
    """Values and errors at epsilon (P, E), (P, E, 6); ``wanted`` as in ``all_tails``, the rest zero."""
    out = _without_rounding(losses.gamma, losses.nu, epsilon, wanted)
    out[..., 3] = np.minimum(out[..., 3] + _from_rounding(losses, epsilon, out[..., 2]), 1.0)
    out[losses.singular] = (1, 0, 1, 0, 0, 0)
    return out


def _is_normal(gamma: np.ndarray) -> np.ndarray:
    """Whether losses are normal: both distributions have one covariance, (P,)."""
    return (gamma == 1).all(axis=1)


def _without_rounding(gamma: np.ndarray, nu: np.ndarray, epsilon: np.ndarray, wanted: int) -> np.ndarray:
    """Values and errors from gamma and nu (P, k) on, (P, E, 6)."""
    out = np.zeros((*epsilon.shape, 6))
    normal = _is_normal(gamma)
    if normal.any():
        out[normal] = _normal_tails(np.linalg.norm(nu[normal], axis=1), epsilon[normal])
    if not normal.all():
        parts = (np.ascontiguousarray(part[~normal]) for part in (gamma, nu, epsilon))
        others = np.zeros((np.count_nonzero(~normal), epsilon.shape[1], 6))
        all_tails(*parts, wanted, others)
        out[~normal] = others
    return out


def _normal_tails(mu: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Values and errors of losses N(mu^2 / 2, mu^2), mu (P,), at epsilon (P, E), (P, E, 6): Gaussian DP."""
    out = np.zeros((*epsilon.shape, 6))
    wide = np.broadcast_to(mu[:, None], epsilon.shape)
    some = wide > 0
    scaled = epsilon / np.where(some, wide, 1.0)
    out[..., 0] = np.where(some, ndtr(wide / 2 - scaled), epsilon < 0)
    out[..., 4] = np.where(some, ndtr(-wide / 2 - scaled), epsilon < 0)
    stick = np.exp(log_deltas(wide.ravel(), np.abs(epsilon).ravel())).reshape(epsilon.shape)
    # The reverse pair has the same distribution: delta(eps) = 1 - e^eps (1 - delta(-eps)).
    negative = np.minimum(epsilon, 0.0)
    out[..., 2] = np.where(epsilon < 0, np.exp(negative) * stick - np.expm1(negative), stick)
    out[..., 1::2] = gaussian.RELATIVE_ERROR * out[..., ::2]
    return out


def _off_by(losses: PairLosses, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (1 + e^eps) times the total variation of the rounding, and r of its factor e^r, (P, E) each.

    A centred normal distribution whose covariance is off by R moves by at most sqrt(k) R / 2 in total variation, and
    by t / 2 for a mean off by t. Its density changes by a factor of at most e^((Z^2 + k) R / 2 + Z t + t^2 / 2) where
    the vector of standard normals is no longer than Z; twice that also covers R relative to the other distribution. Z
    is such that what is left out, times 1 + e^eps, is below ``_UNLIKELY``.
    """
    (relative, shift), k = losses.off.T[:, :, None], losses.gamma.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        total = (1 + np.exp(np.minimum(epsilon, 700.0))) * (np.sqrt(k) * relative + shift) / 2
        length = np.sqrt(k) + np.sqrt(2 * (np.maximum(epsilon, 0.0) + 1 - np.log(_UNLIKELY)))
        factor = (length**2 + k) * relative + 2 * length * shift + shift**2
    return np.minimum(np.nan_to_num(total, nan=1.0), 1.0), np.nan_to_num(factor, nan=np.inf)


def _from_rounding(losses: PairLosses, epsilon: np.ndarray, stick: np.ndarray) -> np.ndarray:
    """Bound what the rounding of gamma and nu does to the hockey stick at epsilon, (P, E) all.

    Two distributions that are eta off in total variation have one that is (1 + e^eps) eta off. Two that are within a
    factor e^r except for what is left out have at most e^r times that at eps - 2 r; it is looked at where the first
    bound is not small.
    """
    error, factor = _off_by(losses, epsilon)
    rough = np.flatnonzero(((error > _SMALL * stick) & (factor < 1)).any(axis=1))
    if rough.size:
        factor = np.minimum(factor[rough], 1.0)
        lower = _without_rounding(losses.gamma[rough], losses.nu[rough], epsilon[rough] - 2 * factor, 1)
        other = np.exp(factor) * (lower[..., 2] + lower[..., 3]) - stick[rough] + _UNLIKELY
        error[rough] = np.where(factor < 1, np.minimum(error[rough], np.maximum(other, 0.0)), error[rough])
    return error


def _rounded_bound(losses: PairLosses, epsilon: np.ndarray, bound: np.ndarray) -> float:
    """Return the largest of the bounds (P,) on the hockey stick at epsilon (P, 1), rounding included."""
    error, factor = (part[:, 0] for part in _off_by(losses, epsilon))
    above = bound + error
    if (error > _SMALL * bound.max()).any():
        factor = np.minimum(factor, 1.0)
        lower = _bounds(losses, np.ascontiguousarray(epsilon - 2 * factor[:, None]), 1)[:, 0, 1]
        above = np.where(factor < 1, np.minimum(above, np.exp(factor) * lower + _UNLIKELY), above)
    return min(float(above.max()), 1.0)


def _as_tails(raw: np.ndarray) -> ExactTails:
    upper, upper_error, stick, stick_error, lower, lower_error = np.moveaxis(raw, -1, 0)
    return ExactTails(upper, lower, stick, upper_error, lower_error, stick_error)


def _bounds(losses: PairLosses, epsilon: np.ndarray, wanted: int) -> np.ndarray:
    """Chernoff bounds of upper tail, hockey stick and lower tail, (P, E, 3); ``wanted`` as in ``all_bounds``."""
    out = np.zeros((*epsilon.shape, 3))
    all_bounds(np.ascontiguousarray(losses.gamma), np.ascontiguousarray(losses.nu), epsilon, wanted, out)
    out[losses.singular] = (1, 1, 0)
    return out


CURVE = Curve("exact curve of two Gaussian distributions", hockey_stick)
