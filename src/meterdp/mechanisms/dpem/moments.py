"""The general scheme of Park et al., Section 3: EM whose expected moments are perturbed in every iteration.

A model with bounded records says what its expected moments are under the parameters of the iteration before, (7), and
how they become parameters: every moment goes through :class:`Perturbation` with its sensitivity, (10), and what comes
back is mapped by a function g that sees no record. Records are touched in ``expected`` only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import numpy as np

from meterdp.accounting.sequence import Sequence
from meterdp.privacy.noise import NoiseSource

Parameters = TypeVar("Parameters")
Moments = TypeVar("Moments")
Distribution = Literal["laplace", "gaussian"]


@dataclass(frozen=True)
class Perturbation:
    """Noise of one budget on every moment: Laplace of l1 sensitivity/epsilon, or Gaussian below (14).

    Parameters
    ----------
    noise : NoiseSource
    step_epsilon : float
        Budget of each noisy answer; infinite for none of the noise.
    step_delta : float
        Of each Gaussian answer; means nothing without one.
    """

    noise: NoiseSource
    step_epsilon: float
    step_delta: float = 0.0

    def gaussian_std(self, sensitivity: np.ndarray | float) -> np.ndarray | float:
        """Return the standard deviation for an l2 sensitivity."""
        return Sequence(0, 1, self.step_delta).noise_multiplier(self.step_epsilon) * sensitivity

    def vector(self, exact: np.ndarray, sensitivity: np.ndarray | float, distribution: Distribution) -> np.ndarray:
        """Return ``exact`` with independent noise on every entry; the sensitivity broadcasts to its shape."""
        if distribution == "gaussian":
            return exact + self.gaussian_std(sensitivity) * self.noise.normal(exact.shape)
        return exact + sensitivity / self.step_epsilon * self.noise.laplace(exact.shape)

    def symmetric(self, exact: np.ndarray, sensitivity: np.ndarray | float) -> np.ndarray:
        """Return symmetric matrices (..., d, d) with Gaussian noise on the upper triangle, copied to the lower, (17).

        ``sensitivity`` is that of the Frobenius norm, one number or (...).
        """
        std = np.asarray(self.gaussian_std(sensitivity))[..., None, None]
        return mirrored(exact + std * self.noise.normal(exact.shape))


def mirrored(matrices: np.ndarray) -> np.ndarray:
    """Return matrices (..., d, d) with the upper triangles copied to the lower ones, so that nothing else is told."""
    below = np.tri(*matrices.shape[-2:], -1, dtype=bool)
    return np.where(below, np.swapaxes(matrices, -1, -2), matrices)


class MomentModel(Protocol[Parameters, Moments]):
    """A model for moment-perturbation EM."""

    def expected(self, x: np.ndarray, parameters: Parameters) -> Moments:
        """Return the expected moments of records (N, d) in the unit ball."""

    def perturbed(self, moments: Moments, perturbation: Perturbation) -> Parameters:
        """Perturb every moment and map the noisy ones to parameters."""


def iterates(
    model: MomentModel, x: np.ndarray, start: Parameters, iterations: int, perturbation: Perturbation
) -> Iterator[Parameters]:
    """Yield the parameters after each iteration."""
    parameters = start
    for _ in range(iterations):
        parameters = model.perturbed(model.expected(x, parameters), perturbation)
        yield parameters


def moment_em(
    model: MomentModel, x: np.ndarray, start: Parameters, iterations: int, perturbation: Perturbation
) -> Parameters:
    """Return the parameters after the last iteration; see :func:`iterates`."""
    last = deque(iterates(model, x, start, iterations, perturbation), maxlen=1)
    return last[0] if last else start
