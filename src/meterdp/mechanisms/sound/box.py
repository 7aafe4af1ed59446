"""A public box around records, which fits into the ball of the sound release.

The box is mapped to the cube [-1, 1]^d by its own bounds, and the cube lies in the ball of radius sqrt(d) around the
origin. Either map is one of a single record and of public numbers; proof note: docs/proofs/sound.md, 10.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meterdp.errors import InputError
from meterdp.mechanisms.sound.domain import Ball
from meterdp.mixture.draws import Mixture

# Half widths of a box whose squares, those of covariances, a float64 holds with room.
LEAST_HALF_WIDTH, MOST_HALF_WIDTH = 1e-100, 1e100


@dataclass(frozen=True)
class Box:
    """Public bounds of every entry of a record.

    Parameters
    ----------
    low, high : tuple of float
        d numbers each, in the unit of the records.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self):
        half = self._half
        if not (np.isfinite(half) & (half >= LEAST_HALF_WIDTH) & (half <= MOST_HALF_WIDTH)).all():
            raise InputError(
                "are not finite numbers with the lower one first, from 1e-100 to 1e100 apart",
                field="bounds",
                hint="give (low, high) from public knowledge, numbers or one for each entry of a record",
            )

    @property
    def dimension(self) -> int:
        """Entries d of a record."""
        return len(self.low)

    @property
    def ball(self) -> Ball:
        """The ball around the cube."""
        return Ball(float(np.sqrt(self.dimension)))

    @property
    def _half(self) -> np.ndarray:
        return np.array(self.high, dtype=float) / 2 - np.array(self.low, dtype=float) / 2

    @property
    def _middle(self) -> np.ndarray:
        return np.array(self.low, dtype=float) / 2 + np.array(self.high, dtype=float) / 2

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """Clip finite records (N, d) to the box and map them to the cube, each by itself."""
        z = np.clip(x, self.low, self.high)
        z -= self._middle
        z /= self._half
        return np.clip(z, -1.0, 1.0, out=z)

    def unscaled(self, mixture: Mixture) -> Mixture:
        """Return a mixture of records in the cube as one of records in the box.

        Means are moved into the box, where those of its records lie; that takes released and public numbers alone.
        """
        half = self._half
        means = np.clip(self._middle + half * mixture.means, self.low, self.high)
        return Mixture(mixture.weights, means, mixture.covariances * half[:, None] * half)
