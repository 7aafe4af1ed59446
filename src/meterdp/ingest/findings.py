"""Whether settings and export can belong together: what would otherwise end in a study of nothing, minutes later.

Judged from all readings at once, so a study with a public list of meters must not be refused by it: there, nothing
that happens may depend on a record. ``meterdp check`` tells it in either case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from meterdp.core.stamps import DAY_MINUTES
from meterdp.errors import InputError
from meterdp.ingest.batch import Batch, NameIndex
from meterdp.ingest.clock import LAST_MARK, Clock
from meterdp.ingest.dense import REASONS
from meterdp.ingest.inference.quantities import not_read
from meterdp.ingest.settings import UNITS, ExportSettings

# Rows that are not used and yet are no sign of a wrong setting.
INNOCENT = {
    *("used", "part_of_sum", "other_register", "meter_not_listed", "value_missing", "stamp_outside_period"),
    *("duplicate_identical", "superseded_by_later_row", "conflicting_rows"),
}
_HINTS = {
    "off_grid_stamp": "correct export.interval_minutes, or export.time_format",
    "nonexistent_local_time": (
        "if stamps are in UTC or standard time, set export.stamp_time_zone to that, else correct export.time_zone"
    ),
}
# A home; to find the unit that makes sense, not to refuse one that does not.
_TYPICAL_DAILY_KWH = 10.0
_MOST_METERS = 200
_STEP_READINGS = 1 << 17
_LONGEST_US = (1 << 43) - 1  # more than three months, so that meter and step are one number
_OFTEN = 20
# A register never runs back and hardly moves beside where it stands; no home's use rises for days on end.
_RISING_SHARE, _REGISTER_STEPS, _FEWEST_READINGS = 0.99, 20, 300


def findings(
    path,
    settings: ExportSettings,
    counts: np.ndarray,
    energy_kwh: np.ndarray,
    minutes_apart: Callable[[], float | None],
) -> Iterator[InputError]:
    """Yield every reason to believe that the settings do not describe the export, the weightiest first.

    ``counts`` (R,) has the rows per reason of ``dense.REASONS``, ``energy_kwh`` (H, T) the readings on the grid of
    every :func:`sample_step`-th meter, NaN where there is none. ``minutes_apart`` returns how far neighbouring stamps
    of a meter are usually apart; called where it matters.
    """
    yield from not_read(path, settings)
    yield from _unusable(path, settings, counts, minutes_apart)
    yield from _coarser(path, settings, energy_kwh)
    if only_rises(energy_kwh):
        yield _register(path)
    else:
        yield from _energy(path, settings, energy_kwh)


def sample_step(meters: int) -> int:
    """Return which n-th meter is looked at: not more of them than tell."""
    return -(-meters // _MOST_METERS) or 1


def _unusable(path, settings: ExportSettings, counts: np.ndarray, minutes_apart):
    rows = dict(zip(REASONS, counts.tolist(), strict=True))
    bad = {reason: count for reason, count in rows.items() if reason not in INNOCENT}
    unusable, total = sum(bad.values()), sum(rows.values())
    if not total or unusable <= settings.max_unusable_share * total:
        return
    worst = max(bad, key=bad.get)
    meaning = REASONS[worst].rstrip(".")
    hint = _HINTS.get(worst, "correct the export or its settings")
    step = minutes_apart() if worst == "off_grid_stamp" else None
    if worst == "off_grid_stamp" and 0 < rows["finer_interval"] < rows["used"]:
        hint = (
            "some meters are read more often: set export.shortest_interval_minutes to add their readings up, or keep "
            "the rows of one interval (export.keep_rows)"
        )
    elif step and step != settings.interval_minutes:
        hint = f"stamps of a meter are {step:g} minutes apart: set export.interval_minutes to that"
    yield InputError(
        f"has {unusable:,} of {total:,} rows that cannot be used, more than export.max_unusable_share allows; "
        f"most frequent, {bad[worst]:,} times: {meaning[:1].lower()}{meaning[1:]}",
        file=path,
        hint=hint,
    )


def _coarser(path, settings: ExportSettings, energy_kwh: np.ndarray):
    """Readings that are always several intervals apart."""
    meter, slot = np.nonzero(~np.isnan(energy_kwh))
    gaps = np.diff(slot)[np.diff(meter) == 0]
    if not len(gaps):
        return
    values, count = np.unique(gaps, return_counts=True)
    usual = int(values[count.argmax()])
    if usual == 1 or count.max() < 0.5 * len(gaps) or ((values == 1).any() and count[0] > 0.02 * len(gaps)):
        return
    minutes = usual * settings.interval_minutes
    if minutes >= DAY_MINUTES:
        yield InputError(
            f"has readings {minutes // DAY_MINUTES} days apart: daily or monthly sums, not an interval export",
            file=path,
            hint="ask for quarter-hourly, half-hourly or hourly readings",
        )
        return
    hint = (
        f"set it to {minutes}"
        if 60 % minutes == 0
        else "no interval that divides an hour fits: ask for quarter-hourly, half-hourly or hourly readings"
    )
    yield InputError(
        f"has readings {minutes} minutes apart, but the setting says {settings.interval_minutes}",
        file=path,
        field="export.interval_minutes",
        hint=hint,
    )


ONLY_RISES = "holds values that only rise: readings of a register, not the energy of an interval"


def only_rises(energy_kwh: np.ndarray) -> bool:
    """Whether most meters have values of a register that is read, which only rise, not the energy of an interval."""
    registers = judged = 0
    for row in energy_kwh:
        given = row[~np.isnan(row)]
        if len(given) < _FEWEST_READINGS or given[0] == given[-1]:
            continue
        steps = np.diff(given)
        judged += 1
        registers += (steps >= 0).mean() >= _RISING_SHARE and given.mean() > _REGISTER_STEPS * np.abs(steps).mean()
    return judged > 0 and registers > judged / 2


def _register(path) -> InputError:
    return InputError(
        ONLY_RISES,
        file=path,
        field="export.energy_column",
        hint="export the consumption per interval (interval data), or subtract each reading of a meter from its next "
        "and keep the later stamp, at which the interval ends (docs/howto/export.md has the code)",
    )


def daily_kwh(energy_kwh: np.ndarray, interval_minutes: int) -> float:
    """Return the median over meters of the mean energy of a day, kWh; NaN without a reading."""
    given = ~np.isnan(energy_kwh)
    some = given.any(axis=1)
    if not some.any():
        return np.nan
    means = np.nansum(energy_kwh[some], axis=1) / given[some].sum(axis=1)
    return float(np.median(means)) * DAY_MINUTES / interval_minutes


def likely_unit(daily: float, settings: ExportSettings) -> str:
    """Return the unit under which a day comes nearest to that of a home; it has ``daily`` kWh under that of the
    settings.
    """
    own = np.divide(*settings.kwh_per_unit)

    def distance(unit: str) -> float:
        factor = np.divide(*UNITS[unit](settings.interval_minutes)) / own
        return abs(np.log(max(daily * factor, 1e-300) / _TYPICAL_DAILY_KWH))

    # Mean power is a guess only a name can make: it differs from energy by no more than homes do.
    return min(("kWh", "Wh", "MWh"), key=distance)


def _energy(path, settings: ExportSettings, energy_kwh: np.ndarray):
    """A day's energy that no home uses, nor most other customers."""
    daily = daily_kwh(energy_kwh, settings.interval_minutes)
    low, high = settings.typical_daily_kwh
    if np.isnan(daily) or low <= abs(daily) <= high:
        return
    if daily == 0:
        yield InputError(
            "holds hardly anything but zeros",
            file=path,
            field="export.energy_column",
            hint="name the column of the consumption, or export the readings again",
        )
        return
    unit = likely_unit(abs(daily), settings)
    hint = f"set export.unit to {unit} if that is meant" if unit != settings.unit else "correct export.unit"
    if settings.unit_column is not None:
        hint = "correct the entries of export.unit_column"
    amount = "less" if abs(daily) < low else "more"
    yield InputError(
        f"read in {settings.unit}, a typical meter uses {amount} a day than export.typical_daily_kwh allows",
        file=path,
        field="export.unit",
        hint=f"{hint}, or export.typical_daily_kwh where meters are of another kind",
    )


def step_minutes(settings: ExportSettings, batches: Iterable[Batch]) -> float | None:
    """Return the most frequent distance of neighbouring stamps of most meters, minutes; None without two of them."""
    return steps_minutes(settings, batches)[0]


def steps_minutes(settings: ExportSettings, batches: Iterable[Batch]) -> tuple[float | None, list[float]]:
    """Return what :func:`step_minutes` does, and all distances that some meter has often, rising.

    Of a batch the first ``_STEP_READINGS`` tell, and each meter that is in it counts once.
    """
    clock, number = Clock(settings), NameIndex({}, grow=True)
    found: dict[int, int] = {}
    often: set[float] = set()
    for batch in batches:
        batch = batch.first(_STEP_READINGS)
        meter = number(batch.meter_ids, batch.meter)
        starts = clock.interval_starts(meter, batch)
        good = (meter >= 0) & (starts > LAST_MARK)
        meter, starts = meter[good], starts[good]
        if ((np.diff(meter) < 0) | ((np.diff(meter) == 0) & (np.diff(starts) < 0))).any():
            order = np.lexsort((starts, meter))
            meter, starts = meter[order], starts[order]
        steps = np.where(np.diff(meter) == 0, np.minimum(np.diff(starts), _LONGEST_US - 1), 0)
        of_meter, count = np.unique(meter[1:][steps > 0] * _LONGEST_US + steps[steps > 0], return_counts=True)
        often |= {of % _LONGEST_US / 60_000_000 for of in of_meter[count >= _OFTEN].tolist()}
        usual = {of // _LONGEST_US: of % _LONGEST_US for of in of_meter[np.argsort(count, kind="stable")].tolist()}
        for step in usual.values():
            found[step] = found.get(step, 0) + 1
    return (max(found, key=found.get) / 60_000_000 if found else None), sorted(often)
