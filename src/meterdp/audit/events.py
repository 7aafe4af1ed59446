"""The event an attack bets on: a threshold on its score, chosen on other runs than those it is judged on.

Because the runs are split, choosing the best of any number of events and attacks costs no confidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meterdp.audit.bounds import probability_high, probability_low

# Thresholds that are tried on each side; geometric, because good events lie in the tails.
_CANDIDATES = 100
_CAUTION = 0.05

Bound = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


@dataclass(frozen=True)
class Event:
    """The event score >= threshold, which speaks for D, or score <= threshold, which speaks for its neighbour D'.

    Parameters
    ----------
    threshold : float
        May be infinite.
    for_d : bool
        Which of the two.
    """

    threshold: float
    for_d: bool

    def hits(self, score_d: np.ndarray, score_other: np.ndarray) -> tuple[int, int]:
        """Return how often the event occurs on the data set it speaks for, and on the other."""
        if self.for_d:
            return int((score_d >= self.threshold).sum()), int((score_other >= self.threshold).sum())
        return int((score_other <= self.threshold).sum()), int((score_d <= self.threshold).sum())


def best_event(score_d: np.ndarray, score_other: np.ndarray, bound: Bound, judging: int) -> tuple[Event, float]:
    """Return the event that promises the largest bound on ``judging`` other runs, and the bound it promises.

    Parameters
    ----------
    score_d, score_other : (n,) float64
        Scores of runs on D and on D', the higher the more they look like D; infinite ones are allowed.
    bound : callable (hits on the one, hits on the other, trials) -> lower bound
    judging : int
    """
    n = len(score_d)
    one, two = np.sort(score_d), np.sort(score_other)
    # Ranks within each sample, so that both tails of both distributions have thresholds.
    rank = np.unique(np.geomspace(1, n, _CANDIDATES).astype(int)) - 1
    rank = np.unique(np.concatenate([rank, n - 1 - rank]))
    threshold = np.unique(np.concatenate([one[rank], two[rank]]))
    above = [n - np.searchsorted(s, threshold, side="left") for s in (one, two)]
    below = [np.searchsorted(s, threshold, side="right") for s in (one, two)]

    def promised(own: np.ndarray, other: np.ndarray) -> np.ndarray:
        # Cautious estimates, or the luckiest of all events would win; they are chances of choosing badly, no more.
        low, high = probability_low(own, n, _CAUTION), probability_high(other, n, _CAUTION)
        return bound(low * judging, high * judging, judging)

    up, down = promised(above[0], above[1]), promised(below[1], below[0])
    best = max((up.max(), True, up.argmax()), (down.max(), False, down.argmax()), key=lambda b: b[0])
    return Event(float(threshold[best[2]]), best[1]), float(best[0])
