"""Which days of an export keep most meters."""

from __future__ import annotations

import numpy as np

_MOST_EDGES, _MOST_METERS = 60, 2000


def best_period(
    energy_kwh: np.ndarray, slots_per_day: int, max_missing_share: float, fewest_days: int, share: float = 0.98
) -> tuple[int, int, int, int]:
    """Return the longest run of days in which nearly as many meters have enough readings as in any run.

    Parameters
    ----------
    energy_kwh : (H, T) float64
        Readings on the grid, NaN where there is none.
    slots_per_day : int
    max_missing_share : float
        A meter with a larger share of missing readings is left out by the study.
    fewest_days : int
        No run is shorter.
    share : float
        How many of the meters that the best run keeps a longer one must keep.

    Returns
    -------
    first_slot, end_slot : int
        The run.
    kept, kept_whole : int
        Meters it keeps, and meters that the whole period keeps.
    """
    given = ~np.isnan(energy_kwh[:: -(-len(energy_kwh) // _MOST_METERS) or 1])
    scale = len(energy_kwh) / max(1, len(given))
    days = -(-given.shape[1] // slots_per_day)
    edges = np.unique(np.linspace(0, days, min(days, _MOST_EDGES) + 1).round().astype(int))
    slots = np.minimum(edges * slots_per_day, given.shape[1])
    upto = np.zeros((len(given), len(edges)), np.int64)
    for j in range(1, len(edges)):
        upto[:, j] = upto[:, j - 1] + given[:, slots[j - 1] : slots[j]].sum(axis=1)
    kept = np.zeros((len(edges), len(edges)), np.int64)
    for a in range(len(edges)):
        for b in range(a + 1, len(edges)):
            if edges[b] - edges[a] >= min(fewest_days, days):
                enough = (1 - max_missing_share) * (slots[b] - slots[a])
                kept[a, b] = ((upto[:, b] - upto[:, a]) >= enough).sum()
    length = slots[None, :] - slots[:, None]
    best = np.where(kept >= share * kept.max(), length, -1)
    a, b = np.unravel_index(best.argmax(), best.shape)
    return int(slots[a]), int(slots[b]), round(kept[a, b] * scale), round(kept[0, -1] * scale)
