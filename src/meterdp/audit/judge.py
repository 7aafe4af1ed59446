"""One verdict: two samples of runs, the attacks they allow, and the lower bounds of the best of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from meterdp.audit import bounds
from meterdp.audit.attacks import learned_scores
from meterdp.audit.events import Event, best_event

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
    """Return lower bounds that hold together but for a chance of ``error``.

    The best attack and its event are chosen on runs of their own; then one event bounds epsilon and, where mu is
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
