"""The sound feeder totals: noisy sums of clipped records per public feeder, then post-processing (``replace_one``).

One Gaussian measurement. Which feeder a listed meter is on is public, so a replaced record moves one feeder's sum and
feeders do not share the noise. In study mode the noise is seeded floating point: the proof then covers the algorithm,
not the numbers (docs/proofs/feeder_totals.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meterdp.accounting import gdp
from meterdp.core.errors import InputError
from meterdp.core.guarantee import Guarantee
from meterdp.core.noise import GaussianSource
from meterdp.feeders.plan import ENTRY_LIMIT, LEAST_READ, LEVEL_LIMIT, FeederPlan, FeederPublic, make_plan
from meterdp.feeders.posterior import Posterior, posterior
from meterdp.mechanisms.sound.stack import Step, clip_to_unit_ball

Measure = Callable[[Step, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class FeederRecords:
    """All the mechanism sees of the data: the energy of every meter of the public list.

    Parameters
    ----------
    energy_kwh : (N, T) float64
        In the intervals of the window, import only; what is not finite is missing.
    """

    energy_kwh: np.ndarray


@dataclass(frozen=True)
class FeederRelease:
    """One release.

    Parameters
    ----------
    total_kwh : (F, T) float64
        Energy of every feeder and interval, not negative.
    devices : (F,) float64
        Meters the totals are of: listed ones, or the measured number of those that were read.
    error_kwh : (F,) float64
        Standard error of a total, root mean square over the intervals, as the public law and the noise have it.
        What clipping takes away is not in it.
    """

    total_kwh: np.ndarray
    devices: np.ndarray
    error_kwh: np.ndarray


@dataclass(frozen=True)
class FeederTotals:
    """The mechanism, calibrated.

    Parameters
    ----------
    public : FeederPublic
    plan : FeederPlan
    """

    public: FeederPublic
    plan: FeederPlan
    name: ClassVar[str] = "feeder_totals"
    family: ClassVar[str] = "sound"

    @classmethod
    def calibrate(cls, public: FeederPublic) -> FeederTotals:
        """Turn (epsilon, delta) into weights and noise by the public rules of ``plan``."""
        return cls(public, make_plan(public))

    @property
    def mu(self) -> float:
        """GDP parameter of a release."""
        return self.plan.mu

    @property
    def total_variation(self) -> float:
        """Distance of a release on its grid from the same with continuous noise."""
        return self.plan.total_variation(self.public)

    @property
    def guarantee(self) -> Guarantee:
        """What docs/proofs/feeder_totals.md proves of one release, for noise that is truly Gaussian."""
        return Guarantee(
            unit="all readings of one household",
            adjacency="replace_one",
            epsilon=self.public.epsilon,
            delta=self.public.delta,
            accountant=gdp.CURVE.title,
            proof="docs/proofs/feeder_totals.md",
            family=self.family,
        )

    def release(self, private: FeederRecords, noise: GaussianSource) -> FeederRelease:
        """Run the mechanism once.

        Raises
        ------
        InputError
            If the records do not have the public shape (N, T).
        ValueError
            If the noise lives on another grid than the one the mechanism was calibrated for.
        """
        if noise.grid != self.public.grid:
            raise ValueError("the mechanism was calibrated for another grid than that of the noise")
        return self.run(private.energy_kwh, lambda step, sums: noise.add_gaussian(sums, step.noise_std))

    def run(self, energy_kwh: np.ndarray, measure: Measure) -> FeederRelease:
        """Run the mechanism, letting ``measure`` turn the exact sums into noisy ones.

        Records are touched in the argument of ``measure`` only.
        """
        return self._totals(measure(self.plan.step, self.sums(energy_kwh)))

    def sums(self, energy_kwh: np.ndarray) -> np.ndarray:
        """Return per feeder the exact sum of the clipped vectors of its meters, (F, K) or (F, K + 1).

        Replacing one record moves one row by at most the sensitivity of the step. With a grid what every record adds
        is rounded to its multiples first, and sums are exact.
        """
        public = self.public
        if energy_kwh.shape != (len(public.feeder), public.intervals):
            raise InputError(
                "the records do not have the public number of meters and intervals",
                field="records",
                remedy="give every listed meter a record of the whole window, NaN where it has no reading",
            )
        entries = self.vectors(energy_kwh)
        if public.grid > 0:
            entries = np.rint(entries / public.grid)
        out = np.zeros((public.feeders, entries.shape[1]))
        np.add.at(out, np.asarray(public.feeder), entries)
        return out * public.grid if public.grid > 0 else out

    def vectors(self, energy_kwh: np.ndarray) -> np.ndarray:
        """Return what each record adds, a function of itself: (N, K), or (N, K + 1) with whether it was read.

        Level and shape are clipped apart: the level to [0, LEVEL_LIMIT] typical ones, by scaling the whole record,
        and then the shape to the unit ball of the weights.
        """
        public, plan = self.public, self.plan
        x, read = filled(energy_kwh, public)
        limit = LEVEL_LIMIT * public.typical_daily_kwh * public.days
        energy = x.sum(axis=1)
        x = x * (limit / np.maximum(energy, limit))[:, None]
        z = (x - public.centre_kwh) @ plan.basis.T * plan.weight
        unit = plan.weight[0] * public.unit_kwh
        z[:, 0] = np.clip(z[:, 0], -unit, (LEVEL_LIMIT - 1) * unit)
        z[:, 1:] = clip_to_unit_ball(z[:, 1:])
        z[~read] = 0.0
        if plan.count_weight > 0:
            z = np.column_stack([z, plan.count_weight * read])
        return z

    def _totals(self, noisy: np.ndarray) -> FeederRelease:
        """Turn noisy sums into totals: posterior means under the public law, nothing private."""
        public, plan = self.public, self.plan
        listed = public.listed.astype(float)
        devices = listed
        if plan.count_weight > 0:
            missing = _missing(listed, noisy[:, -1] / plan.count_weight, plan)
            devices = np.clip(listed - missing, 0.0, listed)
            noisy = noisy[:, :-1]
        value = np.empty((public.feeders, len(plan.weight)))
        variance = np.empty_like(value)
        for block in np.unique(plan.block):
            at = plan.block == block
            found: Posterior = posterior(
                noisy[:, at] / plan.weight[at],
                devices,
                plan.step.noise_std / plan.weight[at],
                plan.household_std[at],
                plan.mean_std[at],
            )
            value[:, at], variance[:, at] = found.mean, found.variance
        total = devices[:, None] * public.centre_kwh + value @ plan.basis
        beside = devices * plan.unmeasured_std**2
        error = np.sqrt(variance.sum(axis=1) / public.intervals + beside)
        return FeederRelease(np.maximum(total, 0.0), devices, error)


def filled(energy_kwh: np.ndarray, public: FeederPublic) -> tuple[np.ndarray, np.ndarray]:
    """Return the records without gaps or negative energies, and which meters were read.

    Both are functions of one's own record. A gap gets the mean of the meter's other days at that time, else the
    public shape of a day at the meter's own level.

    Parameters
    ----------
    energy_kwh : (N, T) float64
    public : FeederPublic

    Returns
    -------
    x : (N, T) float64
        The public centre where a meter was not read.
    read : (N,) bool
    """
    given = np.isfinite(energy_kwh)
    typical = public.typical_daily_kwh / public.intervals_per_day
    x = np.clip(np.where(given, energy_kwh, 0.0), 0.0, ENTRY_LIMIT * typical)
    read = given.mean(axis=1) >= LEAST_READ
    by_day = (len(x), public.days, public.intervals_per_day)
    often = given.reshape(by_day).sum(axis=1)
    at_time = x.reshape(by_day).sum(axis=1) / np.maximum(often, 1)
    level = x.sum(axis=1) / np.maximum((given * public.centre_kwh).sum(axis=1), typical * 1e-9)
    elsewhere = level[:, None] * public.centre_kwh[: public.intervals_per_day]
    fill = np.tile(np.where(often > 0, at_time, elsewhere), public.days)
    x = np.where(given, x, fill)
    return np.where(read[:, None], x, public.centre_kwh), read


def _missing(listed: np.ndarray, noisy_read: np.ndarray, plan: FeederPlan) -> np.ndarray:
    """Return the posterior mean of how many meters of each feeder were not read, (F,)."""
    std = np.array([plan.step.noise_std / plan.count_weight])
    share = np.array([0.02])
    return posterior((listed - noisy_read)[:, None], listed, std, np.sqrt(share), share).mean[:, 0]
