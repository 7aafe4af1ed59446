"""Auditing with one run: a lower bound on epsilon from guesses about many coins that one release was made with.

Steinke, Nasr and Jagielski (2023), Privacy auditing with one (1) training run, Theorem 5.2. Each of m records is put
in or left out by a fair coin of its own; the auditor guesses r of the coins from the release, v of them rightly.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom


def chance_of(right: int, guesses: int, coins: int, epsilon: float, delta: float) -> float:
    """Return an upper bound on the probability of v = ``right`` or more right guesses of r under (epsilon, delta)-DP,
    m coins.

    With f(v) = P(Binomial(r, e^epsilon / (1 + e^epsilon)) >= v) it is f(v) + 2 m delta max_{i = 1..v} (f(v - i) -
    f(v)) / i, at most 1.
    """
    if not 0 <= right <= guesses <= coins:
        raise ValueError("more right guesses than guesses, or more guesses than coins")
    chance = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, chance))
    if right == 0:
        return 1.0
    steps = np.arange(1, right + 1)
    just_missed = np.cumsum(binom.pmf(right - steps, guesses, chance))
    return min(1.0, tail + 2 * coins * delta * float((just_missed / steps).max()))


def epsilon_lower(right: int, guesses: int, coins: int, delta: float, error: float) -> float:
    """Return the largest epsilon that so many right guesses refute, 0 if none; wrong with chance at most ``error``.

    It is finite: all guesses right are explained by a large epsilon.
    """
    if guesses == 0 or chance_of(right, guesses, coins, 0.0, delta) > error:
        return 0.0
    low, high = 0.0, 1.0
    while chance_of(right, guesses, coins, high, delta) <= error:
        low, high = high, 2 * high
        if high > 700:  # e^epsilon is about the largest float
            return low
    for _ in range(40):
        middle = (low + high) / 2
        refuted = chance_of(right, guesses, coins, middle, delta) <= error
        low, high = (middle, high) if refuted else (low, middle)
    return low


def right_guesses(score: np.ndarray, coins: np.ndarray, guesses: int) -> int:
    """Return how many guesses are right: the highest scores are guessed in, the lowest out, half of each.

    ``score`` and ``coins`` are (m,), the higher the score the more it looks like in; ``guesses`` is even and chosen
    before the release is seen.
    """
    order = np.argsort(score, kind="stable")
    half = guesses // 2
    return int((~coins[order[:half]]).sum() + coins[order[len(order) - half :]].sum())
