"""Mixtures of vectors for every public stratum: which strata there are, what they cost, what they read."""

import numpy as np
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.households.common import BLOCKS
from meterdp.households.mechanism import (
    COMMON_SHARE,
    DAY_CORRELATION,
    FEWEST_OF_STRATUM,
    OTHERS,
    HouseholdRecords,
    Households,
    HouseholdsPublic,
    _spectrum,
    common_radius,
    denoised,
    deviation_sum,
    least_common,
    strata_of,
)
from meterdp.mechanisms.proven.mechanism import Box
from meterdp.mechanisms.proven.prior_mixture import PriorMixture
from meterdp.mixture.draws import Mixture
from meterdp.privacy import gaussian
from meterdp.privacy.charge import price_of_variation
from meterdp.privacy.noise import GRID

BOX = Box((-2.0, 0.0, -1.0), (2.0, 10.0, 1.0))


def public(sizes=(400, 600), **changed):
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    return HouseholdsPublic(
        **{"epsilon": 1.0, "delta": 1e-5, "box": BOX, "stratum": tuple(stratum.tolist())} | changed
    )


def vectors(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal((0.5, 4.0, 0.1), (0.4, 1.5, 0.2), (n, 3)), BOX.low, BOX.high)


def test_strata_that_are_too_small_are_joined_and_the_smallest_of_the_rest_with_them_if_need_be():
    many = FEWEST_OF_STRATUM
    assert strata_of(("flat",) * many + ("house",) * (many + 1)) == (
        ("flat", "house"),
        (0,) * many + (1,) * (many + 1),
    )
    names, of = strata_of(("a",) * 200 + ("b",) * 150 + ("c",) * many)
    assert names == ("c", OTHERS) and of == (1,) * 350 + (0,) * many
    names, of = strata_of(("a",) * 5 + ("b",) * many + ("c",) * (2 * many))
    assert names == ("c", OTHERS) and of == (1,) * (5 + many) + (0,) * 2 * many
    assert strata_of(("a", "b", "a")) == ((OTHERS,), (0, 0, 0))
    assert strata_of(("all", "all")) == (("all",), (0, 0))


def test_any_list_gives_strata_of_enough_meters_or_a_single_one():
    rng = np.random.default_rng(1)
    for _ in range(50):
        given = tuple(map(str, rng.choice(rng.integers(1, 9), rng.integers(50, 3000), p=None)))
        names, of = strata_of(given)
        sizes = np.bincount(of, minlength=len(names))
        assert len(names) == 1 or sizes.min() >= FEWEST_OF_STRATUM
        # Nobody is parted from meters of which the list says the same.
        assert len(set(zip(given, of, strict=True))) == len(set(given))


def test_all_strata_together_cost_what_one_does():
    one, two = Households.calibrate(public((1000,))), Households.calibrate(public())
    assert one.mu == two.mu == gaussian.mu_for(1.0, 1e-5)
    assert [part.public.records for part in two.parts] == [400, 600]
    assert two.guarantee.epsilon == 1.0 and two.guarantee.adjacency == "replace_one"


def test_a_stratum_reads_its_own_households_only():
    mechanism, x = Households.calibrate(public()), vectors(1000)
    other = x.copy()
    other[400:] = vectors(600, 7)
    one, two = (
        [of.mixture for of in mechanism.release(HouseholdRecords.of(data), StudyNoise(3, "households"))[0]]
        for data in (x, other)
    )
    for name in ("weights", "means", "covariances"):
        assert np.array_equal(getattr(one[0], name), getattr(two[0], name))
        assert not np.array_equal(getattr(one[1], name), getattr(two[1], name))


def test_mixtures_are_in_the_units_of_the_box_and_near_the_households():
    mechanism, x = Households.calibrate(public((5000,), epsilon=4.0)), vectors(5000)
    mixture = mechanism.release(HouseholdRecords.of(x), StudyNoise(3, "households"))[0][0].mixture
    mean = mixture.weights @ mixture.means
    assert mean == pytest.approx(x.mean(axis=0), abs=0.15)
    scatter = mixture.covariances + (mixture.means - mean)[:, :, None] * (mixture.means - mean)[:, None, :]
    spread = np.sqrt(np.diagonal(np.einsum("k,kij->ij", mixture.weights, scatter)))
    assert spread == pytest.approx(x.std(axis=0), rel=0.3)


def test_a_prior_mixture_is_given_in_the_units_of_the_box():
    """Oracle: with hardly any budget what is released is the prior mixture."""
    known = Mixture(
        np.array([0.3, 0.7]),
        np.array([[0.0, 2.0, 0.0], [1.0, 6.0, 0.2]]),
        np.stack([np.diag([0.1, 1.0, 0.02])] * 2),
    )
    mechanism = Households.calibrate(public((500,), epsilon=0.01, prior_mixture=PriorMixture(known, "made up")))
    found = mechanism.release(HouseholdRecords.of(vectors(500)), StudyNoise(3, "households"))[0][0].mixture
    order = np.argsort(found.weights)
    assert found.weights[order] == pytest.approx(known.weights, abs=0.05)
    assert found.means[order] == pytest.approx(known.means, abs=0.15)
    assert found.covariances[order] == pytest.approx(known.covariances, rel=0.2, abs=0.03)


def test_vectors_of_another_list_are_refused():
    mechanism = Households.calibrate(public())
    for wrong in (vectors(999), vectors(1000)[:, :2]):
        with pytest.raises(InputError, match=r"field 'records'.*public number of households"):
            mechanism.release(HouseholdRecords.of(wrong), StudyNoise(0, "households"))


def test_what_homes_do_together_is_measured_of_all_strata_within_the_same_budget():
    days = 120
    mechanism = Households.calibrate(public(days=days))
    assert mechanism.mu == pytest.approx(gaussian.mu_for(1.0, 1e-5), rel=1e-6)
    assert mechanism.common.mu**2 == pytest.approx(COMMON_SHARE * mechanism.mu**2, rel=1e-3)
    safe = Households.calibrate(public(days=days, grid=GRID))
    assert gaussian.delta(safe.mu, 1.0) + price_of_variation(1.0) * safe.total_variation <= 1e-5
    together = np.cumsum(np.random.default_rng(1).normal(size=days))
    together = (together - together.mean()) / together.std()
    own = 0.1 * np.random.default_rng(2).normal(size=(1000, days * BLOCKS))
    records = HouseholdRecords.of(vectors(1000), 0.4 * np.repeat(together, BLOCKS) + own)
    _, common = Households.calibrate(public(days=days, epsilon=6.0)).release(records, StudyNoise(3, "households"))
    assert np.corrcoef(common.z.mean(axis=1), together)[0, 1] > 0.95 and common.share == pytest.approx(0.16, rel=0.15)


def test_noise_alone_says_that_homes_do_nothing_together_or_hardly_anything():
    found = [denoised(np.random.default_rng(seed).normal(size=(365, 3)), 1.0) for seed in range(200)]
    shares = [0.0 if one is None else one.share for one in found]
    assert found.count(None) > 10 and np.mean(shares) < 0.05


@pytest.mark.parametrize(("times", "least", "most"), [(1 / 3, 0.0, 0.4), (1, 0.3, 0.8), (3, 0.9, 1.0)])
def test_what_homes_do_together_is_found_from_a_public_share_on(times, least, most):
    """Oracle: how often it is found of processes with so large a share of the mean of a day, and of no other."""
    days, of = 365, Households.calibrate(public(days=365))
    rng, std = np.random.default_rng(7), of.common.noise_std / 1000
    found = []
    for _ in range(60):
        series = np.fft.ifft(np.fft.fft(rng.normal(size=days)) * np.sqrt(_spectrum(days)[:, 0])).real
        shared = np.sqrt(times * least_common(1.0, 1e-5, 1000, days) / BLOCKS) * series
        found.append(denoised(shared[:, None] + std * rng.normal(size=(days, BLOCKS)), std) is not None)
    assert least <= np.mean(found) <= most


def test_a_wiener_filter_is_nearer_to_the_truth_than_what_was_measured():
    """Oracle: the posterior mean of the process, from its covariance matrix written out."""
    rng, days, std = np.random.default_rng(4), 400, 0.5
    lag = np.abs(np.subtract.outer(np.arange(days), np.arange(days)))
    covariance = 0.09 * DAY_CORRELATION**lag
    truth = np.linalg.cholesky(covariance + 1e-12 * np.eye(days)) @ rng.normal(size=days)
    noisy = truth[:, None] + std * rng.normal(size=(days, BLOCKS))
    found = denoised(noisy, std).z.mean(axis=1)
    of_day = noisy.mean(axis=1)
    best = covariance @ np.linalg.solve(covariance + std**2 / BLOCKS * np.eye(days), of_day)
    assert np.corrcoef(found, best)[0, 1] > 0.97
    assert np.corrcoef(found, truth)[0, 1] > np.corrcoef(of_day, truth)[0, 1] + 0.05


def test_mornings_and_evenings_that_homes_share_are_told_apart():
    days, rng = 365, np.random.default_rng(5)
    series = rng.normal(size=days)
    for t in range(1, days):
        series[t] = DAY_CORRELATION * series[t - 1] + np.sqrt(1 - DAY_CORRELATION**2) * series[t]
    evening = np.outer(series, [0.0, 0.0, 1.0])
    found = denoised(evening + 0.3 * rng.normal(size=evening.shape), 0.3)
    assert np.corrcoef(found.z[:, 2], evening[:, 2])[0, 1] > 0.9
    assert found.z[:, :2].std() < 0.5 * found.z[:, 2].std()
    assert found.share == pytest.approx((evening**2).mean(), rel=0.15)


def test_a_household_s_deviations_are_clipped_by_themselves():
    days = 90
    mechanism, deviations = Households.calibrate(public(days=days)), np.zeros((1000, days * BLOCKS))
    sums = []

    def measure(query, exact):
        sums.append(exact)
        return exact

    for extreme in (0.0, 1e300, -1e300):
        deviations[7] = extreme
        mechanism.run_common(HouseholdRecords.of(vectors(1000), deviations).deviation_sum, measure)
    zero, high, low = sums
    assert np.linalg.norm(high - low) <= mechanism.common.sensitivity * (1 + 1e-12)
    assert np.linalg.norm(high - low) == pytest.approx(2 * common_radius(days * BLOCKS)) and not zero.any()


def test_on_a_grid_deviations_add_up_to_the_same_bits_however_they_are_cut():
    deviations = 5 * np.random.default_rng(6).standard_cauchy((2000, 90))
    whole = deviation_sum(deviations, GRID)
    assert np.array_equal(whole / GRID, np.rint(whole / GRID))
    for cuts in ([1], [700, 701], list(range(100, 2000, 100))):
        assert np.array_equal(sum(deviation_sum(part, GRID) for part in np.split(deviations, cuts)), whole)
    assert np.array_equal(deviation_sum(deviations[::-1], GRID), whole)
    assert whole == pytest.approx(deviation_sum(deviations, 0.0), abs=2000 * GRID)
