"""How the trials of a figure are split into jobs."""

from __future__ import annotations


def batch(number: int, batches: int, trials: int) -> range:
    """Return the trials of batch ``number`` of ``batches``; the batches partition ``range(trials)``."""
    return range(number * trials // batches, (number + 1) * trials // batches)
