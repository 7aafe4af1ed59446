"""Smallest ball around points: the minimax centre (Chebyshev centre) of deterministic queries.

At a budget of the squared radius every label's forecast can be moved to the centre, so its squared radius is the
limit of what any design needs when queries are deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ROUNDS_PER_DIMENSION = 200
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Ball:
    """A ball around ``centre`` (d,) that contains all points, its radius recomputed from them.

    By duality no ball with a squared radius below ``lower_bound`` contains them.
    """

    centre: np.ndarray
    squared_radius: float
    lower_bound: float


def smallest_ball(points: np.ndarray) -> Ball:
    """Return the smallest enclosing ball of points (n, d).

    The centre walks towards the circumcentre of the points on the boundary; a point met on the way joins them, one
    with a negative affine weight leaves (Fischer, Gaertner and Kutz 2003). With weights w >= 0 of sum 1 the bound is
    sum w |x|^2 - |sum w x|^2.
    """
    origin = points.mean(axis=0)
    x = points - origin
    scale = np.abs(x).max(initial=0.0)
    if scale == 0:
        return Ball(origin, 0.0, 0.0)
    x = x / scale
    centre = np.zeros(x.shape[1])
    support = [int(np.argmax(_squares(x - centre)))]
    weights = np.ones(1)
    for _ in range(ROUNDS_PER_DIMENSION * (x.shape[1] + 1)):
        target, weights = _projection(x[support], centre)
        way = target - centre
        if way @ way > TOLERANCE**2:
            share, met = _first_met(x, support, centre, way)
            centre = centre + share * way
            if met is not None:
                support.append(met)
                continue
        if weights.min() >= -TOLERANCE:
            break
        support.pop(int(weights.argmin()))
    weights = np.maximum(weights, 0)[: len(support)]
    weights = weights / weights.sum()
    mean = weights @ x[support]
    bound = weights @ _squares(x[support] - mean)
    return Ball(origin + scale * centre, float(scale**2 * _squares(x - centre).max()), float(scale**2 * bound))


def _squares(x: np.ndarray) -> np.ndarray:
    return np.einsum("ni,ni->n", x, x)


def _projection(support: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the projection of the centre on the affine hull of the support, and its affine weights."""
    spans = (support[1:] - support[0]).T
    inner = np.linalg.lstsq(spans, centre - support[0], rcond=None)[0] if spans.size else np.zeros(0)
    return support[0] + spans @ inner, np.concatenate([[1 - inner.sum()], inner])


def _first_met(x: np.ndarray, support: list[int], centre: np.ndarray, way: np.ndarray) -> tuple[float, int | None]:
    """Return how far the centre walks before another point touches the shrinking ball, and that point."""
    edge = x[support[0]]
    closing = 2 * (edge - x) @ way
    room = _squares((edge - centre)[None])[0] - _squares(x - centre)
    closing[support] = 0.0
    share = np.where(closing > TOLERANCE, np.maximum(room, 0.0) / np.maximum(closing, 1e-300), np.inf)
    met = int(share.argmin())
    return (float(share[met]), met) if share[met] < 1 else (1.0, None)
