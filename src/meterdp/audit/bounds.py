"""Lower bounds on privacy parameters from how often an event occurs on two neighbouring data sets.

If a mechanism is (epsilon, delta)-DP, P(S) <= e^epsilon Q(S) + delta for every event S; if it is mu-GDP,
Phi^-1(P(S)) - Phi^-1(Q(S)) <= mu (Dong, Roth and Su 2022, Definition 3 and (5)). With confidence limits on P(S) and
Q(S) (Clopper and Pearson 1934) each becomes a lower bound that holds with the stated confidence. The bound on mu is
far sharper on few runs, but it refutes a claim of Gaussian DP only.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtri

from meterdp.accounting import responses


def probability_low(hits: np.ndarray, trials: int, error: float) -> np.ndarray:
    """Return the lower Clopper-Pearson limit of a probability, wrong with chance at most ``error``.

    Parameters
    ----------
    hits : (...) int array
    trials : int
    error : float
        One-sided, in (0, 1).
    """
    hits = np.asarray(hits)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), trials - hits + 1, error), 0.0)


def probability_high(hits: np.ndarray, trials: int, error: float) -> np.ndarray:
    """Return the upper Clopper-Pearson limit; see :func:`probability_low`."""
    hits = np.asarray(hits)
    return np.where(hits < trials, betainccinv(hits + 1, np.maximum(trials - hits, 1e-9), error), 1.0)


def epsilon_lower(hits_p: np.ndarray, hits_q: np.ndarray, trials: int, delta: float, error: float) -> np.ndarray:
    """Return a lower bound on epsilon at ``delta``, at least 0; too large with chance at most ``error``.

    Parameters
    ----------
    hits_p, hits_q : (...) int array
        How often the event occurred on either data set.
    trials : int
        Runs on each.
    delta : float
        In [0, 1).
    error : float
        In (0, 1); half of it is spent on each limit.
    """
    low = probability_low(hits_p, trials, error / 2) - delta
    high = probability_high(hits_q, trials, error / 2)
    return np.log(np.maximum(low, high) / high)


def mu_lower(hits_p: np.ndarray, hits_q: np.ndarray, trials: int, error: float) -> np.ndarray:
    """Return a lower bound on the GDP parameter mu, at least 0; parameters as in :func:`epsilon_lower`."""
    low = probability_low(hits_p, trials, error / 2)
    high = probability_high(hits_q, trials, error / 2)
    return np.maximum(ndtri(low) - ndtri(high), 0.0)


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the epsilon that a ``mu``-GDP mechanism has at ``delta``, from above."""
    return responses.epsilon_after(mu, 0.0, 1, delta, 1) if mu > 0 else 0.0
