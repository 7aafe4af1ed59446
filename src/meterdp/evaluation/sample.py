"""The households that a study measures costs and fidelity on: all, or of many a public number.

Every draw of every mechanism reads all of them, which for many households takes hours and tells no more than a few
thousand do. What is measured on a sample is what a release of so many households would cost; one of all costs less.
"""

from __future__ import annotations

import numpy as np

from meterdp.evaluation.tables import MOST_HOUSEHOLDS
from meterdp.forecasting.select import choose_households
from meterdp.mixture.draws import Mixture
from meterdp.mixture.study import start_labels
from meterdp.profiles.vector import Records


def study_sample(records: Records) -> Records:
    """Return all records, or of more than :data:`MOST_HOUSEHOLDS` so many by a fixed order that looks at none."""
    if len(records.household) <= MOST_HOUSEHOLDS:
        return records
    at = np.isin(records.household, choose_households(records.household, MOST_HOUSEHOLDS))
    return Records(records.household[at], records.log_kwh[at], records.valid[at])


def labelled_sample(
    records: Records, labels: np.ndarray, classes: int, seed: int, elsewhere: Mixture | None
) -> tuple[Records, np.ndarray]:
    """Return the sample and the class of each of its valid records: those of the study, or of some by themselves."""
    some = study_sample(records)
    return some, labels if some is records else start_labels(some, classes, seed, elsewhere)
