"""Public rules: the basis, weights that cost least noise, what clipping is expected to take, and the error."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtri

from meterdp.errors import InputError
from meterdp.feeders import plan as rules
from meterdp.feeders.plan import (
    Choice,
    Observed,
    conditional,
    cosines,
    expected_excess,
    lost_share,
    posterior,
    predicted_error,
    public_distribution,
    spread,
)
from tests.unit.feeders.made_up import DAYS, METERS, PER_DAY, calibrate, public


def test_the_basis_is_orthonormal_and_its_first_row_the_level():
    assert np.allclose(cosines(7) @ cosines(7).T, np.eye(7), atol=1e-14)
    plan = calibrate(50.0).plan
    assert np.allclose(plan.basis @ plan.basis.T, np.eye(len(plan.basis)), atol=1e-13)
    assert np.ptp(plan.basis[0]) < 1e-15 and plan.block[0] == rules.LEVEL
    # Rows of means over the days are the same every day, the others add up to nothing over the days.
    by_day = plan.basis.reshape(len(plan.basis), DAYS, PER_DAY)
    assert np.abs(np.ptp(by_day, axis=1)[plan.block != rules.DAY]).max() < 1e-15
    assert np.abs(by_day.sum(axis=1)[plan.block == rules.DAY]).max() < 1e-14
    assert (plan.basis.shape[0] >= len(plan.own.weight)) and len(plan.basis) == len(plan.common.weight)


def test_weights_fit_a_typical_shape_into_the_ball_with_the_least_noise():
    """Oracle: random weights of the same mean square norm cost more."""
    household = np.array([9.0, 3.0, 2.0, 0.5, 0.1])
    choice = Choice(5, 6.0, 1.4, 0.6)
    weight = choice.weights(household, 2.0)
    fits = (weight[1:] ** 2 * household[1:] ** 2).sum()
    assert fits == pytest.approx((choice.radius / 1.4) ** 2, rel=1e-12)
    # The noise of section 5 of the proof, and what its lemma demands of the limit.
    noise = (1.4 / choice.radius) ** 2 * household[1:].sum() ** 2
    assert (1 / weight[1:] ** 2).sum() == pytest.approx(noise, rel=1e-12) and min(rules.LEVEL_LIMITS) >= 2
    # Level and shape together: replacing a record moves them by one.
    assert math.hypot(weight[0] * 6.0 * 2.0, 2 * choice.radius) == pytest.approx(1.0, rel=1e-12)
    generator = np.random.default_rng(1)
    for _ in range(200):
        other = weight[1:] * np.exp(0.5 * generator.standard_normal(4))
        other *= math.sqrt(fits / (other**2 * household[1:] ** 2).sum())
        assert (1 / other**2).sum() > (1 / weight[1:] ** 2).sum()


@pytest.mark.parametrize(("limit", "log_median"), [(2.0, 0.0), (12.0, 0.0), (1.4, -1.0)])
def test_what_clipping_takes_is_that_of_the_log_normal_distribution(limit, log_median):
    """Oracle: quadrature."""
    s = rules.TAIL_STD_LOG

    def mean(f):
        return quad(lambda z: f(math.exp(log_median + s * z)) * math.exp(-z * z / 2), -9, 9, points=[2, 3, 4])[0]

    assert lost_share(limit, log_median) == pytest.approx(
        mean(lambda x: max(x - limit, 0)) / mean(lambda x: x), abs=1e-7
    )


@pytest.mark.parametrize(("log_median", "limit"), [(0.0, 6.0), (0.8, 8.0), (-1.5, 12.0)])
def test_what_is_beyond_the_limit_follows_from_the_clipped_mean(log_median, limit):
    """Oracle: a million levels of the log-normal distribution, evenly spread over its quantiles."""
    level = np.exp(log_median + rules.TAIL_STD_LOG * ndtri((np.arange(1_000_000) + 0.5) / 1_000_000))
    excess = np.maximum(level - limit, 0).mean()
    assert expected_excess(np.minimum(level, limit).mean(), limit) == pytest.approx(excess, rel=2e-3, abs=1e-4)


def test_a_level_outside_its_limits_has_a_finite_excess():
    assert all(0 <= expected_excess(level, 6.0) < 1000 for level in (-3.0, 0.0, 5.9, 6.0, 50.0))


def test_the_predicted_error_is_that_of_the_posterior_and_of_what_is_lost():
    """Oracle: variances of the posterior for feeders of one size; the distribution of the rest, written out."""
    given = public()
    distribution = public_distribution(given)
    common, own = Choice(6, 6.0, 1.0, 0.4), Choice(2, 6.0, 2.0, 0.6)
    stds = 3.0, 4.0
    precision = np.zeros(6)
    precision[:2] = (own.weights(distribution.household, given.unit_kwh) / stds[1]) ** 2
    all_variance = (stds[0] / common.weights(distribution.household, given.unit_kwh)) ** 2
    count = np.full(given.feeders, METERS / given.feeders)
    seen = Observed(np.zeros((given.feeders, 6)), precision, np.zeros(6), all_variance)
    _, _, variance = conditional(seen, count, spread(count), distribution.household[:6], distribution.mean[:6])
    n = count[0]
    rest = n * (distribution.household[6:] ** 2).sum() + n**2 * (distribution.mean[6:] ** 2).sum()
    level = lost_share(6.0, 0.0) * given.unit_kwh * math.exp(0.5)
    own_share = 1 - 1 / (1 + spread(n) * distribution.household[1] ** 2 * precision[1])
    shape = lost_share(1.0, -1.0) ** 2 * (distribution.mean[1:6] ** 2).sum()
    shape += (lost_share(2.0, -1.0) * distribution.mean[1] * own_share) ** 2
    expected = variance[0].sum() + n**2 * (level**2 + shape) + rest
    measured = (common, stds[0]), (own, stds[1])
    assert predicted_error(given, distribution, *measured) == pytest.approx(expected, rel=1e-12)
    of_each = predicted_error(given, distribution, *measured, meters=count)
    assert of_each == pytest.approx([expected] * given.feeders, rel=1e-12)


@pytest.mark.parametrize("own_std", [0.5, 4.0, 100.0])
def test_the_predicted_error_of_a_feeder_follows_its_size(own_std, monkeypatch):
    """Oracle: the variance that the posterior gives a feeder of another size, with nothing clipped or unmeasured."""
    monkeypatch.setattr(rules, "lost_share", lambda *_: 0.0)
    given = public()
    distribution, t = public_distribution(given), given.intervals
    stds, choice = (3.0, own_std), Choice(t, 6.0, 1.0, 0.5)
    weights = choice.weights(distribution.household, given.unit_kwh)
    mean = METERS / given.feeders
    for size in (1, 7, 40, 300):
        count = np.array([size, *[mean] * (given.feeders - 1)])
        seen = Observed(np.zeros((len(count), t)), (weights / stds[1]) ** 2, np.zeros(t), (stds[0] / weights) ** 2)
        _, _, variance = conditional(seen, count, spread(count), distribution.household, distribution.mean)
        measured = ((choice, std) for std in stds)
        (found,) = predicted_error(given, distribution, *measured, meters=np.array([size]))
        assert found == pytest.approx(variance[0].sum(), rel=1e-12)


@pytest.mark.parametrize("n", [3, METERS / public().feeders])
def test_a_public_guess_knows_how_much_a_typical_meter_uses_and_not_when(n):
    """Oracle: feeders drawn from the public distribution with the level of all meters at the centre."""
    given, rng = public(), np.random.default_rng(8)
    distribution = public_distribution(given)
    of_all = np.where(distribution.block == rules.LEVEL, 0.0, distribution.mean)
    drawn = rng.normal(size=(2, 4000, given.intervals))
    off = n * of_all * drawn[0] + np.sqrt(spread(n)) * distribution.household * drawn[1]
    expected = np.sqrt((off**2).sum(axis=1).mean() / given.intervals)
    assert rules.guess_error_kwh(given, n) == pytest.approx(expected, rel=0.05)


def test_many_choices_at_once_are_those_one_by_one():
    given = public()
    distribution = public_distribution(given)
    many = Choice(6, 6.0, np.array([1.0, 2.0]), np.array([0.4, 0.8]))
    single = [Choice(6, 6.0, 1.0, 0.4), Choice(6, 6.0, 2.0, 0.8)]
    other = (Choice(6, 6.0, 1.4, 0.5), 2.0)
    for pair in (lambda c: ((c, 3.0), None), lambda c: (other, (c, 3.0))):
        expected = [predicted_error(given, distribution, *pair(c)) for c in single]
        assert predicted_error(given, distribution, *pair(many)) == pytest.approx(expected, rel=1e-12)


def test_twice_the_typical_energy_is_measured_alike_with_twice_the_error():
    """So choices are searched once for any energy."""
    one = calibrate(1.0, typical_daily_kwh=7.0).plan
    searched = rules.best_choices.cache_info().misses
    two = calibrate(1.0, typical_daily_kwh=14.0).plan
    assert rules.best_choices.cache_info().misses == searched
    assert two.error_kwh == pytest.approx(2 * one.error_kwh, rel=1e-12)
    assert two.own.weight == pytest.approx(one.own.weight / 2, rel=1e-12)
    assert two.common.step == one.common.step and two.level_limit == one.level_limit


@pytest.mark.parametrize("meters", [50, 100, 400])
def test_rounding_does_not_choose_a_plan(meters):
    """With one feeder and one coefficient all shares are as good, so the last digit of mu must not matter."""
    mu, found = 0.08, set()
    for _ in range(20):
        share, common, own = rules.best_choices.__wrapped__(mu, rules.Typical(meters, 1, 48, 7, 1))
        found.add((share, common.coefficients, own.coefficients, common.level_limit))
        mu = np.nextafter(mu, 1)
    assert len(found) == 1


def test_more_budget_buys_more_coefficients_and_wider_limits():
    small, large = calibrate(0.2).plan, calibrate(200.0).plan
    assert len(small.common.weight) < len(large.common.weight) and small.level_limit <= large.level_limit


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"feeder": ()}, "feeder"),
        ({"feeder": (0, 9)}, "feeder"),
        ({"days": 0}, "days"),
        ({"typical_daily_kwh": math.nan}, "typical_daily_kwh"),
        ({"count": "guessed"}, "count"),
    ],
)
def test_settings_that_mean_nothing_are_refused(changed, field):
    with pytest.raises(InputError, match=f"field '{field}'"):
        public(**changed)


def test_noise_that_does_not_fit_its_grid_is_refused():
    with pytest.raises(InputError, match="for the discretisation grid"):
        calibrate(60.0, grid=2.0**-28)


# -- shrinkage of noisy sums, against dense linear algebra -----------------------------------------------------------

FEEDERS = 5
COUNT = np.array([3.0, 10.0, 1.0, 7.0, 0.0])
SPREAD = COUNT * (1 + 0.02 * np.maximum(COUNT - 1, 0))
HOUSEHOLD, MEAN = np.array([1.0, 0.4]), np.array([0.7, 2.0])


def dense(seen, k, household_std, mean_std):
    """Log-likelihood, mean and covariance of the sums of coefficient k by the formulas of a joint normal
    distribution."""
    prior = np.diag(SPREAD) * household_std**2 + mean_std**2 * np.outer(COUNT, COUNT)
    look, noise, answer = [np.ones((1, FEEDERS))], [seen.all_variance[k]], [seen.all_meters[k]]
    if seen.precision[k] > 0:
        look.append(np.eye(FEEDERS))
        noise += [1 / seen.precision[k]] * FEEDERS
        answer += seen.feeders[:, k].tolist()
    look, noise, answer = np.concatenate(look), np.diag(noise), np.array(answer)
    distribution = look @ prior @ look.T + noise
    gain = prior @ look.T @ np.linalg.inv(distribution)
    log_likelihood = -0.5 * (np.linalg.slogdet(distribution)[1] + answer @ np.linalg.solve(distribution, answer))
    return log_likelihood, gain @ answer, prior - gain @ look @ prior


@pytest.fixture
def seen():
    """The first coefficient was measured of feeders and of all, the second of all only."""
    generator = np.random.default_rng(3)
    feeders = generator.normal(0, 4, (FEEDERS, 2)) * [1, 0]
    return Observed(feeders, np.array([0.3, 0.0]), generator.normal(0, 9, 2), np.array([4.0, 25.0]))


def test_given_the_scales_it_is_the_conditional_normal_distribution(seen):
    _, mean, variance = conditional(seen, COUNT, SPREAD, HOUSEHOLD, MEAN)
    for k in range(2):
        _, exact, covariance = dense(seen, k, HOUSEHOLD[k], MEAN[k])
        assert mean[:, k] == pytest.approx(exact, rel=1e-10, abs=1e-12)
        assert variance[:, k] == pytest.approx(np.diag(covariance), rel=1e-10, abs=1e-12)


def test_the_likelihood_of_scales_is_that_of_the_normal_distribution(seen):
    """Up to a constant that is the same for all scales."""
    differences = []
    for s, b in ((1.0, 1.0), (0.25, 2.0), (4.0, 0.1)):
        ours = conditional(seen, COUNT, SPREAD, s * HOUSEHOLD, b * MEAN)[0]
        differences.append(ours - sum(dense(seen, k, s * HOUSEHOLD[k], b * MEAN[k])[0] for k in range(2)))
    assert np.ptp(differences) < 1e-9


def test_scales_are_integrated_over_their_grid(seen):
    """Oracle: the mixture of normal distributions, written out with dense algebra."""
    log_weight, means, variances = [], [], []
    for s in rules.HOUSEHOLD_FACTORS:
        for b in rules.MEAN_FACTORS:
            parts = [dense(seen, k, s * HOUSEHOLD[k], b * MEAN[k]) for k in range(2)]
            log_weight.append(sum(part[0] for part in parts))
            means.append([part[1] for part in parts])
            variances.append([np.diag(part[2]) for part in parts])
    weight = np.exp(np.array(log_weight) - max(log_weight))
    weight /= weight.sum()
    mean = np.tensordot(weight, means, 1)
    variance = np.tensordot(weight, np.array(means) ** 2 + variances, 1) - mean**2
    ours = posterior(seen, COUNT, SPREAD, HOUSEHOLD, MEAN)
    assert ours[0] == pytest.approx(mean.T, rel=1e-9, abs=1e-12)
    assert ours[1] == pytest.approx(variance.T, rel=1e-8, abs=1e-12)


def test_scales_taken_one_by_one_give_the_same_to_the_bit(seen, monkeypatch):
    at_once = posterior(seen, COUNT, SPREAD, HOUSEHOLD, MEAN)
    monkeypatch.setattr(rules, "_NUMBERS_AT_ONCE", 1)
    for one, other in zip(at_once, posterior(seen, COUNT, SPREAD, HOUSEHOLD, MEAN), strict=True):
        assert np.array_equal(one, other)


def test_exact_measurements_are_kept_and_worthless_ones_ignored(seen):
    some = COUNT > 0
    exact = Observed(seen.feeders, np.array([1e12, 1e12]), seen.feeders[some].sum(axis=0), np.full(2, 1e-12))
    assert posterior(exact, COUNT, SPREAD, HOUSEHOLD, MEAN)[0][some] == pytest.approx(seen.feeders[some], abs=1e-4)
    none = Observed(seen.feeders, np.full(2, 1e-12), seen.all_meters, np.full(2, 1e12))
    assert np.abs(posterior(none, COUNT, SPREAD, HOUSEHOLD, MEAN)[0]).max() < 1e-3
