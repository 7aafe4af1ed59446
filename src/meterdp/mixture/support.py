"""How many classes so many households can carry: a rule of thumb from public numbers, and which classes are small.

A class of d hours has d means and d (d + 1) / 2 numbers of its covariance. With fewer than five households for each
hour these follow single households, and a mixture of many such classes is a poor yardstick for anything.
"""

from __future__ import annotations

import numpy as np

# A class with fewer than this many records per dimension has no covariance worth the name.
SMALL_CLASS_FACTOR = 5


def fewest_households(hours: int) -> int:
    """Return how many households a class of so many hours should have."""
    return SMALL_CLASS_FACTOR * hours


def most_classes(households: int, hours: int) -> int:
    """Return how many classes so many households can carry if all are of one size, at least one."""
    return max(households // fewest_households(hours), 1)


def too_many_classes(counts: np.ndarray, hours: int) -> bool:
    """Return whether a mixture has more classes than its households can carry, or most of its classes are small.

    Parameters
    ----------
    counts : (K,) int
        Households of each class.
    hours : int
        Entries d of a profile.
    """
    counts = np.asarray(counts)
    small = np.count_nonzero(counts < fewest_households(hours))
    return len(counts) > 1 and bool(len(counts) > most_classes(counts.sum(), hours) or 2 * small > len(counts))
