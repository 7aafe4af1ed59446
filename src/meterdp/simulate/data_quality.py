"""Real-life faults: what meters, head ends and file writers do to readings before an analyst sees them.

Which meters a kind of fault hits is drawn per stratum of meters, so the choice for meter ``i`` does not depend on how
many others there are, the numbers of a full run are known in advance, and small runs have each kind too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meterdp.core.noise import keyed_generator
from meterdp.simulate.fleet import Fleet, Period
from meterdp.simulate.parameters import DataQuality, Outage

# A meter has at most one of these: two at once would hide each other.
EXCLUSIVE = ("all_zero", "mostly_zero", "stuck_meter", "unit_slip")
# The rest may meet in one meter.
COMBINABLE = ("feed_in", "missing_rows", "missing_block", "missing_words", "duplicate_rows", "resent_day")


@dataclass(frozen=True)
class Rows:
    """Rows of one meter in the order they are written, (R,) each: interval, energy, and what is written.

    ``word`` 0 is the reading, w > 0 is ``missing_words.words[w - 1]`` in its place.
    """

    slot: np.ndarray
    energy_kwh: np.ndarray
    word: np.ndarray


def stratified_hits(eligible: np.ndarray, one_in: int, seed: int, kind: str, first: int) -> np.ndarray:
    """Choose one in every ``one_in`` eligible households, (N,) bool; none if it is 0.

    ``kind`` of fault names the stream. In the first stratum the place ``first`` (modulo its size) is chosen; the
    others are random.
    """
    hits = np.zeros(len(eligible), dtype=bool)
    if one_in == 0:
        return hits
    members = np.flatnonzero(eligible)
    for stratum in range(-(-len(members) // one_in)):
        place = keyed_generator(seed, "stratum", kind, stratum).integers(one_in) if stratum else first % one_in
        if stratum * one_in + place < len(members):
            hits[members[stratum * one_in + place]] = True
    return hits


def plan_faults(data_quality: DataQuality, fleet: Fleet) -> dict[str, np.ndarray]:
    """Say which households, (N,) bool, each kind of fault hits."""
    type_names = [kind.name for kind in fleet.types]
    taken = np.zeros(fleet.count, dtype=bool)
    plan = {}
    for number, kind in enumerate(COMBINABLE + EXCLUSIVE):
        rule = getattr(data_quality, kind)
        eligible = np.isin(fleet.type_index, [type_names.index(name) for name in rule.types or type_names])
        if kind in EXCLUSIVE:
            eligible &= ~taken
        # Another place for each kind, so that not all of them meet in the first meter.
        plan[kind] = stratified_hits(eligible, rule.one_in, fleet.seed, kind, first=number)
        if kind in EXCLUSIVE:
            taken |= plan[kind]
    return plan


def outage_slots(outage: Outage, period: Period) -> np.ndarray:
    """Mark the intervals of an outage, (T,) bool."""
    day = min(int(outage.period_share * period.days), period.days - 1)
    begin = period.first_slot_of_day[day] + outage.start_hour / period.hours_per_slot
    slots = np.arange(period.slot_count)
    return (slots >= begin) & (slots < begin + outage.hours / period.hours_per_slot)


def _window(rng: np.random.Generator, slots: float, count: int) -> slice:
    """Draw a window of ``slots`` intervals, or of all if there are fewer, at least one."""
    length = min(max(round(slots), 1), count)
    begin = int(rng.integers(count - length + 1))
    return slice(begin, begin + length)


def _some(rng: np.random.Generator, rows: tuple[float, float], allowed: np.ndarray) -> np.ndarray:
    """Draw between rows[0] and rows[1] of the marked entries, without replacement, sorted."""
    candidates = np.flatnonzero(allowed)
    wanted = round(rng.uniform(*rows))
    return np.sort(rng.choice(candidates, size=min(wanted, len(candidates)), replace=False))


@dataclass(frozen=True)
class Faults:
    """Turns the load of one meter into the rows an export has for it."""

    data_quality: DataQuality
    fleet: Fleet
    period: Period

    @cached_property
    def plan(self) -> dict[str, np.ndarray]:
        """Which households each kind of fault hits, see :func:`plan_faults`."""
        return plan_faults(self.data_quality, self.fleet)

    @cached_property
    def _outages(self) -> list[tuple[str, int, np.ndarray]]:
        """How each outage is reported, on which circuit, and its intervals: number i is on that of household i."""
        return [
            (rule.rows, self.fleet.circuit(household), outage_slots(rule, self.period))
            for household, rule in enumerate(self.data_quality.outages[: self.fleet.count])
        ]

    def rows(self, household: int, energy_kwh: np.ndarray, resolution_wh: int) -> tuple[Rows, Rows]:
        """Return the rows of a meter, of (T,) kWh used: those in its place, and those resent at the end."""
        reading = self._meter_readings(household, energy_kwh, resolution_wh)
        first_sent, resent = self._resent_day(household, reading, resolution_wh)
        return self._written_rows(household, first_sent), resent

    def _hit(self, kind: str, household: int) -> np.random.Generator | None:
        """Random source of a kind of fault if it hits the household."""
        if not self.plan[kind][household]:
            return None
        return keyed_generator(self.fleet.seed, "mess", kind, household)  # words: keep

    def _out(self, rows: str, household: int) -> np.ndarray:
        """Intervals in which the household's circuit has an outage reported as ``rows``, (T,) bool."""
        circuit = self.fleet.circuit(household)
        marks = np.zeros(self.period.slot_count, dtype=bool)
        for reported, hit, slots in self._outages:
            if reported == rows and hit == circuit:
                marks |= slots
        return marks

    def _meter_readings(self, household: int, energy_kwh: np.ndarray, resolution_wh: int) -> np.ndarray:
        """What the meter reports for every interval, (T,) kWh."""
        data_quality, slots = self.data_quality, self.period.slot_count
        energy = energy_kwh.copy()
        if rng := self._hit("feed_in", household):
            energy -= self._generation(rng)
        if self._hit("all_zero", household):
            energy[:] = 0
        if rng := self._hit("mostly_zero", household):
            stay = _window(rng, rng.uniform(*data_quality.mostly_zero.occupied_share) * slots, slots)
            energy[: stay.start] = energy[stay.stop :] = 0
        energy[self._out("zero", household)] = 0
        reading = _rounded(energy, resolution_wh)
        if rng := self._hit("stuck_meter", household):
            stuck = _window(rng, rng.uniform(*data_quality.stuck_meter.days) * self.period.slots_per_day, slots)
            reading[stuck] = reading[stuck.start] or resolution_wh / 1000
        if rng := self._hit("unit_slip", household):
            slipped = _window(rng, rng.uniform(*data_quality.unit_slip.days) * self.period.slots_per_day, slots)
            reading[slipped] *= data_quality.unit_slip.factor
        return reading

    def _generation(self, rng: np.random.Generator) -> np.ndarray:
        """Solar generation beyond the own use, (T,) kWh: a half sine around solar noon, scaled by the day's sky."""
        rule = self.data_quality.feed_in
        peak_kw = rng.uniform(*rule.peak_kw)
        clearness = rng.uniform(*rule.clearness, size=self.period.days)[self.period.day_index]
        from_noon = (self.period.utc_hour - rule.solar_noon_utc_h + 12) % 24 - 12
        sun = np.where(np.abs(from_noon) < rule.daylight_h / 2, np.cos(np.pi * from_noon / rule.daylight_h), 0)
        return peak_kw * clearness * sun * self.period.hours_per_slot

    def _resent_day(self, household: int, reading: np.ndarray, resolution_wh: int) -> tuple[np.ndarray, Rows]:
        """Return the readings as first sent, (T,) kWh, and the rows of the day that is sent again."""
        first_sent, day = reading.copy(), np.empty(0, dtype=int)
        rng = self._hit("resent_day", household)
        # A day with a repeated hour would leave it open which of four rows is which.
        edges = self.period.first_slot_of_day
        ordinary = np.flatnonzero(np.diff(edges) == self.period.slots_per_day)
        if rng and ordinary.size:
            chosen = rng.choice(ordinary)
            day = np.arange(edges[chosen], edges[chosen + 1])
            factor = rng.uniform(*self.data_quality.resent_day.first_factor, size=day.size)
            first_sent[day] = _rounded(reading[day] * factor, resolution_wh)
        return first_sent, Rows(day, reading[day], np.zeros(day.size, dtype=int))

    def _written_rows(self, household: int, reading: np.ndarray) -> Rows:
        """Drop, blank and repeat rows."""
        data_quality, slots = self.data_quality, self.period.slot_count
        present = ~self._out("missing", household)
        word = np.zeros(slots, dtype=int)
        copies = np.ones(slots, dtype=int)
        if rng := self._hit("missing_rows", household):
            share = rng.uniform(*data_quality.missing_rows.row_share)
            present[_some(rng, (max(share * slots, 1),) * 2, present)] = False
        if rng := self._hit("missing_block", household):
            block = rng.uniform(*data_quality.missing_block.hours) / self.period.hours_per_slot
            # At most half of a short run: a meter without any row would not be in the export at all.
            present[_window(rng, min(block, slots / 2), slots)] = False
        if rng := self._hit("missing_words", household):
            blank = _some(rng, data_quality.missing_words.rows, present)
            word[blank] = 1 + rng.integers(len(data_quality.missing_words.words), size=blank.size)
        if rng := self._hit("duplicate_rows", household):
            # In a repeated hour two equal rows may be two intervals: no exact duplicates there.
            allowed = present & (word == 0) & ~self.period.repeated
            copies[_some(rng, data_quality.duplicate_rows.rows, allowed)] = 2
        slot = np.repeat(np.arange(slots), copies * present)
        return Rows(slot, reading[slot], word[slot])


def _rounded(energy_kwh: np.ndarray, resolution_wh: int) -> np.ndarray:
    """Round to the resolution of the meter; adding zero turns -0 into 0."""
    return np.round(energy_kwh * 1000 / resolution_wh) * resolution_wh / 1000 + 0.0
