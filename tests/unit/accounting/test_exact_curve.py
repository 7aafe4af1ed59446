"""Exact tails against closed forms and quadrature in extended precision, and against simulation."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from mpmath import mp

from meterdp.accounting.exact_curve import chernoff, exact_tails, worst_pair, worst_pairs
from meterdp.accounting.gaussian_loss import PairLosses, pair_losses, swap_losses
from meterdp.privacy import gaussian
from tests.unit.accounting.loss_oracles import (
    by_quadrature,
    equal_gammas,
    is_mean,
    losses_of,
    one_dimension,
    sample,
    stick,
)

PROMISE = 1e-3  # relative error, certified


def check(tails, truth, where=None, promise=PROMISE):
    """The error lies within its bound, the bound within the promise; ``truth``: upper, lower, stick, or None."""
    for name, true in zip(("upper", "lower", "hockey_stick"), truth, strict=True):
        if true is None:
            continue
        value, bound = getattr(tails, name)[0, 0], getattr(tails, name + "_error")[0, 0]
        assert abs(mp.mpf(value) - true) <= mp.mpf(bound) + mp.mpf(10) ** -300, (name, value, true, bound, where)
        assert bound <= promise * value, (name, value, bound, where)


def random_pair(generator, k):
    """Gamma, nu (k,) and a spread of the loss: many scales, gammas of one and near one, entries that do not move."""
    kind = generator.integers(5)
    gamma = [
        10 ** generator.uniform(-12, 12, k),
        1 + generator.choice([-1, 1], k) * 10 ** generator.uniform(-14, -0.1, k),
        generator.uniform(0, 1, k) ** 3 + 1e-9,
        1 + generator.exponential(size=k),
        np.where(generator.random(k) < 0.5, 1.0, np.exp(generator.normal(size=k))),
    ][kind]
    nu = 10 ** generator.uniform(-8, 2, k) * generator.choice([0, 1], k, p=[0.2, 0.8])
    spread = np.sqrt(np.sum(0.5 * (gamma - 1) ** 2 + gamma * nu**2))
    mean = 0.5 * np.sum(gamma - 1 - np.log(gamma) + nu**2)
    return gamma, nu, max(0.0, mean + generator.uniform(-4, 25) * spread) if generator.random() < 0.7 else 0.3


def test_one_entry_of_any_size():
    """Oracle: normal distribution functions with 60 digits; 600 pairs, delta down to 1e-300."""
    generator = np.random.default_rng(0)
    small = 0
    for _ in range(600):
        gamma, nu, epsilon = random_pair(generator, 1)
        truth = one_dimension(gamma[0], nu[0], epsilon)
        tails = exact_tails(losses_of((gamma, nu)), [epsilon])
        # Below what a float64 holds both are zero.
        check(tails, [t if t > 1e-300 or t == 0 else None for t in truth], (gamma, nu, epsilon))
        small += 1e-300 < truth[0] < 1e-12
    assert small > 50


@pytest.mark.parametrize("k", [2, 5, 12])
@pytest.mark.parametrize("gamma", [0.2, 0.999, 1.001, 3.0, 1e6])
def test_equal_gammas_are_a_chi_square(gamma, k):
    """Oracle: Poisson mixture of incomplete gamma functions with 60 digits, central and not, down to 1e-100."""
    for nu in (np.zeros(k), 0.3 * np.ones(k) * np.sqrt(abs(gamma - 1)) / np.sqrt(gamma)):
        losses = losses_of((np.full(k, gamma), nu))
        spread = np.sqrt(np.sum(0.5 * (losses.gamma - 1) ** 2 + losses.gamma * losses.nu**2))
        for epsilon in spread * np.array([0.1, 1.0, 5.0, 50.0]):
            upper = equal_gammas(gamma, nu, epsilon)
            check(exact_tails(losses, [epsilon]), (upper, None, None), (gamma, nu, epsilon))


@pytest.mark.parametrize("seed", range(12))
def test_many_entries_against_quadrature_in_extended_precision(seed):
    """Oracle: by_quadrature, 40 digits, its own logarithms and step; random and nasty pairs, up to 12 entries."""
    generator = np.random.default_rng(seed)
    k = [2, 3, 12][seed % 3]
    gamma, nu, epsilon = random_pair(generator, k)
    tails = exact_tails(losses_of((gamma, nu)), [epsilon])
    truth = [None, None, None]
    if tails.upper[0, 0] > 0:
        truth[0], truth[2] = by_quadrature(gamma, nu, epsilon)
    if tails.lower[0, 0] > 0:
        truth[1] = by_quadrature(gamma, nu, epsilon, sign=-1)[0]
    check(tails, truth, (gamma, nu, epsilon))


@pytest.mark.parametrize("delta", [1e-5, 1e-12, 1e-30, 1e-100])
def test_twelve_entries_far_out(delta):
    """Oracle: by_quadrature; the epsilon at which Chernoff's bound is ``delta``, and the value lies below it."""
    generator = np.random.default_rng(5)
    gamma, nu = np.exp(0.5 * generator.normal(size=12)), 0.5 * generator.normal(size=12)
    losses = losses_of((gamma, nu))
    grid = np.linspace(0, 2000, 20001)
    epsilon = grid[np.argmax(chernoff(losses, grid)[0][0] < delta)]
    upper, stick = by_quadrature(gamma, nu, epsilon)
    assert upper < delta
    tails = exact_tails(losses, [epsilon])
    check(tails, (upper, None, stick))


def test_normal_losses_at_any_epsilon():
    """Oracle: normal distribution functions with 60 digits, epsilon of either sign; the value and its small bound."""
    generator, negative = np.random.default_rng(11), 0
    for _ in range(400):
        mu = 10 ** generator.uniform(-6, 3)
        spread = generator.uniform(-6, 30) if generator.random() < 0.5 else 0.0
        epsilon = float(generator.choice([mu**2 / 2 + spread * mu, -spread * mu, 0.0, -1.0, 1.0]))
        nu = mu * np.array([0.6, 0.8])
        tails = exact_tails(losses_of((np.ones(2), nu)), [epsilon])
        with mp.workdps(60):
            m, e = mp.mpf(float(np.linalg.norm(nu))), mp.mpf(epsilon)
            upper, lower = mp.ncdf(m / 2 - e / m), mp.ncdf(-m / 2 - e / m)
            check(tails, (upper, lower, upper - mp.exp(e) * lower), (mu, epsilon), promise=1e-8)
        negative += epsilon < 0
    assert 50 < negative < 350


def test_a_bounded_loss_has_no_tail_beyond_its_largest_value():
    """All gamma < 1: exactly zero from the largest loss on, and not before."""
    gamma, nu = np.array([0.1, 0.5, 0.9]), np.array([0.3, 0.0, 0.2])
    losses = losses_of((gamma, nu))
    largest = 0.5 * np.sum(nu**2 / (1 - gamma) - np.log(gamma))
    tails = exact_tails(losses, [largest - 1e-3, largest + 1e-12, largest + 5])
    assert tails.upper[0, 0] > 0
    for part in (tails.upper, tails.upper_error, tails.hockey_stick, tails.hockey_stick_error):
        assert not part[0, 1:].any()
    # The other way round it is the lower tail that ends.
    mirror = exact_tails(losses_of((1 / gamma, nu / np.sqrt(gamma))), [largest + 1e-12])
    assert mirror.lower[0, 0] == mirror.lower_error[0, 0] == 0
    assert mirror.upper[0, 0] > 0


@pytest.mark.parametrize("off", [0.0, 1e-14, -1e-14, 1e-10])
def test_nearly_equal_distributions_lose_nothing(off):
    tails = exact_tails(losses_of((np.full(12, 1 + off), np.full(12, 1e-12))), [1e-3, 0.1, 1.0])
    assert not tails.upper.any() and not tails.lower.any() and not tails.hockey_stick.any()


def test_equal_distributions():
    tails = exact_tails(losses_of((np.ones(3), np.zeros(3))), [0.0, 1.0, -1.0])
    assert np.array_equal(tails.upper[0], [0, 0, 1])
    assert np.allclose(tails.hockey_stick[0], [0, 0, 1 - np.exp(-1)])


def test_singular_pairs_are_told_apart_for_certain():
    losses = PairLosses(np.ones((2, 3)), np.zeros((2, 3)), np.array([False, True]))
    tails, worst = exact_tails(losses, [0.5]), worst_pair(losses, 0.5)
    assert tails.upper[:, 0].tolist() == tails.hockey_stick[:, 0].tolist() == [0, 1]
    assert not tails.upper_error.any() and (worst.pair, worst.delta) == (1, 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_simulation(seed):
    """Oracle: 10^6 draws; benchmarks/curves.py does 10^7."""
    generator = np.random.default_rng(seed)
    gamma, nu = np.exp(generator.normal(size=12) * 0.4), generator.normal(size=12) * 0.4
    losses, count = losses_of((gamma, nu)), 1_000_000
    drawn = np.concatenate([sample(losses, 0, generator, 100_000) for _ in range(10)])
    epsilon = np.quantile(np.abs(drawn[:1000]), [0.2, 0.6, 0.99])
    tails = exact_tails(losses, epsilon)
    for column, eps in enumerate(epsilon):
        assert is_mean(tails.upper[0, column], drawn > eps, 10 / count)
        assert is_mean(tails.lower[0, column], drawn < -eps, 10 / count)
        assert is_mean(tails.hockey_stick[0, column], stick(drawn, eps), 10 / count)


def test_the_worst_pair_is_that_of_all():
    """Oracle: every pair integrated."""
    generator = np.random.default_rng(8)
    root = generator.normal(size=(40, 4, 30)) / 5
    mean, covariance = 0.6 * generator.normal(size=(40, 4)), root @ np.swapaxes(root, 1, 2)
    losses = pair_losses(mean, covariance, np.argwhere(~np.eye(40, dtype=bool)))
    skipped = 0
    for epsilon in (0.1, 2.0, 6.0, 20.0):
        tails = exact_tails(losses, [epsilon])
        for side, worst in worst_pairs(losses, epsilon, ("one", "two", "hockey_stick")).items():
            value, _ = tails.side(side)
            assert worst.delta <= value.max() <= worst.delta + worst.error
            assert worst.error <= PROMISE * worst.delta
            assert worst.delta == value[worst.pair, 0]
            skipped += 1560 - worst.evaluated
            assert worst_pair(losses, epsilon, side).delta == worst.delta
    assert skipped > 1000


@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.1, 2.0, 50.0])
def test_of_distributions_with_one_covariance_only_the_farthest_are_looked_at(epsilon):
    """Oracle: the closed form of every pair. Components differ in condition, hence in rounding; some means repeat."""
    generator = np.random.default_rng(9)
    parts = []
    for size, narrow in ((90, 1.0), (40, 1e-9), (22, 1e-4)):
        mean = generator.normal(size=(size, 5)) * 0.3
        mean[-3:] = mean[:3]
        root = generator.normal(size=(5, 5)) * np.array([1, 1, 1, 1, np.sqrt(narrow)])
        pairs = np.argwhere(~np.eye(size, dtype=bool))
        parts.append(pair_losses(mean, np.broadcast_to(root @ root.T, (size, 5, 5)), pairs))
    losses = PairLosses(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("gamma", "nu", "singular")))
    losses = replace(losses, rounding=np.concatenate([part.off for part in parts]))
    tails = exact_tails(losses, [epsilon])
    for sides in (("hockey_stick",), ("one", "two", "hockey_stick")):
        for side, worst in worst_pairs(losses, epsilon, sides).items():
            value, error = (part[:, 0] for part in tails.side(side))
            assert worst.delta == value.max() == value[worst.pair]
            assert worst.delta + worst.error == pytest.approx((value + error).max(), rel=1e-15)
            few = epsilon >= 0 or sides == ("hockey_stick",)
            assert (worst.evaluated < len(value) / 3) == few


def test_a_search_that_knows_what_is_enough_says_the_same_of_it():
    """Fewer integrals, the same answer to whether the largest delta reaches a number."""
    generator, saved = np.random.default_rng(5), 0
    means = generator.normal(size=(12, 3))
    covariances = np.eye(3) * (1 + 0.3 * generator.random((12, 1, 1)))
    losses = pair_losses(means, covariances, [(a, b) for a in range(12) for b in range(12) if a != b])
    whole = worst_pair(losses, 0.5)
    for share in (0.0, 0.3, 0.9, 0.999, 1.001, 2.0):
        some = worst_pairs(losses, 0.5, ("hockey_stick",), share * whole.delta)["hockey_stick"]
        assert (some.delta >= share * whole.delta) == (share <= 1) and some.delta <= whole.delta
        assert some.delta == whole.delta or share <= 1
        saved += whole.evaluated - some.evaluated
    assert saved > 0


def test_bounds_lie_above_the_values():
    generator = np.random.default_rng(2)
    for _ in range(300):
        gamma, nu, epsilon = random_pair(generator, int(generator.integers(1, 13)))
        losses = losses_of((gamma, nu))
        tails = exact_tails(losses, [epsilon])
        one, two = chernoff(losses, [epsilon])
        assert one[0, 0] >= tails.upper[0, 0] - tails.upper_error[0, 0]
        assert two[0, 0] >= tails.two_sided[0, 0] - tails.two_sided_error[0, 0]
        assert tails.hockey_stick[0, 0] <= tails.upper[0, 0] + tails.upper_error[0, 0]


def test_swapping_both_households_doubles_the_loss():
    """R4: with equal covariances the swap is a Gaussian mechanism of sqrt 2 times the mu: 0.28 becomes 0.50."""
    mu = gaussian.mu_for(1.0, 0.28)
    losses = losses_of(([1.0], [mu]))
    assert exact_tails(losses, [1.0]).hockey_stick[0, 0] == pytest.approx(0.28, rel=1e-4)
    swapped = exact_tails(swap_losses(losses), [1.0]).hockey_stick[0, 0]
    assert swapped == pytest.approx(gaussian.delta(np.sqrt(2) * mu, 1.0), rel=1e-4)
    assert round(swapped, 2) == 0.50


def test_swap_against_simulated_densities():
    """Oracle: losses of both files, drawn."""
    generator = np.random.default_rng(6)
    losses = losses_of(([2.0, 0.7], [0.4, -0.3]))
    reverse = losses_of((1 / losses.gamma[0], losses.nu[0] / np.sqrt(losses.gamma[0])))
    drawn = sample(losses, 0, generator) + sample(reverse, 0, generator)
    assert is_mean(exact_tails(swap_losses(losses), [0.5]).hockey_stick[0, 0], stick(drawn, 0.5))


def test_a_prior_shifts_epsilon():
    """Remark 1, the tail at epsilon - ln(ratio), against posterior odds simulated from the densities."""
    generator = np.random.default_rng(7)
    losses = losses_of(([2.0, 0.7], [0.4, -0.3]), ([0.5, 1.0], [0.1, 1.0]))
    for pair, ratio in enumerate((3.0, 0.25)):
        odds = np.log(ratio) + sample(losses, pair, generator)
        for eps in (0.2, 1.5):
            assert is_mean(exact_tails(losses, [eps - np.log(ratio)]).upper[pair, 0], odds > eps)


@pytest.mark.parametrize(
    "excess", [[4.4e-16, -2.2e-16], [2.2e-16, 0.0], [-2e-16, -4e-16], [1e-15, 1e-15], [1e-14, 0.0], [1e-12, -1e-13]]
)
def test_distributions_that_differ_by_rounding_are_not_told_apart_and_divide_by_nothing(excess):
    """Covariances that were made equal come out with such gamma; the saddle point lies at the edge of the strip."""
    losses = PairLosses(1.0 + np.array([excess]), np.zeros((1, 2)), np.zeros(1, bool))
    tails = exact_tails(losses, np.array([0.0, 1e-3, 0.5, 1.0, 10.0, 1e3]))
    for side in (tails.upper, tails.lower, tails.hockey_stick):
        assert np.all(side[:, 1:] == 0.0)
    assert 0 <= tails.hockey_stick[0, 0] < 1e-11
    assert worst_pair(losses, 1.0, "hockey_stick").delta == 0.0


@pytest.mark.parametrize("nu", [0.0, 0.3, 2.0, 30.0])
@pytest.mark.parametrize("gamma", [1e-8, 0.02, 0.5, 0.95])
def test_an_epsilon_that_is_the_largest_loss_to_its_last_digits_gives_nothing(gamma, nu):
    """Rounding decides there whether the loss can be larger; the bounds leave it out, as ``tail`` says."""
    largest = 0.5 * (nu**2 / (1 - gamma) - np.log(gamma))
    for epsilon in (largest, largest * (1 - 4e-16), largest * (1 + 4e-16)):
        tails = exact_tails(PairLosses(np.array([[gamma]]), np.array([[nu]]), np.array([False])), [epsilon])
        above, _, stick = one_dimension(gamma, nu, epsilon)
        assert abs(tails.upper[0, 0] - above) <= 1e-6 + tails.upper_error[0, 0]
        assert abs(tails.hockey_stick[0, 0] - stick) <= 1e-18 + tails.hockey_stick_error[0, 0]


# -- covariances of any condition, against 60 digits -----------------------------------------------------------------

EPSILONS = np.array([0.1, 1.0, 4.0])


def made_up(generator, condition, same):
    """Two distributions in five dimensions whose covariances have about this condition, and means near each other."""

    def covariance():
        axes = np.linalg.qr(generator.standard_normal((5, 5)))[0]
        values = condition ** -np.linspace(0, 1, 5)
        out = axes * values @ axes.T
        return (out + out.T) / 2

    first = covariance()
    second = first if same else first + 0.05 * np.min(np.linalg.eigvalsh(first)) * covariance() / 2
    root = np.linalg.cholesky(first)
    means = np.stack([np.zeros(5), root @ generator.standard_normal(5) * 0.3])
    return means, np.stack([first, (second + second.T) / 2])


def exact_losses(means, covariances):
    """gamma and nu by their definitions, in 60 digits."""
    with mpmath.workdps(60):
        first, second = (mp.cholesky(mp.matrix(c.tolist())) for c in covariances)
        turned = mp.inverse(second) * first
        values, vectors = mp.eigsy(turned * turned.T)
        away = vectors.T * (mp.inverse(second) * (mp.matrix(means[1].tolist()) - mp.matrix(means[0].tolist())))
        gamma = np.array([[float(v) for v in values]])
        return PairLosses(gamma, np.array([[float(v) for v in away]]), np.zeros(1, bool))


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("exponent", [2, 6, 9, 12, 14])
def test_the_stated_error_holds_for_any_condition(exponent, same):
    generator = np.random.default_rng(exponent)
    for _ in range(6):
        means, covariances = made_up(generator, 10.0**exponent, same)
        stated = exact_tails(pair_losses(means, covariances, [[0, 1]]), EPSILONS)
        truth = exact_tails(exact_losses(means, covariances), EPSILONS)
        error = stated.hockey_stick_error + truth.hockey_stick_error
        assert (np.abs(stated.hockey_stick - truth.hockey_stick) <= error).all()


def test_without_it_the_error_would_be_too_small_and_with_it_a_usual_one_is_no_larger():
    generator = np.random.default_rng(12)
    missed = 0
    for _ in range(20):
        means, covariances = made_up(generator, 1e12, False)
        losses = pair_losses(means, covariances, [[0, 1]])
        plain = exact_tails(PairLosses(losses.gamma, losses.nu, losses.singular), EPSILONS)
        truth = exact_tails(exact_losses(means, covariances), EPSILONS)
        missed += (np.abs(plain.hockey_stick - truth.hockey_stick) > 2 * plain.hockey_stick_error).any()
    assert missed >= 10
    losses = pair_losses(*made_up(generator, 1e3, False), [[0, 1]])
    plain = exact_tails(PairLosses(losses.gamma, losses.nu, losses.singular), EPSILONS)
    assert (exact_tails(losses, EPSILONS).hockey_stick_error <= plain.hockey_stick_error + 1e-9).all()


def test_the_worst_pair_carries_the_error_of_every_pair():
    """Pairs whose integral is not computed are bounded with their rounding, too."""
    generator, telling = np.random.default_rng(3), 0
    for scale in (0.1, 0.5, 3.0):
        for _ in range(5):
            (near, small), (_, rough) = made_up(generator, 10.0, True), made_up(generator, 1e13, False)
            means = np.concatenate([scale * near, np.zeros((2, 5))])
            losses = pair_losses(means, np.concatenate([small, rough]), [[0, 1], [2, 3]])
            found, alone = worst_pair(losses, 1.0), exact_tails(losses, [1.0])
            above = (alone.hockey_stick + alone.hockey_stick_error)[:, 0]
            assert found.delta + found.error >= above.max() * (1 - 1e-12)
            telling += above[1] > above[0]
    assert telling > 0, "the second pair is the one that nothing is certain of"


def test_a_pair_that_is_skipped_inside_a_batch_counts_with_its_error():
    """Twelve clear pairs, and two whose bound is small as nothing is certain of their covariances; none normal."""
    corner, near_one = 1.5, 1 - 1e-15
    means = np.array([[0, 0], [corner, 0], [0, corner], [corner, corner], [100, 100], [100, 100 + 3e-9]])
    clear = [size * np.eye(2) for size in (1, 1.001, 1.002, 1.003)]
    rough = np.array([[1, near_one], [near_one, 1]])
    covariances = np.array([*clear, rough, 1.001 * rough])
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b] + [(4, 5), (5, 4)]
    losses = pair_losses(means, covariances, pairs)
    found, alone = worst_pair(losses, 1.0), exact_tails(losses, [1.0])
    assert found.evaluated < len(pairs), "some are skipped"
    largest = min((alone.hockey_stick + alone.hockey_stick_error).max(), 1.0)  # no delta is above one
    assert found.delta + found.error >= largest * (1 - 1e-12)
    assert found.error > 0.1


def test_distributions_that_are_the_same_are_told_apart_by_nothing():
    means, covariances = np.zeros((2, 5)), made_up(np.random.default_rng(1), 1e13, True)[1]
    tails = exact_tails(pair_losses(means, covariances, [[0, 1]]), EPSILONS)
    assert (tails.hockey_stick == 0).all() and (tails.hockey_stick_error <= 1e-299).all()
