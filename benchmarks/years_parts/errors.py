"""What a table says of several releases."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from meterdp.households.score import Summary, compare

Errors = dict[tuple[str, str], float]


def mean_errors(real: Summary, drawn: Iterable[Summary]) -> Errors:
    """Return the mean absolute error of synthetic households of some releases, by row of the scorecard."""
    errors: dict[tuple[str, str], list[float]] = {}
    for summary in drawn:
        for row in compare(real, summary):
            errors.setdefault((row.statistic, row.detail), []).append(abs(row.error))
    return {key: float(np.mean(values)) for key, values in errors.items()}
