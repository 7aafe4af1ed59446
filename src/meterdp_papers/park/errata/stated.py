"""What Park et al. state: noise multipliers of their settings under zCDP, by closed forms of their own.

A multiplier is the standard deviation of the noise over the stated l2 sensitivity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

DELTA = 1e-4


@dataclass(frozen=True)
class Setting:
    """One run of DP-EM, scenario GGG.

    Parameters
    ----------
    name : str
        Figure and sizes, in words.
    iterations, classes : int
        J and K.
    step_delta : float
        delta_i.
    """

    name: str
    iterations: int
    classes: int
    step_delta: float

    @property
    def steps(self) -> int:
        """Gaussian steps, J (2 K + 1)."""
        return self.iterations * (2 * self.classes + 1)

    def multiplier(self, epsilon: float) -> float:
        """Return the noise multiplier for (epsilon, 1e-4)-DP from rho + 2 sqrt(rho ln(1/delta)) = epsilon."""
        return math.sqrt(self.steps / (2 * zcdp_rho(epsilon, DELTA)))

    def step_epsilon(self, epsilon: float) -> float:
        """Return eps_i: the multiplier is sqrt(2 ln(1.25/delta_i))/eps_i."""
        return math.sqrt(2 * math.log(1.25 / self.step_delta)) / self.multiplier(epsilon)


STROKE = Setting("Fig. 2: J = 20, K = 10, delta_i = 1e-6", 20, 10, 1e-6)
LIFE_SCIENCES = Setting("Fig. 3: J = 10, K = 3, delta_i = 1e-8", 10, 3, 1e-8)
MARITAL = Setting("Fig. 1 in one iteration: J = 1, K = 4, delta_i = 1e-6", 1, 4, 1e-6)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the rho with rho + 2 sqrt(rho ln(1/delta)) = epsilon."""
    log = math.log(1 / delta)
    return (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2


def analyze_gauss_std(epsilon: float, delta: float, sensitivity: float) -> float:
    """Return the standard deviation sqrt(2 ln(1.25/delta)) sensitivity/epsilon of (17)."""
    return math.sqrt(2 * math.log(1.25 / delta)) * sensitivity / epsilon
