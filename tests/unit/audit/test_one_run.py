"""The one-run theorem: exact small cases, mechanisms whose truth is known, and that guesses are counted rightly."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from meterdp.audit.one_run import chance_of, epsilon_lower, right_guesses
from meterdp.privacy import gaussian


def exact_tails(answer_chances, coins):
    """Return P(v or more right) of a mechanism by enumeration of all coins and answers; the guess is the answer.

    ``answer_chances`` maps coins (m,) to a dict of answers (m,) and their probabilities.
    """
    tails = np.zeros(coins + 1)
    for tossed in itertools.product((0, 1), repeat=coins):
        for answer, chance in answer_chances(tossed).items():
            right = sum(a == c for a, c in zip(answer, tossed, strict=True))
            tails[: right + 1] += chance / 2**coins
    return tails


def response(epsilon, reveal):
    """Each coin by randomised response, but shown as it is with chance ``reveal``: (epsilon, reveal)-DP."""
    keep = 1 / (1 + math.exp(-epsilon))
    keep = reveal + (1 - reveal) * keep

    def chances(tossed):
        answers = itertools.product((0, 1), repeat=len(tossed))
        return {a: math.prod(keep if x == c else 1 - keep for x, c in zip(a, tossed, strict=True)) for a in answers}

    return chances


def failing(epsilon, delta):
    """All coins by randomised response, but all shown at once with chance ``delta``: (epsilon, delta)-DP."""
    plain = response(epsilon, 0.0)

    def chances(tossed):
        out = {answer: (1 - delta) * chance for answer, chance in plain(tossed).items()}
        out[tossed] += delta
        return out

    return chances


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("coins", [1, 3, 5])
def test_without_delta_randomised_response_reaches_the_theorem_exactly(epsilon, coins):
    exact = exact_tails(response(epsilon, 0.0), coins)
    for right in range(coins + 1):
        assert chance_of(right, coins, coins, epsilon, 0.0) == pytest.approx(exact[right], rel=1e-12)


@pytest.mark.parametrize("mechanism", [response, failing])
@pytest.mark.parametrize("delta", [1e-3, 0.05])
def test_with_delta_no_mechanism_exceeds_the_theorem(mechanism, delta):
    for coins in (1, 3, 5):
        exact = exact_tails(mechanism(0.7, delta), coins)
        plain = exact_tails(response(0.7, 0.0), coins)
        assert (exact[1:] > plain[1:]).all(), "the case needs the term in delta"
        for right in range(coins + 1):
            assert exact[right] <= chance_of(right, coins, coins, 0.7, delta) * (1 + 1e-12)


def test_the_term_in_delta_is_the_printed_one():
    """Theorem 5.2 written out: f(v) + 2 m delta max_i (f(v - i) - f(v)) / i."""
    chance, guesses, coins, right, delta = 1 / (1 + math.exp(-1.0)), 30, 50, 26, 1e-4

    def tail(v):
        return sum(binom.pmf(k, guesses, chance) for k in range(max(v, 0), guesses + 1))

    worst = max((tail(right - i) - tail(right)) / i for i in range(1, coins + 1))
    assert chance_of(right, guesses, coins, 1.0, delta) == pytest.approx(tail(right) + 2 * coins * delta * worst)


def test_the_bound_is_the_epsilon_at_which_the_guesses_become_credible():
    lower = epsilon_lower(95, 100, 200, 1e-5, 0.05)
    assert chance_of(95, 100, 200, lower, 1e-5) <= 0.05 < chance_of(95, 100, 200, lower + 1e-6, 1e-5)
    assert epsilon_lower(50, 100, 200, 1e-5, 0.05) == 0 and epsilon_lower(0, 0, 200, 1e-5, 0.05) == 0
    assert epsilon_lower(100, 100, 200, 0.0, 0.05) < math.inf
    with pytest.raises(ValueError, match="more right guesses"):
        chance_of(5, 4, 10, 1.0, 0.0)


@pytest.mark.parametrize("normal", [False, True])
def test_bounds_of_one_run_exceed_the_truth_in_five_per_cent_of_audits_at_most(normal):
    """Of 100 audits of 500 coins, each answered by randomised response or with Gaussian noise for (1, 1e-3)."""
    generator, epsilon, delta = np.random.default_rng(5), 1.0, 1e-3 if normal else 0.0
    lower = []
    for _ in range(100):
        coins = generator.random(500) < 0.5
        if normal:
            score = coins * gaussian.mu_for(epsilon, delta) + generator.normal(size=500)
        else:
            keep = generator.random(500) < 1 / (1 + math.exp(-epsilon))
            score = np.where(keep, coins, ~coins) + 0.1 * generator.random(500)
        lower.append(epsilon_lower(right_guesses(score, coins, 250), 250, 500, delta, 0.05))
    assert binomtest(int((np.array(lower) > epsilon).sum()), 100, 0.05, alternative="greater").pvalue > 1e-6
    assert np.median(lower) > (0.05 if normal else 0.5), "the audit has teeth"


def test_the_clearest_scores_are_guessed():
    coins = np.array([True, False, True, False, True, False])
    assert right_guesses(np.array([9, -9, 1, 2, -8, 8.0]), coins, 2) == 2
    assert right_guesses(np.array([9, -9, 1, 2, -8, 8.0]), coins, 4) == 2
    assert right_guesses(np.array([9, -9, 1, 2, -8, 8.0]), coins, 0) == 0
