"""Privacy of the sound forecast, measured: the loss between neighbouring households against the claimed curve."""

from __future__ import annotations

import dataclasses
import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import beta, binomtest, chi2, kstest

from meterdp.accounting.responses import delta_with_response, mu_beside
from meterdp.core.noise import StudyNoise
from meterdp.groupforecast.mechanism import ForecastRecords, GroupForecast
from meterdp.groupforecast.plan import GroupPublic, assigned_levels
from tests.statistical.replay import exceeding, gaussian_loss, margin, recorded, replayed

# What a run spends is exact, so few runs see too little noise; 500 still tell labels kept too often from the claim.
# Tests of frequencies take more.
DRAWS, MANY = 500, 2000
MARGIN = margin(DRAWS)
N, STEPS = 40, 4
LEVELS = (0.0, 0.5, 1.0, 2.0, 4.0)
CIRCUIT = tuple((np.arange(N) % 4).tolist())


@cache
def calibrate(epsilon, groups="assigned"):
    return GroupForecast.calibrate(GroupPublic(epsilon, 1e-5, N, STEPS, 1.0, groups=groups, circuit=CIRCUIT))


def claimed(plan, level):
    """The delta at ``level`` that a plan is charged for."""
    return delta_with_response(plan.mu, plan.assignment_epsilon, plan.groups, level)


@pytest.fixture(scope="module")
def x():
    generator = np.random.default_rng(11)
    return math.log(0.5) + 1.2 * generator.standard_normal((N, 1)) + 0.3 * generator.standard_normal((N, STEPS))


def record(mechanism, x, seed, draws=DRAWS):
    """Release ``draws`` times through the public call; return the log and the result of each."""
    noise = StudyNoise(seed, "group privacy")
    return recorded(mechanism, lambda spied: [spied.release(ForecastRecords(x), noise) for _ in range(draws)])


def measurements(log):
    """The entries of a log that are no assignment: the step of one is an epsilon."""
    return [entry for entry in log if not isinstance(entry[0], float)]


def losses(mechanism, runs, neighbour):
    """Return the privacy loss, the Gaussian mu and the assignment loss of every run.

    Along recorded answers the release must be the same to the bit. On the way the loss of each measurement must be
    N(mu^2/2, mu^2), by its sum of squares; false alarm 1e-9 a step.
    """
    loss, mu2, assigned = np.zeros((3, len(runs)))
    squares = {}
    for i, (log, released) in enumerate(runs):
        exact, again = replayed(lambda answer: mechanism.run(neighbour, answer, answer), log)
        assert np.array_equal(again.group, released.group)
        assert np.array_equal(again.group_log_kwh, released.group_log_kwh)
        for (step, own, answer), other in zip(log, exact, strict=True):
            if isinstance(step, float):
                assert (own != other).sum() <= 1, "one household changes its own label only"
                assigned[i] += step * ((answer == own).sum() - (answer == other).sum())
                continue
            here, moved = gaussian_loss(step, own, other, answer)
            loss[i] += here
            mu2[i] += moved
            if moved > 1e-12:  # below that the difference of two sums is rounding
                squares.setdefault(step.name, []).append((here - moved / 2) ** 2 / moved)
    for values in squares.values():
        assert min(chi2.sf(sum(values), len(values)), chi2.cdf(sum(values), len(values))) > 0.5e-9
    return loss + assigned, np.sqrt(mu2), assigned


def replaced(x, index, value):
    out = x.copy()
    out[index] = value
    return out


def neighbours(x):
    """Pairs (D, D'): random, extreme, just across the border of two groups, opposite inside one, missing."""
    zigzag = np.where(np.arange(STEPS) % 2, 1.5, -1.5)
    middle = math.log(0.5)
    return {
        "another household": (x, replaced(x, 0, x[1] + 0.7)),
        "lowest to highest": (replaced(x, 3, -30.0), replaced(x, 3, 30.0)),
        "across a border": (replaced(x, 5, middle - 0.01), replaced(x, 5, middle + 0.01)),
        "opposite inside a group": (replaced(x, 7, middle + zigzag), replaced(x, 7, middle - zigzag)),
        "no forecast": (x, replaced(x, 0, np.nan)),
    }


PAIRS = list(neighbours(np.zeros((8, STEPS))))


@pytest.mark.parametrize(
    ("groups", "epsilon", "pair"),
    [
        *(("assigned", 4.0, pair) for pair in PAIRS),
        ("assigned", 1.5, "lowest to highest"),
        ("one", 4.0, "lowest to highest"),
        ("circuit", 4.0, "lowest to highest"),
    ],
)
def test_replacing_a_household_stays_below_the_claimed_curve(x, groups, epsilon, pair):
    """Exact: no run spends more than mu and the assignment's epsilon. Monte Carlo: false alarm 1e-9 a comparison."""
    mechanism = calibrate(epsilon, groups)
    plan = mechanism.plan
    one, two = neighbours(x)[pair]
    for own, neighbour in ((one, two), (two, one)):
        loss, mu, assigned = losses(mechanism, record(mechanism, own, len(pair)), neighbour)
        assert mu.max() <= plan.mu * (1 + 1e-9)
        assert np.abs(assigned).max() <= plan.assignment_epsilon * (1 + 1e-12)
        for level in LEVELS:
            assert exceeding(loss, level) <= claimed(plan, level) + MARGIN
    assert claimed(plan, epsilon) <= 1e-5


def test_the_claim_is_not_wasteful(x):
    """The extreme pair spends all of the assignment, half of mu at least, and most of delta at small epsilon."""
    mechanism = calibrate(6.0)
    plan = mechanism.plan
    one, two = neighbours(x)["lowest to highest"]
    loss, mu, assigned = losses(mechanism, record(mechanism, one, 1), two)
    assert mu.max() > 0.5 * plan.mu
    assert np.abs(assigned).max() == pytest.approx(plan.assignment_epsilon)
    assert exceeding(loss, 1.0) > 0.8 * claimed(plan, 1.0)


def test_who_sees_only_the_files_cannot_beat_the_claim_and_nearly_reaches_it(x):
    """Lower bound on epsilon from the files alone: is the group of household 3 the highest? Confidence 1 - 1e-9 each.

    The bound must lie below the claim; it also lies above half of it, so the test can fail.
    """
    mechanism, epsilon = calibrate(4.0), 4.0
    one, two = neighbours(x)["lowest to highest"]
    hits = []
    for seed, data in ((21, two), (22, one)):
        noise = StudyNoise(seed, "files only")
        said = [mechanism.release(ForecastRecords(data), noise) for _ in range(MANY)]
        hits.append(sum(r.released_log_kwh[3].mean() == r.released_log_kwh.mean(axis=1).max() for r in said))
    low = binomtest(hits[0], MANY).proportion_ci(1 - 2e-9, "exact").low
    high = binomtest(hits[1], MANY).proportion_ci(1 - 2e-9, "exact").high
    assert 0.5 * epsilon < math.log((low - 1e-5) / high) <= epsilon


def test_replaying_the_same_records_gives_no_loss(x):
    mechanism = calibrate(6.0)
    loss, mu, _ = losses(mechanism, record(mechanism, x, 2, 200), x)
    assert (loss == 0).all() and (mu == 0).all()


@pytest.mark.parametrize("groups", ["assigned", "one", "circuit"])
def test_noise_has_the_calibrated_scale(x, groups):
    """Kolmogorov-Smirnov of all entries at the scale charged, and at 1.3 and 0.77 times it; errors below 1e-9.

    What the scales spend is added up here from radii written out again, and must be the mu the curve leaves.
    """
    mechanism = calibrate(6.0, groups)
    plan = mechanism.plan
    logs = [measurements(log) for log, _ in record(mechanism, x, 3, MANY)]
    steps = [step for step, _, _ in logs[0]]
    assert [step.name for step in steps] == {"assigned": ["common", "groups"], "one": ["common"]}.get(
        groups, ["circuits"]
    ), "every step is taken once, in order"
    levels, shares = assigned_levels(plan.groups, plan.assignment_epsilon)
    left = 1.2 * math.sqrt(1 - levels**2 @ shares)
    radii = {"common": 1.2, "circuits": 1.2, "groups": left}
    spent = math.sqrt(sum((2 * radii[s.name] * math.sqrt(STEPS) / s.noise_std) ** 2 for s in steps))
    mu = mu_beside(plan.assignment_epsilon, plan.groups if groups == "assigned" else 1, 6.0, 1e-5)
    assert spent == pytest.approx(mu, rel=1e-12)
    for position, step in enumerate(steps):
        noise = np.array([(log[position][2] - log[position][1]).ravel() for log in logs]) / step.noise_std
        for factor, accepted in ((1.0, True), (1.3, False), (0.77, False)):
            assert (kstest(noise.ravel() * factor, "norm").pvalue > 1e-9) == accepted


def test_labels_are_kept_as_often_as_charged(x):
    """Exact binomial test of the share of kept labels over all runs and households; false alarm 1e-9.

    The draws put a tenth fewer changed labels eight standard deviations away, two more than the test needs.
    """
    mechanism, draws = calibrate(4.0), 3000
    plan = mechanism.plan
    assignments = [entry for log, _ in record(mechanism, x, 4, draws) for entry in log if isinstance(entry[0], float)]
    kept = sum(int((own == said).sum()) for _, own, said in assignments)
    keep = math.exp(plan.assignment_epsilon) / (math.exp(plan.assignment_epsilon) + plan.groups - 1)
    assert binomtest(kept, draws * N, keep).pvalue > 1e-9
    assert binomtest(kept, draws * N, 1 - 1.1 * (1 - keep)).pvalue < 1e-9, "a tenth fewer changed labels is seen"


def test_every_number_and_label_has_randomness_of_its_own(x):
    """Correlations r over the draws of all pairs of noises and changed labels; Bonferroni at 1e-9 in all.

    Of independent normal numbers r^2 has the distribution Beta(1/2, MANY/2 - 1); a tenth more is for labels, which
    are not.
    """
    runs = record(calibrate(2.0), x, 8, MANY)
    rows = []
    for log, _ in runs:
        parts = [answer == own if isinstance(step, float) else answer - own for step, own, answer in log]
        rows.append(np.concatenate([np.ravel(part).astype(float) for part in parts]))
    data = np.array(rows)
    pairs = data.shape[1] * (data.shape[1] - 1) / 2
    largest = np.abs(np.corrcoef(data.T) - np.eye(data.shape[1])).max()
    assert largest <= 1.1 * math.sqrt(beta.isf(1e-9 / pairs, 0.5, MANY / 2 - 1))


@pytest.mark.parametrize("mutant", ["noise", "assignment"])
def test_a_mutant_that_randomises_too_little_is_caught(x, mutant):
    """Half the noise spends more than mu; labels that are kept more often than charged exceed the curve."""
    mechanism = calibrate(4.0)
    plan = mechanism.plan
    if mutant == "noise":
        thin = dataclasses.replace(plan, common=dataclasses.replace(plan.common, noise_std=plan.common.noise_std / 2))
        thin = dataclasses.replace(thin, group=dataclasses.replace(plan.group, noise_std=plan.group.noise_std / 2))
    else:
        thin = dataclasses.replace(plan, assignment_epsilon=plan.assignment_epsilon + 1)
    one, two = neighbours(x)["lowest to highest"]
    careless = dataclasses.replace(mechanism, plan=thin)
    loss, mu, _ = losses(careless, record(careless, one, 5), two)
    if mutant == "noise":
        assert mu.max() > plan.mu
    else:
        assert max(exceeding(loss, level) - claimed(plan, level) for level in LEVELS) > MARGIN
