"""What a release is made of: a mechanism fixed by public settings, noisy queries of proven sensitivity."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from meterdp.errors import InputError
from meterdp.privacy import gaussian
from meterdp.privacy.charge import Charge
from meterdp.privacy.gaussian import FEWEST_NOISE_STEPS, delta_margin
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.noise import MOST_STD_STEPS, MOST_STEPS, GaussianSource

Files = Mapping[str, bytes]
# Sums of squares of many queries are that of their mechanism up to so little.
_ROUNDING = 1e-9


class Mechanism(Protocol):
    """Everything that can be released: fixed by public settings before a record is seen.

    ``parameters`` is all that shapes the release and is public, JSON: ledgers know a release by these names and
    values, which stay for ever.
    """

    guarantee: Guarantee
    loss: Charge  # what one release costs; the ledger is charged with it
    households: int  # on the public list, or records
    parameters: Mapping

    def prepared(self, records: Any) -> Any:
        """Return what ``answer`` takes of records, before anything is charged: exact sums, or the records."""

    def answer(self, prepared: Any, noise: Metered, earlier: Sequence[Files]) -> Any:
        """Return noisy answers: the only call that sees noise, and with ``prepared`` the only one that sees records.

        ``earlier`` are the files of mechanisms that are released together with this one, before it.
        """

    def render(self, answers: Any, earlier: Sequence[Files]) -> Files:
        """Return files by name, from answers and public settings."""


def guarantee_of_readings(epsilon: float, delta: float, proof: str) -> Guarantee:
    """Return what Gaussian measurements of the readings of all meters claim, by a note that proves it."""
    return Guarantee(
        unit="all readings of one household",
        adjacency="replace_one",
        epsilon=epsilon,
        delta=delta,
        accountant=gaussian.STEPS,
        proof=proof,
        family="sound",
    )


@dataclass(frozen=True)
class NoisyQuery:
    """One Gaussian measurement of a sequence."""

    name: str
    sensitivity: float  # l2, of the exact answer under the adjacency of the release, proven in its note
    noise_std: float  # standard deviation of the noise on every entry

    @property
    def mu(self) -> float:
        """GDP parameter, sensitivity / noise_std."""
        return self.sensitivity / self.noise_std


# Turns the exact answer of a query into a noisy one. Mechanisms touch records in its arguments only, so that a test
# can replay a run on neighbouring records with recorded answers.
Measure = Callable[[NoisyQuery, np.ndarray], np.ndarray]


class Metered:
    """The source of noise that one mechanism is handed: it answers what was charged for, and no more.

    The sensitivity of a query is taken as declared; its proof note shows it.
    """

    def __init__(self, source: GaussianSource, loss: Charge):
        self.grid = source.grid
        self._source = source
        self._mu_squared_left = loss.mu**2 * (1 + _ROUNDING)

    def apart(self, count: int) -> tuple[Metered, ...]:
        """Return sources for so many parts of the records, each for all that is left; this one then answers nothing.

        No record may be in two parts, and which part a record is in must be public and the same for its neighbour:
        then only one of them tells of it, and together they cost what one does.
        """
        parts = tuple(copy.copy(self) for _ in range(count))
        self._mu_squared_left = 0.0
        return parts

    def measure(self, query: NoisyQuery, exact: np.ndarray) -> np.ndarray:
        """Return the noisy answer of a query; RuntimeError if all queries cost more than was charged."""
        self._mu_squared_left -= query.mu**2
        if not self._mu_squared_left >= 0:
            raise RuntimeError("a mechanism asked for less noise than it was charged for; nothing was released")
        return self._source.add_gaussian(exact, query.noise_std)


def apart(noise: GaussianSource | Metered, count: int) -> tuple[GaussianSource | Metered, ...]:
    """Return a source for each of so many disjoint parts of the records; see :meth:`Metered.apart`."""
    return noise.apart(count) if isinstance(noise, Metered) else (noise,) * count


def measure_with(noise: GaussianSource | Metered, grid: float) -> Measure:
    """Return what adds noise to exact answers, on the grid that the mechanism was calibrated for."""
    if noise.grid != grid:
        raise ValueError("the mechanism was calibrated for another grid than that of the noise")
    if isinstance(noise, Metered):
        return noise.measure
    return lambda query, exact: noise.add_gaussian(exact, query.noise_std)


def delta_beside_the_grid(epsilon: float, delta: float, entries: int, records: int) -> float:
    """Return what is left of delta for continuous noise, of a release of so many entries (docs/proofs/safe_noise.md).

    Raises InputError if nothing is, by public numbers alone.
    """
    margin = delta_margin(epsilon, entries, FEWEST_NOISE_STEPS)
    if margin >= delta:
        possible = margin < 1 / records  # no delta is larger than that
        raise noise_too_small("decrease epsilon" + (f", or increase delta above {margin:.2g}" if possible else ""))
    return delta - margin


def check_grid(query: NoisyQuery, largest_sum: float, grid: float) -> None:
    """Refuse, by public numbers alone, a query whose noise or sums the grid does not hold; a grid of 0 holds all."""
    if grid > 0 and query.noise_std < FEWEST_NOISE_STEPS * grid:
        raise noise_too_small("decrease epsilon")
    if grid > 0 and (query.noise_std > MOST_STD_STEPS * grid or largest_sum >= MOST_STEPS * grid):
        raise InputError(
            "noise or sums are too large for the discretisation grid",
            field="epsilon",
            hint="increase epsilon, or use fewer households",
        )


def noise_too_small(hint: str) -> InputError:
    return InputError("noise is too small for the discretisation grid", field="epsilon", hint=hint)


def clip_to_unit_ball(z: np.ndarray) -> np.ndarray:
    """Return rows z / max(1, |z|), in place."""
    z /= np.maximum(np.sqrt(np.einsum("...d,...d->...", z, z)), 1.0)[..., None]
    return z


def clipped(z: np.ndarray, radius: float) -> np.ndarray:
    """Return the rows of (N, d) z, moved into the ball of a radius."""
    return radius * clip_to_unit_ball(z / radius)


def grouped_sums(y: np.ndarray, group: np.ndarray, groups: int, grid: float) -> np.ndarray:
    """Return the (G, d) sums of the rows of (N, d) y by (N,) group 0..G-1, which is public or already released.

    Replacing one row, its group unchanged, moves one sum by at most twice the radius of a ball that holds all rows:
    replace-one sensitivity. With a grid, a power of two, each row is rounded to its multiples first, and sums below
    2^53 steps are exact in any order (docs/proofs/safe_noise.md); plain sums, with a grid of 0, are for studies only.
    """
    width, rows = y.shape[1], np.rint(y / grid) if grid > 0 else y
    # Row by row, as np.add.at, which takes five times as long for the same sums.
    entry = group[:, None] * width + np.arange(width)
    sums = np.bincount(entry.ravel(), rows.ravel(), groups * width).reshape(groups, width)
    return sums * grid if grid > 0 else sums
