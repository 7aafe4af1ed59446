"""Made-up meters on feeders: log-normal levels, a common shape of a day, and noise."""

from functools import cache

import numpy as np

from meterdp.feeders.mechanism import FeederTotals
from meterdp.feeders.plan import FeederPublic

METERS, FEEDERS, DAYS, PER_DAY = 60, 4, 2, 12
FEEDER = tuple((np.arange(METERS) % FEEDERS).tolist())


def public(epsilon=4.0, **others):
    given = {"feeder": FEEDER, "feeders": FEEDERS, "intervals_per_day": PER_DAY, "days": DAYS} | others
    return FeederPublic(epsilon, 1e-5, **given)


@cache
def calibrate(epsilon=4.0, **others):
    return FeederTotals.calibrate(public(epsilon, **others))


def energies(meters=METERS, days=DAYS, seed=5):
    """Energy (N, T) in kWh; about 12 kWh a day."""
    generator = np.random.default_rng(seed)
    shape = 1 - 0.4 * np.cos(2 * np.pi * (np.arange(days * PER_DAY) + 0.5) / PER_DAY)
    level = 12 / PER_DAY * np.exp(0.5 * generator.standard_normal((meters, 1)))
    return level * shape * np.exp(0.3 * generator.standard_normal((meters, days * PER_DAY)))
