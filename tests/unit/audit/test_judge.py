"""Lower bounds: valid as often as they say, sharp where the truth is known, and zero where nothing leaks."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from meterdp.audit.judge import (
    Claim,
    Seen,
    best_event,
    epsilon_lower,
    judge,
    learned_scores,
    mu_lower,
    probability_high,
    probability_low,
)
from meterdp.privacy import gaussian

DELTA, ERROR = 1e-5, 0.05
REPEATS, RUNS = 200, 2000


def false_alarms(mu):
    """Return how often 95 % bounds from runs of N(mu, 1) and N(0, 1) exceed the true epsilon or mu."""
    generator, epsilon = np.random.default_rng(1), gaussian.epsilon_for(mu, DELTA)
    count = 0
    for _ in range(REPEATS):
        on_d, on_other = Seen(generator.normal(mu, 1, RUNS)), Seen(generator.normal(0, 1, RUNS))
        verdict = judge(on_d, on_other, Claim(epsilon, DELTA, mu), ERROR)
        count += verdict.epsilon_lower > epsilon or verdict.mu_lower > mu
    return count


@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
def test_bounds_exceed_the_truth_in_five_per_cent_of_audits_at_most(mu):
    """More than allowed of 200 audits at p < 1e-6 is an alarm."""
    assert binomtest(false_alarms(mu), REPEATS, ERROR, alternative="greater").pvalue > 1e-6


def test_a_learned_attack_judged_on_the_runs_that_trained_it_would_find_what_is_not_there():
    """Why runs are split: the same trees on the same noise, judged on runs of their own and on those they know."""
    noise = np.random.default_rng(2).normal(size=(2, 1000, 5))
    own, fresh = (
        learned_scores(*noise, [*seen])["boosted trees"]
        for seen in (noise, np.random.default_rng(4).normal(size=noise.shape))
    )
    bounds = []
    for scores in (own, fresh):
        hits = [(score >= 0).sum() for score in scores]
        bounds.append(float(mu_lower(*hits, 1000, ERROR)))
    assert bounds[0] > 0.2 and bounds[1] == 0


def test_a_learned_attack_finds_what_leaks_and_nothing_else():
    generator = np.random.default_rng(3)
    noise = generator.normal(size=(2, 6000, 5))
    claim = Claim(1.0, DELTA, 1.0)
    nothing = judge(Seen(numbers=noise[0]), Seen(numbers=noise[1]), claim, 0.01)
    assert nothing.epsilon_lower == 0 and nothing.mu_lower < 0.1
    noise[0, :, 3] += 1.0
    shifted = judge(Seen(numbers=noise[0]), Seen(numbers=noise[1]), claim, 0.01)
    assert 0.7 < shifted.mu_lower <= 1.0
    noise[0, :, 3] = 3 * (noise[0, :, 3] - 1.0)
    assert judge(Seen(numbers=noise[0]), Seen(numbers=noise[1]), claim, 0.01).epsilon_lower > 1.5


def test_limits_are_those_of_clopper_and_pearson():
    """Oracle: SciPy's exact binomial test."""
    for hits, trials in ((0, 50), (3, 50), (50, 50), (17, 4000)):
        exact = binomtest(hits, trials).proportion_ci(0.98, "exact")
        assert probability_low(hits, trials, 0.01) == pytest.approx(exact.low, rel=1e-9)
        assert probability_high(hits, trials, 0.01) == pytest.approx(exact.high, rel=1e-9)


def test_bounds_are_the_logarithm_and_the_normal_quantiles_of_the_limits():
    low = binomtest(900, 1000).proportion_ci(0.95, "exact").low
    high = binomtest(20, 1000).proportion_ci(0.95, "exact").high
    assert epsilon_lower(900, 20, 1000, 0.01, 0.05) == pytest.approx(math.log((low - 0.01) / high), rel=1e-9)
    assert epsilon_lower(20, 900, 1000, 0.01, 0.05) == 0 and mu_lower(20, 900, 1000, 0.05) == 0
    assert epsilon_lower(1000, 0, 1000, 0.0, 0.05) < math.log(1000), "never infinite"


def test_an_event_of_infinite_scores_is_found():
    rare = np.where(np.arange(2000) < 40, np.inf, 0.0)
    event, _ = best_event(rare, np.zeros(2000), lambda a, b, n: epsilon_lower(a, b, n, 0.0, 0.05), 2000)
    assert event.for_d and event.threshold == np.inf and event.hits(rare, np.zeros(2000)) == (40, 0)
    event, _ = best_event(np.zeros(2000), -rare, lambda a, b, n: epsilon_lower(a, b, n, 0.0, 0.05), 2000)
    assert not event.for_d and event.threshold == -np.inf
