"""How each mechanism runs under the readings of Liu et al.: one variant for every choice that concerns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from meterdp.mechanisms.interface import Mechanism, PublicSettings
from meterdp.mechanisms.published.baseline import Baseline
from meterdp.mechanisms.published.labelled import LabelledRecords
from meterdp.mechanisms.registry import MECHANISMS
from meterdp_papers.liu.readings import ANY, FLIPS, OVER_CLASSES, Reading

COMPARED = {name: kind for name, kind in MECHANISMS.items() if kind.sees == "labels"}
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

    def of(self, reading: Reading) -> bool:
        """Whether this belongs to a reading."""
        return reading.has(self.flips, self.over_classes)

    def records(self, private: Mapping[str, LabelledRecords]) -> LabelledRecords:
        """Return the records as this variant reads (10), from :func:`read`."""
        return private["all" if self.flips == ANY else self.flips]


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
    return {variant.mechanism: value for variant, value in values.items() if variant.of(reading)}
