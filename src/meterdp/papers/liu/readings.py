"""The readings of Liu et al. that change a verdict: what (10) covers, what the baselines do with their classes.

(10) is printed over the records of a class; its text speaks of all label flips. Nothing is said of how the budget of
a baseline is shared over classes. Every combination is faithful, and every claim is judged under all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import pandas as pd

from meterdp.mechanisms.interface import Mechanism, PublicSettings
from meterdp.mechanisms.published.baseline import Baseline, OverClasses
from meterdp.mechanisms.published.labelled import LabelledRecords
from meterdp.mechanisms.published.sensitivities import Flips
from meterdp.mechanisms.registry import MECHANISMS

COMPARED = {name: kind for name, kind in MECHANISMS.items() if kind.sees == "labels"}
ANY = "any"  # of a choice that does not concern a mechanism
FLIPS: dict[Flips, str] = {"all": "(10) over all flips", "leaving": "(10) over leaving members"}
OVER_CLASSES: dict[OverClasses, str] = {
    "parallel": "a scale per class",
    "common": "one scale for all classes",
    "split": "epsilon split over classes",
}
# Mechanisms whose noise on means is designed from (10).
_COVERS = ("kl_published", "coloured_gaussian", "coloured_gaussian_l1")

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Variant:
    """One way to run a mechanism.

    Parameters
    ----------
    mechanism : str
        Name in the registry.
    flips : {"all", "leaving", "any"}
        As of :class:`~meterdp.mechanisms.published.labelled.LabelledRecords`.
    over_classes : {"parallel", "common", "split", "any"}
        As of :class:`~meterdp.mechanisms.published.baseline.Baseline`.
    """

    mechanism: str
    flips: str = ANY
    over_classes: str = ANY

    @property
    def family(self) -> str:
        """'published', 'exact' or 'sound'."""
        return COMPARED[self.mechanism].family

    def calibrate(self, public: PublicSettings) -> Mechanism:
        """Return the mechanism for these public settings."""
        found = COMPARED[self.mechanism].calibrate(public)
        return found if self.over_classes == ANY else replace(found, over_classes=self.over_classes)

    def records(self, private: Mapping[str, LabelledRecords]) -> LabelledRecords:
        """Return the records as this variant reads (10), from :func:`read`."""
        return private["all" if self.flips == ANY else self.flips]


@dataclass(frozen=True)
class Reading:
    """One faithful reading of the text."""

    flips: Flips
    over_classes: OverClasses

    @property
    def name(self) -> str:
        """As tables and the page write it."""
        return f"{FLIPS[self.flips]}; {OVER_CLASSES[self.over_classes]}"

    def has(self, variant: Variant) -> bool:
        """Whether a variant belongs to this reading."""
        return variant.flips in (ANY, self.flips) and variant.over_classes in (ANY, self.over_classes)


READINGS = tuple(Reading(flips, over) for flips in FLIPS for over in OVER_CLASSES)
SHOWN = READINGS[0]  # the one that figures draw


def _variants() -> tuple[Variant, ...]:
    found = []
    for name, kind in COMPARED.items():
        over = tuple(OVER_CLASSES) if issubclass(kind, Baseline) else (ANY,)
        flips = tuple(FLIPS) if name in _COVERS else (ANY,)
        found += [Variant(name, f, o) for f in flips for o in over]
    return tuple(found)


VARIANTS = _variants()


def read(private: LabelledRecords) -> dict[str, LabelledRecords]:
    """Return the same records under every reading of (10)."""
    return {flips: private if flips == private.flips else replace(private, flips=flips) for flips in FLIPS}


def select(values: Mapping[Variant, _Value], reading: Reading) -> dict[str, _Value]:
    """Return what belongs to a reading, by the name of the mechanism."""
    return {variant.mechanism: value for variant, value in values.items() if reading.has(variant)}


def rows_of(trials: pd.DataFrame, reading: Reading) -> pd.DataFrame:
    """Return the rows of a reading from a frame with the columns ``flips`` and ``over_classes``."""
    of_flips = trials["flips"].isin([ANY, reading.flips])
    return trials[of_flips & trials["over_classes"].isin([ANY, reading.over_classes])]
