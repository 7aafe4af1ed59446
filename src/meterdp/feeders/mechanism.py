"""The sound feeder totals: noisy sums of clipped records, then post-processing (``replace_one``).

Two Gaussian measurements: the sum over all meters, and that of every feeder's. Which feeder a listed meter is on is
public, so a replaced record moves one feeder's sum, and feeders do not share the budget. In study mode the noise is
seeded floating point: the proof then covers the algorithm, not the numbers (docs/proofs/feeder_totals.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meterdp.core.pieces import Pieces, pieces
from meterdp.errors import InputError
from meterdp.feeders.plan import (
    ENTRY_LIMIT,
    LEVEL_BOUNDS,
    MISSING_SHARE,
    FeederPlan,
    FeederPublic,
    Measurement,
    Observed,
    expected_excess,
    make_plan,
    posterior,
    spread,
)
from meterdp.ingest.meter_list import LEAST_READ
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.mechanism import Measure, clipped, grouped_sums, guarantee_of_readings, measure_with
from meterdp.privacy.noise import GaussianSource


@dataclass(frozen=True)
class FeederRecords:
    """All the mechanism sees of the data: the energy (N, T) kWh of every meter of the public list in the intervals of
    the window.

    Import only; what is not finite is missing.
    """

    energy_kwh: np.ndarray | Pieces


@dataclass(frozen=True)
class FeederSums:
    """The exact sums of what records add: of all meters (1, K), and of every feeder's (F, K')."""

    everybody: np.ndarray
    feeders: np.ndarray


@dataclass(frozen=True)
class FeederRelease:
    """Energy of every feeder and interval (F, T), not negative, of how many meters (F,), and standard errors (F,).

    ``devices`` are the listed meters, or the measured number of those that were read. ``error_kwh`` is a root mean
    square over the intervals: noise, and what is not measured and what clipping takes away as a public distribution
    of the measured level has it; no smaller a share of use than the plan's.
    """

    total_kwh: np.ndarray
    devices: np.ndarray
    error_kwh: np.ndarray


@dataclass(frozen=True)
class FeederTotals:
    """The mechanism, calibrated."""

    public: FeederPublic
    plan: FeederPlan
    name: ClassVar[str] = "feeder_totals"

    @classmethod
    def calibrate(cls, public: FeederPublic) -> FeederTotals:
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
        return guarantee_of_readings(self.public.epsilon, self.public.delta, "docs/proofs/feeder_totals.md")

    def release(self, private: FeederRecords, noise: GaussianSource) -> FeederRelease:
        """Run the mechanism once, with noise on the grid it was calibrated for."""
        return self.release_sums(self.sums(private), noise)

    def release_sums(self, sums: FeederSums, noise: GaussianSource) -> FeederRelease:
        """Do what ``release`` does, of records that were added up before."""
        return self.run(sums, measure_with(noise, self.public.grid))

    def run(self, sums: FeederSums, measure: Measure) -> FeederRelease:
        """Run the mechanism, letting ``measure`` turn exact sums into noisy ones.

        Sums are touched in the arguments of ``measure`` only. The privacy test replays a run on those of neighbouring
        records by handing back recorded answers.
        """
        common = measure(self.plan.common.step, sums.everybody)
        return self._totals(common[0], measure(self.plan.own.step, sums.feeders))

    def sums(self, private: FeederRecords) -> FeederSums:
        """Add up what records add, without noise.

        Replacing one record moves either, one row of it, by at most the sensitivity of its step. With a grid what
        every record adds is rounded to its multiples first, and sums are exact.
        """
        public, plan, energy_kwh = self.public, self.plan, private.energy_kwh
        if energy_kwh.shape != (len(public.feeder), public.intervals):
            raise InputError(
                "the records do not have the public number of meters and intervals",
                field="records",
                hint="give every listed meter a record of the whole window, NaN where it has no reading",
            )
        own = np.asarray(public.feeder)
        everybody, feeders = np.zeros((1, plan.common.entries)), np.zeros((public.feeders, plan.own.entries))
        for part, kwh in pieces(energy_kwh):
            z, read = self._coefficients(kwh)
            alone = np.zeros_like(own[part])
            everybody += grouped_sums(self._added(z, read, plan.common), alone, 1, public.grid)
            feeders += grouped_sums(self._added(z, read, plan.own), own[part], public.feeders, public.grid)
        return FeederSums(everybody, feeders)

    def _coefficients(self, energy_kwh: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients (N, K) around the public centre, levels limited, and which meters were read."""
        public, plan = self.public, self.plan
        x, read = filled(energy_kwh, public)
        limit, energy = plan.level_limit * public.typical_daily_kwh * public.days, x.sum(axis=1)
        x *= (limit / np.maximum(energy, limit))[:, None]
        z = (x - public.centre_kwh) @ plan.basis.T
        z[:, 0] = np.clip(z[:, 0], -public.unit_kwh, (plan.level_limit - 1) * public.unit_kwh)
        z[~read] = 0.0
        return z, read

    def _added(self, z: np.ndarray, read: np.ndarray, how: Measurement) -> np.ndarray:
        """Return what each record adds, (N, K) or (N, K + 1) with whether it was read."""
        y = z[:, : len(how.weight)] * how.weight
        if y.shape[1] > 1:
            y[:, 1:] = clipped(y[:, 1:], how.radius)
        if how.count_weight > 0:
            y = np.column_stack([y, how.count_weight * read])
        return y

    def _totals(self, common: np.ndarray, own: np.ndarray) -> FeederRelease:
        """Turn the noisy sums of all (K,) and of feeders (F, K) into totals: posterior means, nothing private."""
        public, plan = self.public, self.plan
        devices = public.listed.astype(float)
        if plan.own.count_weight > 0:
            devices = self._devices(common[-1], own[:, -1])
        k = len(plan.own.weight)
        noisy, precision = np.zeros((public.feeders, len(plan.basis))), np.zeros(len(plan.basis))
        noisy[:, :k], precision[:k] = own[:, :k] / plan.own.weight, plan.own.noise_std**-2
        of_all = common[: len(plan.basis)] / plan.common.weight
        if k > 1:
            noise = plan.own.noise_std[1:], plan.common.noise_std[1:k]
            fallen_short = lost_by_feeders(noisy[:, 1:k], of_all[1:k], *noise)
            noisy[:, 1:k] += np.outer(devices / max(devices.sum(), 1.0), fallen_short)
        # Meters of twice the typical energy differ twice as much.
        level = np.clip(1 + of_all[0] / (max(devices.sum(), 1.0) * public.unit_kwh), *LEVEL_BOUNDS)
        mean, variance = np.empty_like(noisy), np.empty_like(noisy)
        for block in np.unique(plan.block):
            at = plan.block == block
            mean[:, at], variance[:, at] = posterior(
                Observed(noisy[:, at], precision[at], of_all[at], plan.common.noise_std[at] ** 2),
                devices,
                spread(devices),
                level * plan.household_std[at],
                plan.mean_std[at],
            )
        total = devices[:, None] * public.centre_kwh + mean @ plan.basis
        differ = devices * (level * plan.unmeasured_std) ** 2
        clipped = devices * expected_excess(level, plan.level_limit) * public.centre_kwh.mean()
        together = devices * level * plan.unmeasured_mean_std
        error = np.sqrt(variance.sum(axis=1) / public.intervals + differ + together**2 + clipped**2)
        # What clipping takes from shapes is in no answer, so where feeders seem alike the posterior is too sure.
        error = np.maximum(error, level * plan.errors_kwh)
        return FeederRelease(np.maximum(total, 0.0), devices, error)

    def _devices(self, common: float, own: np.ndarray) -> np.ndarray:
        """Return the posterior mean of how many meters of each feeder were read, (F,), from noisy numbers."""
        plan, listed = self.plan, self.public.listed
        noise = [how.step.noise_std / how.count_weight for how in (plan.own, plan.common)]
        missing = listed - own / plan.own.count_weight, listed.sum() - common / plan.common.count_weight
        seen = Observed(missing[0][:, None], np.array([noise[0] ** -2]), missing[1:], np.array([noise[1] ** 2]))
        share = np.array([MISSING_SHARE])
        found, _ = posterior(seen, listed, spread(listed), np.sqrt(share * (1 - share)), share)
        return np.clip(listed - found[:, 0], 0.0, listed)


def lost_by_feeders(own: np.ndarray, of_all: np.ndarray, own_std: np.ndarray, of_all_std: np.ndarray) -> np.ndarray:
    """Return by how much the noisy sums of feeders (F, K) fall short of those of all meters (K,), as far as noise
    does not explain it, (K,).

    Shapes are clipped harder in feeders' sums, which takes from all of them what many meters have, such as heating at
    night. Of a difference d of variance v this is the posterior mean under a prior N(0, c v), with c from the K of
    them together: d (1 - K / sum(d^2 / v)), and nothing where that is negative (Efron and Morris 1973).
    """
    difference, variance = of_all - own.sum(axis=0), of_all_std**2 + len(own) * own_std**2
    count = len(difference)
    return (1 - count / max((difference**2 / variance).sum(), count)) * difference


def filled(energy_kwh: np.ndarray, public: FeederPublic) -> tuple[np.ndarray, np.ndarray]:
    """Return the records (N, T) without gaps or negative energies, and which meters were read, (N,).

    Both are functions of the record alone. A gap gets the mean of the meter's other days at that time, else the
    public shape of a day at the meter's own level. Of a meter that was not read it is the public centre.
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
