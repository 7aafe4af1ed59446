"""Training windows that follow the origins: coefficients are estimated anew every so many days.

The first window is the paper's, the first days of the export; each later one is as long and ends a multiple of
``refit_days`` after it, so that no origin is further than that from the readings its coefficients come from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meterdp.profiles.grid import Calendar


@dataclass(frozen=True)
class TrainingWindow:
    """One training window and the origins its coefficients serve.

    Parameters
    ----------
    slots : slice
        Slots of the window; it ends at or before every origin.
    origins : (m,) int64 array
        Positions in the list of origins, ascending; at least one.
    """

    slots: slice
    origins: np.ndarray


def training_windows(
    calendar: Calendar, train_days: int, refit_days: int | None, origins: np.ndarray
) -> list[TrainingWindow]:
    """Return the windows that serve some origin, in order.

    Parameters
    ----------
    calendar : Calendar
        Of the study.
    train_days : int
        Length of a window.
    refit_days : int or None
        Days from one window to the next; None for the first window alone.
    origins : (n,) int array
        Slots, none before the end of the first window.
    """
    first = calendar.window(train_days)
    origins = np.asarray(origins)
    step = refit_days * calendar.slots_per_day if refit_days else calendar.slot_count
    number = (origins - first.stop) // step
    return [
        TrainingWindow(slice(first.start + w * step, first.stop + w * step), np.flatnonzero(number == w))
        for w in np.unique(number).tolist()
    ]
