"""Lower bounds on privacy parameters: two samples of runs, the attacks they allow, and the bounds of the best of
them.

If a mechanism is (epsilon, delta)-DP, P(S) <= e^epsilon Q(S) + delta for every event S; if it is mu-GDP, Phi^-1(P(S))
- Phi^-1(Q(S)) <= mu (Dong, Roth and Su 2022, Definition 3 and (5)). With confidence limits on P(S) and Q(S) (Clopper
and Pearson 1934) each becomes a lower bound that holds with the stated confidence. The bound on mu is far sharper on
few runs, but it refutes a claim of Gaussian DP only.

An attack is a score of what an adversary sees, the higher the more it looks like a run on D than on its neighbour.
Where the distribution of what is seen is known the score is the likelihood ratio, which by Neyman and Pearson no
attack beats; otherwise it is learned from runs that are used for nothing else. The event an attack bets on is a
threshold on its score, chosen on other runs than those it is judged on. Because the runs are split, choosing the best
of any number of events and attacks costs no confidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtri


def probability_low(hits: np.ndarray, trials: int, error: float) -> np.ndarray:
    """Return the lower Clopper-Pearson limit of a probability, wrong with chance at most ``error`` (one-sided)."""
    hits = np.asarray(hits)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), trials - hits + 1, error), 0.0)


def probability_high(hits: np.ndarray, trials: int, error: float) -> np.ndarray:
    """Return the upper Clopper-Pearson limit; see :func:`probability_low`."""
    hits = np.asarray(hits)
    return np.where(hits < trials, betainccinv(hits + 1, np.maximum(trials - hits, 1e-9), error), 1.0)


def epsilon_lower(hits_p: np.ndarray, hits_q: np.ndarray, trials: int, delta: float, error: float) -> np.ndarray:
    """Return a lower bound on epsilon at ``delta``, at least 0; too large with chance at most ``error``.

    From how often the event occurred on either data set; half of the error is spent on each limit.
    """
    low = probability_low(hits_p, trials, error / 2) - delta
    high = probability_high(hits_q, trials, error / 2)
    return np.log(np.maximum(low, high) / high)


def mu_lower(hits_p: np.ndarray, hits_q: np.ndarray, trials: int, error: float) -> np.ndarray:
    """Return a lower bound on the GDP parameter mu, at least 0, in the same way."""
    low = probability_low(hits_p, trials, error / 2)
    high = probability_high(hits_q, trials, error / 2)
    return np.maximum(ndtri(low) - ndtri(high), 0.0)


# Thresholds that are tried on each side; geometric, because good events lie in the tails.
_CANDIDATES = 100
_CAUTION = 0.05

Bound = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


@dataclass(frozen=True)
class Event:
    """The event score >= threshold, which speaks for D, or score <= threshold, which speaks for its neighbour D'.

    The threshold may be infinite.
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

    Scores (n,) are of runs on D and on D', the higher the more they look like D; infinite ones are allowed. ``bound``
    makes a lower bound of the hits on the one, the hits on the other and the trials.
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


# What a learned attack sees is clipped to so many standard deviations: a release may hold a very large number.
_LARGEST = 8.0


def learned_scores(train_d: np.ndarray, train_other: np.ndarray, seen: list[np.ndarray]) -> dict[str, list]:
    """Return the scores of attacks trained on runs (n, f) on D and D', per attack one (m,) float64 for each of
    ``seen`` (m, f).

    Logistic regression on the numbers and their squares, and gradient-boosted trees.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    x = np.concatenate([train_d, train_other])
    label = np.repeat([1, 0], [len(train_d), len(train_other)])
    mean, std = x.mean(axis=0), x.std(axis=0) + 1e-12

    def prepared(values: np.ndarray) -> np.ndarray:
        return np.clip((values - mean) / std, -_LARGEST, _LARGEST)

    def with_squares(values: np.ndarray) -> np.ndarray:
        return np.concatenate([prepared(values), prepared(values) ** 2], axis=1)

    regression = LogisticRegression(C=0.1, max_iter=500).fit(with_squares(x), label)
    trees = HistGradientBoostingClassifier(max_iter=60, max_depth=3, early_stopping=False, random_state=0)
    trees.fit(prepared(x), label)
    return {
        "logistic regression": [regression.decision_function(with_squares(v)) for v in seen],
        "boosted trees": [trees.decision_function(prepared(v)) for v in seen],
    }


# Shares of the runs that train a learned attack and that choose the event; the rest judges it.
TRAIN, CHOOSE = 0.3, 0.2
LIKELIHOOD_RATIO = "likelihood ratio"


@dataclass(frozen=True)
class Seen:
    """What an adversary sees of R independent runs on one data set.

    Either ln p(seen | D) - ln p(seen | D'), (R,), where the distribution is known, which may be infinite, or the
    numbers themselves, (R, f), for attacks that are learned.
    """

    ratio: np.ndarray | None = None
    numbers: np.ndarray | None = None


@dataclass(frozen=True)
class Claim:
    """What is claimed of a pair of neighbouring data sets; mu, where the claim is one of Gaussian DP."""

    epsilon: float
    delta: float
    mu: float | None = None


@dataclass(frozen=True)
class Verdict:
    """Lower bounds, that on mu None where it is not claimed, and the attack that gave the one on epsilon.

    ``trials`` runs on either data set judged; the event behind it occurred so often on the data set it speaks for,
    and on the other.
    """

    epsilon_lower: float
    mu_lower: float | None
    attack: str
    trials: int
    hits: int
    other_hits: int


def judge(on_d: Seen, on_other: Seen, claim: Claim, error: float) -> Verdict:
    """Return lower bounds that hold together, except with probability ``error``, from equally many runs on D and on
    D'.

    The best attack and its event are chosen on separate runs; then one event bounds epsilon and, where mu is claimed,
    another one bounds mu, each at half the error.
    """
    scores = _scores(on_d, on_other)
    each = error if claim.mu is None else error / 2
    of_epsilon = partial(epsilon_lower, delta=claim.delta, error=each)
    attack, hits, trials = _hits_of_best(scores, of_epsilon)
    epsilon = float(of_epsilon(*hits, trials))
    if claim.mu is None:
        return Verdict(epsilon, None, attack, trials, *hits)
    of_mu = partial(mu_lower, error=each)
    mu = float(of_mu(*_hits_of_best(scores, of_mu)[1], trials))
    return Verdict(epsilon, mu, attack, trials, *hits)


# Per attack the scores (on D, on D') of the runs that choose, and those of the runs that judge.
Scores = dict[str, tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]]


def _hits_of_best(scores: Scores, bound: Bound) -> tuple[str, tuple[int, int], int]:
    """Return the attack that promises the largest bound, how often its event occurred, and in how many runs."""
    trials = len(next(iter(scores.values()))[1][0])
    found = {name: best_event(*choosing, bound, trials) for name, (choosing, _) in scores.items()}
    name = max(found, key=lambda n: found[n][1])
    return name, found[name][0].hits(*scores[name][1]), trials


def _scores(on_d: Seen, on_other: Seen) -> Scores:
    if on_d.ratio is not None:
        cut, pair = int(CHOOSE * len(on_d.ratio)), (on_d.ratio, on_other.ratio)
        return {LIKELIHOOD_RATIO: (tuple(r[:cut] for r in pair), tuple(r[cut:] for r in pair))}
    runs = len(on_d.numbers)
    first, second = int(TRAIN * runs), int((TRAIN + CHOOSE) * runs)
    one, two = on_d.numbers, on_other.numbers
    seen = [one[first:second], two[first:second], one[second:], two[second:]]
    learned = learned_scores(one[:first], two[:first], seen)
    return {name: (tuple(score[:2]), tuple(score[2:])) for name, score in learned.items()}
