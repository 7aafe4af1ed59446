"""Along recorded answers no replaced household spends more than is claimed, whatever stratum it is in."""

import numpy as np
import pytest

from meterdp.households.mechanism import Households, HouseholdsPublic
from meterdp.mechanisms.proven.marginals import LinearFunction
from meterdp.mechanisms.proven.mechanism import Box
from meterdp.mechanisms.proven.prior_mixture import PriorMixture
from meterdp.mixture.draws import Mixture
from meterdp.privacy.mechanism import NoisyQuery
from meterdp.privacy.noise import GRID, SafeNoise

D, SIZES = 4, (60, 40, 80)
STRATUM = tuple(np.repeat(np.arange(len(SIZES)), SIZES).tolist())
BOX = Box((-1.0, -2.0, 0.0, 5.0), (1.0, 2.0, 0.5, 9.0))
LOW, HIGH = np.array(BOX.low), np.array(BOX.high)
PRIOR = PriorMixture(
    Mixture(np.full(2, 0.5), np.stack([0.7 * LOW + 0.3 * HIGH, 0.3 * LOW + 0.7 * HIGH]),
            np.stack([np.diag((0.1 * (HIGH - LOW)) ** 2)] * 2)),
    "made up",
)  # fmt: skip
DIRECTIONS = (
    LinearFunction((1.0, 0.0, 0.0, 0.0)),
    LinearFunction((0.5, -1.0, 2.0, 0.0)),
    LinearFunction((0.0, 0.0, 0.0, -2.0), least=-12.0),
)
ENDS = {
    "opposite corners": (LOW, HIGH),
    "neighbouring corners": (HIGH, np.where(np.arange(D) == 0, LOW, HIGH)),
    "far outside": (np.full(D, -1e300), np.full(D, 1e300)),
    "middle and corner": ((LOW + HIGH) / 2, HIGH),
}


def vectors():
    rng = np.random.default_rng(5)
    return rng.uniform(LOW, HIGH, (sum(SIZES), D))


@pytest.mark.parametrize("prior", [None, PRIOR], ids=["own start", "prior mixture"])
@pytest.mark.parametrize("directions", [(), DIRECTIONS], ids=["mixture alone", "marginals beside it"])
@pytest.mark.parametrize("ends", ENDS)
def test_replacing_a_household_moves_one_stratum_by_no_more_than_is_claimed(ends, directions, prior, monkeypatch):
    monkeypatch.setattr("meterdp.mechanisms.proven.marginals.POOL", 2000)
    mechanism = Households.calibrate(HouseholdsPublic(2.0, 1e-5, BOX, STRATUM, directions, prior, GRID))
    largest = 0.0
    for stratum, at in ((0, 3), (1, 60), (2, 179)):
        one, two = vectors(), vectors()
        one[at], two[at] = ENDS[ends]
        for own, other in ((one, two), (two, one)):
            log: list[tuple[int, NoisyQuery, np.ndarray, np.ndarray]] = []
            noise = SafeNoise()

            def measure(of, query, exact):
                answer = noise.add_gaussian(exact, query.noise_std)  # noqa: B023
                log.append((of, query, exact, answer))  # noqa: B023
                return answer

            released = mechanism.run(own, [lambda q, e, s=s: measure(s, q, e) for s in range(3)])
            replay, spent = iter(log), np.zeros(3)

            def answered(of, query, exact):
                same, asked, here, answer = next(replay)  # noqa: B023
                assert (same, asked) == (of, query)
                spent[of] += (np.linalg.norm(exact - here) / query.noise_std) ** 2  # noqa: B023
                return answer

            again = mechanism.run(other, [lambda q, e, s=s: answered(s, q, e) for s in range(3)])
            assert next(replay, None) is None
            for a, b in zip(released, again, strict=True):
                for name in ("weights", "means", "covariances"):
                    assert np.array_equal(getattr(a.mixture, name), getattr(b.mixture, name))
                assert np.array_equal(a.exponents, b.exponents)
            assert np.flatnonzero(spent).tolist() == [stratum]
            assert spent.sum() <= mechanism.mu**2 * (1 + 1e-9)
            largest = max(largest, spent.sum())
    # the noise of each run decides how near it comes: 0.54 or more in 700 runs, 0.49 once in CI
    assert largest > 0.3 * mechanism.mu**2 or ends in ("middle and corner", "neighbouring corners")
