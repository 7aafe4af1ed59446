"""The released `joint`: every forecast moves towards the centre of its neighbourhood, and one noise is added to all.

Ramakrishna et al. (43)-(44) with both the mean and the covariance of the noise, for deterministic queries and all
files of a neighbourhood together: their guarantee is the curve of whatever permutation of the households is easiest
to distinguish, not that of one exchanged pair (docs/proofs/joint.md). Noise is white, on one public grid, the same
for every label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meterdp.errors import InputError
from meterdp.privacy import gaussian
from meterdp.privacy.gaussian import delta_margin, total_variation
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.mechanism import NoisyQuery, measure_with
from meterdp.privacy.noise import MOST_STD_STEPS, MOST_STEPS, GaussianSource

# Entries of a forecast further than this from the public level are cut, log kWh.
ENTRY_LIMIT = 50.0
# Of what remains after the moves: for the rounding of the moves themselves.
_SLACK = 1e-9


@dataclass(frozen=True)
class LabelPublic:
    """Everything that is fixed before a forecast is seen.

    epsilon and delta are of all files of one neighbourhood together; ``neighbourhood`` (N,) is the public one,
    0..G-1, of every household; a forecast has k ``steps``. The noise has one standard deviation on every entry;
    ``centre_log_kwh`` is a public level, and the forecast of a household that has none; what is released lives on
    ``grid``, a power of two.
    """

    epsilon: float
    delta: float
    neighbourhood: tuple[int, ...]
    steps: int
    noise_std_log_kwh: float
    centre_log_kwh: float
    grid: float

    @property
    def noise_entries(self) -> int:
        return len(self.neighbourhood) * self.steps


@dataclass(frozen=True)
class TowardsCentre:
    """The mechanism, calibrated; ``mu`` is its GDP parameter for all files of a neighbourhood and any permutation of
    its households.
    """

    public: LabelPublic
    mu: float
    name: ClassVar[str] = "joint"
    family: ClassVar[str] = "model"

    @classmethod
    def calibrate(cls, public: LabelPublic) -> TowardsCentre:
        """Turn (epsilon, delta) into mu; refuse noise that does not fit the grid, by public numbers alone."""
        std_steps = public.noise_std_log_kwh / public.grid
        reach_steps = (abs(public.centre_log_kwh) + ENTRY_LIMIT) / public.grid
        if not (2.0**20 <= std_steps <= MOST_STD_STEPS and reach_steps < MOST_STEPS):
            raise InputError(
                f"is {public.noise_std_log_kwh:g} log kWh, which does not fit the discretisation grid",
                field="release.forecast_noise_std_log_kwh",
                hint="use 0.01 to 10",
            )
        margin = delta_margin(public.epsilon, public.noise_entries, std_steps)
        delta, households = public.delta - margin, len(public.neighbourhood)
        if delta <= 0:  # delta itself is at most 1 in the number of households
            raise InputError(
                "noise is too small for the discretisation grid",
                field="release.forecast_epsilon",
                hint=f"increase delta above {margin:.2g}" if margin * households < 1 else "decrease epsilon",
            )
        return cls(public, gaussian.mu_for(public.epsilon, delta))

    @property
    def guarantee(self) -> Guarantee:
        """What docs/proofs/joint.md proves, for an adversary who may know every forecast but not whose a file is."""
        return Guarantee(
            unit="which household of its neighbourhood a forecast file belongs to",
            adjacency="class_label",
            epsilon=self.public.epsilon,
            delta=self.public.delta,
            accountant=gaussian.STEPS,
            proof="docs/proofs/joint.md",
            family=self.family,
        )

    @property
    def total_variation(self) -> float:
        """Distance of one release on its grid from the same with continuous noise."""
        return self.public.noise_entries * total_variation(self.public.noise_std_log_kwh / self.public.grid)

    def moved(self, x: np.ndarray) -> np.ndarray:
        """Return what is released of forecasts x (N, k) except for the noise, on the grid, (N, k) log kWh.

        A row of x that is not finite is the public level. Whatever permutation of the households of a neighbourhood
        is applied to x, that of the result is no further from it than mu standard deviations, in the l2 norm over all
        its files: the largest sum of squared distances over permutations is at most four times that from the mean,
        since |a - b|^2 <= 2 |a|^2 + 2 |b|^2; households in pairs opposite to one another reach it.
        """
        public = self.public
        z = np.where(np.isfinite(x).all(axis=1, keepdims=True), x - public.centre_log_kwh, 0.0)
        z = np.clip(z, -ENTRY_LIMIT, ENTRY_LIMIT)
        out, label = np.empty_like(z), np.asarray(public.neighbourhood)
        for group in range(label.max() + 1):
            rows = np.flatnonzero(label == group)
            # Sorted by value, so that the order of the list changes no bit.
            rows = rows[np.lexsort(z[rows].T)]
            mean = z[rows].mean(axis=0)
            away = z[rows] - mean
            budget = self.mu * public.noise_std_log_kwh / (1 + _SLACK)
            budget -= math.sqrt(rows.size) * (public.grid * math.sqrt(public.steps) + _SLACK * public.grid)
            spread = 2 * math.sqrt(float((away**2).sum()))
            share = 0.0 if budget <= 0 else min(1.0, budget / spread) if spread > 0 else 1.0
            out[rows] = mean + share * away
        return np.rint((public.centre_log_kwh + out) / public.grid) * public.grid

    def release(self, x: np.ndarray, noise: GaussianSource) -> np.ndarray:
        """Return the released forecasts, (N, k) log kWh; refuse others than the public shape, and noise of another
        grid.
        """
        public = self.public
        if x.shape != (len(public.neighbourhood), public.steps):
            raise InputError(
                "the forecasts do not have the public number of households and steps",
                field="records",
                hint="set them to the size of the public list and of a forecast",
            )
        std = public.noise_std_log_kwh
        return measure_with(noise, public.grid)(NoisyQuery("moved forecasts", self.mu * std, std), self.moved(x))
