"""The readings of Liu et al. that change a verdict: what (10) covers, what the baselines do with their classes.

(10) is printed over the records of a class; its text speaks of all label flips. Nothing is said of how the budget of
a baseline is shared over classes. Every combination is faithful, and every claim is judged under all of them. How
mechanisms run under them is in :mod:`meterdp_papers.liu.setting`; figures import this one, so it stays light.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from meterdp.mechanisms.published.baseline import OverClasses
    from meterdp.mechanisms.published.sensitivities import Flips

ANY = "any"  # of a choice that does not concern a mechanism
FLIPS: dict[Flips, str] = {"all": "(10) over all flips", "leaving": "(10) over leaving members"}
OVER_CLASSES: dict[OverClasses, str] = {
    "parallel": "a scale per class",
    "common": "one scale for all classes",
    "split": "epsilon split over classes",
}


@dataclass(frozen=True)
class Reading:
    """One faithful reading of the text."""

    flips: Flips  # {"all", "leaving"}, as of `LabelledRecords`
    # {"parallel", "common", "split"}, as of `Baseline`
    over_classes: OverClasses

    @property
    def name(self) -> str:
        """As tables and the page write it."""
        return f"{FLIPS[self.flips]}; {OVER_CLASSES[self.over_classes]}"

    def has(self, flips: str, over_classes: str) -> bool:
        """Whether a mechanism run with these choices, which may be :data:`ANY`, belongs to this reading."""
        return flips in (ANY, self.flips) and over_classes in (ANY, self.over_classes)

    def rows(self, trials: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that belong to this reading, of a frame with the columns ``flips`` and ``over_classes``."""
        of_flips = trials["flips"].isin([ANY, self.flips])
        return trials[of_flips & trials["over_classes"].isin([ANY, self.over_classes])]


READINGS = tuple(Reading(flips, over) for flips in FLIPS for over in OVER_CLASSES)
SHOWN = READINGS[0]  # the one that figures draw
