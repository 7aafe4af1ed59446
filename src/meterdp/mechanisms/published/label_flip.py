"""What all mechanisms of the published and exact families claim, after Liu et al.: one class label, one data set.

The claim is the paper's and holds for none of them (defects L1 to L13); each proof note says where it fails. The
constant of its Gaussian noise, Lemma 1, is here too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from meterdp.errors import InputError
from meterdp.mechanisms.interface import PublicSettings, Sees
from meterdp.privacy.guarantee import Family, Guarantee

# Down to here releases are tested; the noise is some 1e7 times the sensitivity and drowns every parameter.
SMALLEST_EPSILON = 1e-6


@dataclass(frozen=True)
class LabelFlip:
    """Base of the published and exact families; a subclass adds its names and ``release``.

    Class attributes
    ----------------
    pure : bool
        Whether the claim has delta = 0.
    accountant, proof : str
        As in :class:`~meterdp.mechanisms.interface.Guarantee`.
    """

    public: PublicSettings
    name: ClassVar[str]
    sees: ClassVar[Sees] = "labels"
    most_draws: ClassVar[int | None] = None
    family: ClassVar[Family] = "published"
    pure: ClassVar[bool] = False
    accountant: ClassVar[str]
    proof: ClassVar[str]

    @classmethod
    def calibrate(cls, public: PublicSettings) -> Self:
        """Keep the public settings; the noise depends on the data (defect L4).

        Raises
        ------
        InputError
            If epsilon is too small for floating-point numbers.
        """
        if public.epsilon < SMALLEST_EPSILON:
            raise InputError(
                "is so small that the noise leaves no digit of the parameters",
                field="epsilon",
                hint=f"use {SMALLEST_EPSILON} or more",
            )
        return cls(public)

    @property
    def guarantee(self) -> Guarantee:
        """The claim of the paper, which the proof note refutes."""
        return Guarantee(
            unit="class label of one household",
            adjacency="label_flip",
            epsilon=self.public.epsilon,
            delta=0.0 if self.pure else self.public.delta,
            accountant=self.accountant,
            proof=self.proof,
            family=self.family,
        )


def lemma_1_multiplier(epsilon: float | np.ndarray, delta: float) -> float | np.ndarray:
    """Return sqrt(2 ln(2/delta)) / epsilon, the noise per unit of l2 sensitivity by Lemma 1 of Liu et al.

    Loose in the paper's range and too small from epsilon about 9.4 at delta = 1e-5 (defect L7).
    """
    return math.sqrt(2 * math.log(2 / delta)) / epsilon


def square_roots(covariances: np.ndarray) -> np.ndarray:
    """Return F (..., d, d) with F F' the given covariances, which may be singular."""
    values, vectors = np.linalg.eigh(covariances)
    return vectors * np.sqrt(np.maximum(values, 0))[..., None, :]
