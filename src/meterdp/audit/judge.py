"""One verdict: two samples of runs, the attacks they allow, and the lower bounds of the best of them.

An attack is a score of what an adversary sees, the higher the more it looks like a run on D than on its neighbour.
Where the distribution of what is seen is known the score is the likelihood ratio, which by Neyman and Pearson no
attack beats; otherwise it is learned from runs that are used for nothing else. The event an attack bets on is a
threshold on its score, chosen on other runs than those it is judged on. Because the runs are split, choosing the best
of any number of events and attacks costs no confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from meterdp.audit import bounds
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


# What a learned attack sees is clipped to so many standard deviations: a release may hold a very large number.
_LARGEST = 8.0


def learned_scores(train_d: np.ndarray, train_other: np.ndarray, seen: list[np.ndarray]) -> dict[str, list]:
    """Return the scores of attacks trained on runs on D and D', per attack one (n,) float64 for each of ``seen``.

    Logistic regression on the numbers and their squares, and gradient-boosted trees.

    Parameters
    ----------
    train_d, train_other : (n, f) float64
    seen : list of (m, f) float64
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

    Parameters
    ----------
    ratio : (R,) float64, optional
        ln p(seen | D) - ln p(seen | D'), where the distribution is known; may be infinite.
    numbers : (R, f) float64, optional
        The numbers themselves, for attacks that are learned.
    """

    ratio: np.ndarray | None = None
    numbers: np.ndarray | None = None


@dataclass(frozen=True)
class Claim:
    """What is claimed of a pair of neighbouring data sets.

    Parameters
    ----------
    epsilon, delta : float
    mu : float, optional
        GDP parameter, where the claim is one of Gaussian DP.
    """

    epsilon: float
    delta: float
    mu: float | None = None


@dataclass(frozen=True)
class Verdict:
    """Lower bounds and the attacks that gave them.

    Parameters
    ----------
    epsilon_lower, mu_lower : float
        The latter None where mu is not claimed.
    attack : str
        Name of the attack behind ``epsilon_lower``.
    trials : int
        Runs on either data set that judged.
    hits, other_hits : int
        How often the event behind ``epsilon_lower`` occurred on the data set it speaks for, and on the other.
    """

    epsilon_lower: float
    mu_lower: float | None
    attack: str
    trials: int
    hits: int
    other_hits: int


def judge(on_d: Seen, on_other: Seen, claim: Claim, error: float) -> Verdict:
    """Return lower bounds that hold together, except with probability ``error``.

    The best attack and its event are chosen on separate runs; then one event bounds epsilon and, where mu is
    claimed, another one bounds mu, each at half the error.

    Parameters
    ----------
    on_d, on_other : Seen
        Runs on D and on its neighbour D', equally many.
    claim : Claim
    error : float
    """
    scores, judged = _scores(on_d, on_other)
    each = error if claim.mu is None else error / 2
    of_epsilon = partial(bounds.epsilon_lower, delta=claim.delta, error=each)
    trials = len(next(iter(judged.values()))[0])
    attack, event = _best(scores, of_epsilon, trials)
    hits = event.hits(*judged[attack])
    epsilon = float(of_epsilon(*hits, trials))
    if claim.mu is None:
        return Verdict(epsilon, None, attack, trials, *hits)
    of_mu = partial(bounds.mu_lower, error=each)
    mu_attack, event = _best(scores, of_mu, trials)
    mu = float(of_mu(*event.hits(*judged[mu_attack]), trials))
    return Verdict(epsilon, mu, attack, trials, *hits)


def _best(scores: Mapping, bound, trials: int) -> tuple[str, Event]:
    found = {name: best_event(*pair, bound, trials) for name, pair in scores.items()}
    name = max(found, key=lambda n: found[n][1])
    return name, found[name][0]


def _scores(on_d: Seen, on_other: Seen) -> tuple[dict, dict]:
    """Return per attack the scores (on D, on D') of the runs that choose and of those that judge."""
    choosing, judging = {}, {}
    if on_d.ratio is not None:
        cut = int(CHOOSE * len(on_d.ratio))
        pair = (on_d.ratio, on_other.ratio)
        choosing[LIKELIHOOD_RATIO], judging[LIKELIHOOD_RATIO] = (
            tuple(r[:cut] for r in pair),
            tuple(r[cut:] for r in pair),
        )
        return choosing, judging
    runs = len(on_d.numbers)
    first, second = int(TRAIN * runs), int((TRAIN + CHOOSE) * runs)
    one, two = on_d.numbers, on_other.numbers
    seen = [one[first:second], two[first:second], one[second:], two[second:]]
    for name, score in learned_scores(one[:first], two[:first], seen).items():
        choosing[name], judging[name] = tuple(score[:2]), tuple(score[2:])
    return choosing, judging
