"""How near synthetic households come to real ones: copies, and what an attacker learns of who is among the real ones.

Households are compared by their vectors (vector.py) in units of the half width of the public bounds.
"""

from __future__ import annotations

import numpy as np

_ROWS = 512
# A pair of households is never nearer than this, so that copies have a finite score.
_LEAST = 1e-9


def nearest(x: np.ndarray, to: np.ndarray, itself: bool = False) -> np.ndarray:
    """Return the Euclidean distance of each of (n, d) to the nearest of (m, d), (n,); of ``itself`` to another."""
    out, square = np.empty(len(x)), (to**2).sum(axis=1)
    for begin in range(0, len(x), _ROWS):
        rows = x[begin : begin + _ROWS]
        distance = (rows**2).sum(axis=1)[:, None] + square - 2 * rows @ to.T
        if itself:
            distance[np.arange(len(rows)), begin + np.arange(len(rows))] = np.inf
        out[begin : begin + _ROWS] = distance.min(axis=1)
    return np.sqrt(np.maximum(out, 0.0))


def distance_scores(x: np.ndarray, reference: np.ndarray, synthetic: np.ndarray) -> np.ndarray:
    """Return by how much (n, d) targets are nearer to synthetic households than to others that are known, (n,) logs.

    That is what an attacker scores who has the files alone, and vectors of some other households to compare with.
    """
    apart, near = nearest(x, reference), nearest(x, synthetic)
    return np.log(np.maximum(apart, _LEAST)) - np.log(np.maximum(near, _LEAST))


def odds(members: np.ndarray, others: np.ndarray) -> float:
    """Return the odds that an attacker is right who has a score of a target, which is as likely a member as not.

    The threshold is learnt on every other score and tried on the rest, and the other way round; 1 is a guess. An
    attack that is never wrong has odds of as many as were tried, plus one.
    """
    right, tried = 0.0, 0
    for part in (0, 1):
        learn, judge = ((members[p::2], others[p::2]) for p in (part, 1 - part))
        values = np.sort(np.concatenate(learn))
        above = [np.searchsorted(np.sort(of), values, side="left") / len(of) for of in learn]
        threshold = values[np.argmax(above[1] - above[0])]
        right += (judge[0] >= threshold).mean() + (judge[1] < threshold).mean()
        tried += 2
    targets = 2 * min(len(members), len(others))
    right *= targets / tried
    return float((right + 1) / (targets - right + 1))


def membership_odds(members: np.ndarray, others: np.ndarray, synthetic: np.ndarray) -> float:
    """Return the odds of :func:`odds` for real households (n, d) and others like them (m, d) that were not used.

    Half of the others are those that the attacker knows.
    """
    known, unknown = others[::2], others[1::2]
    return odds(*(distance_scores(x, known, synthetic) for x in (members, unknown)))
