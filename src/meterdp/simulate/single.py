"""One plain simulated household for experiments that need a season and nothing else of the fleet."""

from __future__ import annotations

import numpy as np

from meterdp.core.noise import keyed_generator
from meterdp.simulate.load import autoregressive_noise, switched_energy
from meterdp.simulate.parameters import Appliance
from meterdp.simulate.period import Period

_OVEN = Appliance("oven", 1.0, 0.8, (0.4, 1.0), (0.3, 0.8), 18.0, 1.0)


def one_household(period: Period, seed: int, household: int) -> np.ndarray:
    """Return the energy of one household, kWh per interval: daily and weekly shape, AR(1) log noise, an oven.

    Parameters
    ----------
    period : Period
    seed, household : int
        They fix the numbers.
    """
    stream = keyed_generator(seed, "one household", household)
    hour = period.slot_of_day * period.hours_per_slot
    weekend = period.weekend(period.days)[period.day_index]
    shape = -1.0 + 0.5 * np.cos(2 * np.pi * (hour - 19) / 24) + 0.2 * weekend * np.cos(2 * np.pi * (hour - 12) / 24)
    smooth_kw = np.exp(shape + 0.5 * autoregressive_noise(stream, period.slot_count, 8.0, None))
    return smooth_kw * period.hours_per_slot + switched_energy(stream, (_OVEN,), period)
