"""The public scale on which energy is modelled: a plain log, a log above an offset, or a signed log.

A plain log holds no energy of zero or below: whatever lies there is clipped to the lower bound. Two others do:

* ``offset``: y = ln(x + o). Zero, and feed-in down to a lower bound above -o.
* ``signed``: y = ln c + asinh(x / 2c), for net load that goes far below zero. Near zero it is as good as linear with
  slope 1 / 2c.

All are one family, x = e^y - o - c^2 e^-y: where energy is large against o and c, y is its logarithm, and energies,
o and c that are h times as large, as over h hours, move y by ln h. So every unit is called log kWh, and public levels
in log kWh mean the same on each. Constants and bounds come from the configuration, never from a reading: the scale is
a function of one reading and of public numbers, so no guarantee changes with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

LOG, OFFSET, SIGNED = KINDS = "log", "offset", "signed"
# Keys of the section ``profiles`` that a scale follows from.
SCALE_KEYS = ("clip_kwh_per_hour", "log_scale")
# The constant of the configuration that each kind takes.
_CONSTANT = {OFFSET: "offset_kwh_per_hour", SIGNED: "scale_kwh_per_hour"}


class Bounds(NamedTuple):
    """Least and greatest value, of energy or of its logarithm."""

    low: float
    high: float


@dataclass(frozen=True)
class LogScale:
    """Energy of an hour or of an interval to log kWh and back, elementwise; NaN stays.

    Every energy is clipped to the public bounds ``low_kwh`` and ``high_kwh``; ``offset_kwh`` is o and ``scale_kwh``
    is c, each 0 on a scale that has none.
    """

    low_kwh: float = -np.inf
    high_kwh: float = np.inf
    offset_kwh: float = 0.0
    scale_kwh: float = 0.0

    @classmethod
    def from_config(cls, profiles: Mapping) -> LogScale:
        """Take the section ``profiles``, or the keys of it that :data:`SCALE_KEYS` names; of an hour."""
        return cls(*profiles["clip_kwh_per_hour"]).of_kind(profiles.get("log_scale", {}))

    @classmethod
    def of_interval(cls, profiles: Mapping, interval_minutes: float) -> LogScale:
        """Take the section ``profiles`` for the energies of an interval."""
        return cls.from_config(profiles).over(interval_minutes)

    def of_kind(self, words: Mapping) -> LogScale:
        """Return these bounds on the scale that a section ``log_scale`` or :attr:`words` name."""
        kind = words.get("kind", LOG)
        constant = words[_CONSTANT[kind]] if kind in _CONSTANT else 0.0
        offset, scale = constant if kind == OFFSET else 0.0, constant if kind == SIGNED else 0.0
        return LogScale(self.low_kwh, self.high_kwh, offset, scale)

    def over(self, minutes: float) -> LogScale:
        """Return the scale of energies over so many minutes, from that of an hour."""
        values = (self.low_kwh, self.high_kwh, self.offset_kwh, self.scale_kwh)
        return LogScale(*(value * minutes / 60 for value in values))

    @property
    def kind(self) -> str:
        return SIGNED if self.scale_kwh else OFFSET if self.offset_kwh else LOG

    @property
    def bounds_kwh(self) -> Bounds:
        return Bounds(self.low_kwh, self.high_kwh)

    @property
    def bounds_log_kwh(self) -> Bounds:
        return Bounds(*map(float, self.log(np.array(self.bounds_kwh))))

    @property
    def has_zero(self) -> bool:
        """Whether zero energy has a logarithm."""
        return self.kind != LOG

    @property
    def least_negative_kwh(self) -> float:
        """Readings below it count as negative ones that are none: 0, or the lower bound where that is below zero."""
        return min(self.low_kwh, 0.0)

    def log(self, energy_kwh):
        """Return y of energies x."""
        if self.scale_kwh:
            return np.log(self.scale_kwh) + np.arcsinh(energy_kwh / (2 * self.scale_kwh))
        return np.log(energy_kwh + self.offset_kwh if self.offset_kwh else energy_kwh)

    def clipped_log(self, energy_kwh):
        """Return y of energies clipped to the bounds."""
        return self.log(np.clip(energy_kwh, *self.bounds_kwh))

    def kwh(self, log_kwh):
        """Return the energies x of y."""
        if self.scale_kwh:
            return 2 * self.scale_kwh * np.sinh(log_kwh - np.log(self.scale_kwh))
        return np.exp(log_kwh) - self.offset_kwh if self.offset_kwh else np.exp(log_kwh)

    def reading_kwh(self, log_kwh):
        """Return the energies of readings; on a plain log one at the lower bound stands for zero."""
        kwh = self.kwh(log_kwh)
        return np.where(log_kwh <= self.bounds_log_kwh.low, 0.0, kwh) if self.kind == LOG else kwh

    def clipped_kwh(self, log_kwh):
        """Return the energies of y, clipped to the bounds."""
        return np.clip(self.kwh(log_kwh), *self.bounds_kwh)

    def powers(self, order: int) -> dict[int, float]:
        """Return x^order as a sum over p of coefficient times e^(p y): power p to coefficient."""
        terms = {1: 1.0, 0: -self.offset_kwh, -1: -(self.scale_kwh**2)}
        found = {0: 1.0}
        for _ in range(order):
            product: dict[int, float] = {}
            for (p, a), (q, b) in ((one, other) for one in found.items() for other in terms.items() if other[1]):
                product[p + q] = product.get(p + q, 0.0) + a * b
            found = product
        return found

    @property
    def words(self) -> dict:
        """The scale as public request parameters, without its bounds; none for a plain log.

        Nothing is said of a plain log, so that a release from before there were others stays the same request.
        """
        return (
            {} if self.kind == LOG else {"kind": self.kind, _CONSTANT[self.kind]: self.offset_kwh or self.scale_kwh}
        )

    @property
    def formula(self) -> str:
        """Return y of x as text that a program could read, too."""
        o, c = self.offset_kwh, self.scale_kwh
        return {LOG: "ln(x)", OFFSET: f"ln(x + {o!r})", SIGNED: f"ln({c!r}) + asinh(x / (2 * {c!r}))"}[self.kind]

    @property
    def inverse_formula(self) -> str:
        """Return x of y in such words."""
        o, c = self.offset_kwh, self.scale_kwh
        return {LOG: "exp(y)", OFFSET: f"exp(y) - {o!r}", SIGNED: f"2 * {c!r} * sinh(y - ln({c!r}))"}[self.kind]

    @property
    def sentence(self) -> str:
        """Return what becomes of an hourly reading, for a guarantee."""
        return (
            f"every energy is clipped to the public bounds {self.low_kwh:g} and {self.high_kwh:g} kWh per hour, and "
            f"put on the public scale y = {self.formula}, each reading by itself"
        )

    @property
    def stated(self) -> dict:
        """What a manifest says, so that a recipient can go from log kWh to kWh and back."""
        return {
            "kind": self.kind,
            "log_kwh": f"y = {self.formula} of the energy x in kWh, clipped before",
            "kwh": f"x = {self.inverse_formula}, clipped after",
            "clipped_to_kwh": [float(bound) for bound in self.bounds_kwh],
            "offset_kwh": float(self.offset_kwh),
            "scale_kwh": float(self.scale_kwh),
        }


# A natural logarithm of kWh without bounds, as the papers take it.
PLAIN = LogScale()
