"""What is odd about the first readings of an export but no reason to refuse them: other intervals, rows that
contradict others, days without readings, zeros and energies that no home has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from meterdp.core.log_scale import LOG, LogScale
from meterdp.core.stamps import DAY_MINUTES, DAY_US, HOUR_US, utc_offset_minutes
from meterdp.core.weekend import SATURDAY_SUNDAY, Weekend, weekend_of_zone
from meterdp.ingest.batch import NO_SUCH_TIME
from meterdp.ingest.clock import clock_changes, midnights_us
from meterdp.ingest.dense import (
    CONFLICTING_ROWS,
    NONEXISTENT_LOCAL_TIME,
    SUPERSEDED_BY_LATER_ROW,
    USED,
)
from meterdp.ingest.fields import hours_hint
from meterdp.ingest.findings import only_rises, steps_minutes
from meterdp.ingest.inference.first_readings import Beginnings, by_clock_us, span_us
from meterdp.ingest.inference.trial import FEWEST_GAPS, Trial
from meterdp.ingest.inference.zone import CLOCKS, local_changes
from meterdp.ingest.members import places_of
from meterdp.ingest.meter_list import MeterList

_NEAR_HOURS = 3
# Of the rows that contradict another: so many near a change of clocks, and the rest is a correction now and then.
_NEARLY_ALL = 0.9
_MOST_DAYS = 4
# Days that no first row names, in multiples of those from one file to the next: all of them, and more than usual,
# as the first rows of a file may reach to its end.
_FAR_APART, _MORE_THAN_USUAL = 1.5, 0.8
# A file that is smaller than its neighbours, where there are so many files, this part of the usual time apart.
_SMALL, _FEWEST_FILES, _SOON = 0.7, 5, 0.5
# More rows than corrections explain that are not sent for everybody.
_MANY_CONTRADICT = 0.02
_MOST_PAIRS = 500  # of rows that contradict each other, which are looked at once more
# ... and, of the readings of a meter, a share and a number that none explains within one file.
_OFTEN, _FEWEST_OF_METER = 0.3, 48
# Shares of the meters that are read an hour of the day before.
_HARDLY_ANY, _MOST_OF = 0.1, 0.8
# Share of zeros that tells on released means.
_MANY_ZEROS = 0.1
# Share of readings below zero that is no fault of a few meters.
_NOTICEABLE = 0.001
# What share of the energy has to be in readings below the lower bound of a scale.
_LOST_AT_THE_BOUND = 0.01
_NOTICEABLE_ENERGY = 0.01
_NEARLY_SAME = 0.001
# What homes with panels take and give in an hour, where nothing is known of them.
NET_CLIP_KWH_PER_HOUR = (-15, 20)


def remarks(trial: Trial, time_zone: str | None, begun: Beginnings) -> list[str]:
    """Return what somebody who knows the export should look at, as sentences; ``time_zone`` is that of the homes."""
    zone = time_zone or trial.settings.time_zone
    odd = [
        *_other_intervals(trial),
        *(list(_days_of_nobody(trial, zone, begun)) or _files_far_apart(trial, begun)),
        *_small_files(begun),
        *_other_clock(trial),
        *_skipped_hours(trial, begun),
        *_corrections(trial),
    ]
    return [*odd, *_hours_that_contradict(trial, time_zone)]


def other_weekend(export: Mapping) -> Iterator[str]:
    """Say that the country of the homes has another weekend than the settings, which leave the default."""
    theirs = weekend_of_zone(export["time_zone"] or "UTC")
    if Weekend.of(export) == SATURDAY_SUNDAY != theirs:
        yield (
            f"the weekend counts as {SATURDAY_SUNDAY.words}, but in the country of {export['time_zone']} it is "
            f"{theirs.words}; if it is so for these homes, set export.weekend to [{', '.join(theirs.setting)}]"
        )


def _days_of_nobody(trial: Trial, zone: str, begun: Beginnings) -> Iterator[str]:
    """Days of the period, or of what was read of an export, on which no meter has a reading."""
    given = ~np.isnan(trial.energy_kwh).all(axis=0)
    tell = not trial.whole and begun.every and _beginnings_tell_days(trial, begun)
    if not given.any() or not (tell or trial.known.any()):
        return
    starts = trial.starts_us.astype("datetime64[us]")
    local = (starts + utc_offset_minutes(starts, zone) * np.timedelta64(1, "m")).astype("datetime64[D]")
    spans = np.array(begun.spans_us, "datetime64[us]").astype("datetime64[D]") if tell else []
    some = [local[given], *(np.arange(first, last + 1) for first, last in spans)]
    here = np.unique(np.concatenate(some))
    days = np.unique(local[trial.known])
    if tell:
        days = np.union1d(days, np.arange(here[0], here[-1] + 1))
        if (period := trial.settings.period_us) is not None:
            first, end = by_clock_us(np.array(period), zone) // DAY_US
            days = days[(days.astype(int) >= first) & (days.astype(int) < end)]
    without = np.setdiff1d(days, here)
    runs = np.split(without, np.flatnonzero(np.diff(without).astype(int) > 1) + 1) if len(without) else []
    said = [f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    if said:
        more = f" and {len(said) - _MOST_DAYS} more times" if len(said) > _MOST_DAYS else ""
        number = "one day" if len(without) == 1 else f"{len(without)} of {len(days)} days"
        yield f"no meter has a reading on {number}: {', '.join(said[:_MOST_DAYS])}{more}; is a file missing?"


def _files_far_apart(trial: Trial, begun: Beginnings) -> Iterator[str]:
    """Say where a file may be missing among files that follow one another, by the days on which they begin.

    A file may begin with corrections of earlier days; those that do not show how far files are apart.
    """
    if trial.whole or begun.of == 1 or not begun.every:
        return
    starts = begun.starts
    if len(starts) < 2:
        return
    period = trial.settings.period_us
    plain = {min(file.days) for file in begun.files if file.days and max(file.days) - min(file.days) < len(file.days)}
    apart = np.sort(np.diff(sorted(plain) if len(plain) > 1 else starts))
    usual = int(apart[(len(apart) - 1) // 4])  # some files may be missing, some begin with what is corrected
    edges = starts if period is None else np.append(starts, -(-period[1] // DAY_US))
    seen = np.array(sorted(set().union(*(file.days for file in begun.files))))
    between = [*zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
    gaps = [np.diff(np.append(seen[(seen >= begin) & (seen < end)], end)).max(initial=0) for begin, end in between]
    usual_gap = np.sort(gaps[: len(starts) - 1])[(len(starts) - 2) // 4]
    for (begin, end), gap in zip(between, gaps, strict=True):
        if gap > min(_FAR_APART * usual, usual_gap + _MORE_THAN_USUAL * usual):
            first, last = np.array([begin, end - 1], "datetime64[D]")
            only = f"but from {first} to {last} only one does"
            yield f"files begin every {usual} days or so, {only}; is a file missing?"


def _small_files(begun: Beginnings) -> Iterator[str]:
    """Say which file is much smaller than those before and after it, by the day on which it begins: meters may be
    missing in it, or its second half.
    """
    days = begun.starts
    own = len(begun.named) == sum(len(file.named) for file in begun.files)
    if not begun.every or own or len(days) < _FEWEST_FILES:
        return
    # What begins soon after another file belongs to it: the rest of its meters, or corrections.
    days = days[np.append(True, np.diff(days) > _SOON * np.median(np.diff(days)))]
    first = np.array([file.first_us for file in begun.files if file.first_us is not None]) // DAY_US
    size = np.array([file.size_bytes for file in begun.files if file.first_us is not None])
    sizes = np.bincount(np.searchsorted(days, first, side="right") - 1, weights=size, minlength=len(days)).tolist()
    found = []
    for day, before, here, after in zip(days[1:], sizes, sizes[1:], sizes[2:], strict=False):
        if here < _SMALL * min(before, after) and min(before, after) > _SMALL * max(before, after):
            found.append((day, here / min(before, after)))
    if len(found) <= len(days) / _FEWEST_FILES:  # otherwise they are of another kind
        for day, share in found:
            begins = np.datetime64(int(day), "D")
            yield (
                f"the file that begins on {begins} is only {share:.0%} as large as those before and after it: are "
                "all meters and days in it?"
            )


def _beginnings_tell_days(trial: Trial, begun: Beginnings) -> bool:
    """Whether the first rows of every file that was read as a whole reach from its first day to its last, as they do
    where each file is of a day: then those of the other files tell their days, too.

    Rows of a single meter, of which more may follow, do so only by accident.
    """
    if any(file.of_one_meter for file in begun.files):
        return False
    days: dict[str, set[int]] = {}
    for batch in trial.batches:
        span = span_us(batch, trial.settings)
        days.setdefault(batch.place, set()).update(us // DAY_US for us in span if us is not None)
    whole = {place for place, some in days.items() if some} - trial.cut - {trial.batches[-1].place}
    begin = {f.place: (f.first_us // DAY_US, f.last_us // DAY_US) for f in begun.files if f.first_us is not None}
    as_begun = [begin.get(place) == (min(days[place]), max(days[place])) for place in whole]
    return begun.of == 1 or (bool(whole) and all(as_begun))


def feed_in_lost(trial: Trial, scale: LogScale) -> str | None:
    """Say that many readings are below zero and what a scale of hourly energy keeps; None if hardly any are."""
    least = scale.least_negative_kwh
    given = np.count_nonzero(~np.isnan(trial.energy_kwh))
    lost = np.count_nonzero(trial.energy_kwh < least * trial.settings.interval_minutes / 60)
    if lost <= _NOTICEABLE * given:
        return None
    below = f"{least:g} kWh an hour" if least else "zero"
    where = "on the plain logarithm they" if scale.kind == LOG else "they"
    return (
        f"{lost / given:.1%} of readings are below {below}: {where} are moved to the lower bound, or dropped if "
        "quality.repair lacks negative; where homes feed in, set profiles.log_scale to {kind: signed} and "
        f"profiles.clip_kwh_per_hour to bounds with room for it, such as {list(NET_CLIP_KWH_PER_HOUR)}"
    )


def many_zeros(trial: Trial, scale: LogScale) -> str | None:
    """Say that many readings of meters that do count are zero, for which a plain logarithm has no room."""
    counts = (trial.energy_kwh > 0).any(axis=1)
    given = np.count_nonzero(~np.isnan(trial.energy_kwh[counts]))
    zero = np.count_nonzero(trial.energy_kwh[counts] == 0)
    if scale.kind != LOG or zero <= _MANY_ZEROS * given:
        return None
    return (
        f"{zero / given:.0%} of readings are zero, which the plain logarithm cannot represent: they become the lower "
        "bound of profiles.clip_kwh_per_hour, and means of released profiles and forecasts may be too high; if homes "
        "really use nothing, or meters count in large steps, see profiles.log_scale"
    )


def little_use(trial: Trial, scale: LogScale) -> str | None:
    """Say how much energy is in readings so small that the lower bound of a scale takes them for zero; None if hardly
    any is.
    """
    low, hours = scale.bounds_kwh[0], trial.settings.interval_minutes / 60
    small = (trial.energy_kwh > 0) & (trial.energy_kwh <= low * hours)
    lost = trial.energy_kwh[small].sum() / max(np.nansum(np.maximum(trial.energy_kwh, 0)), 1e-9)
    if lost <= _LOST_AT_THE_BOUND:
        return None
    return (
        f"{np.count_nonzero(small) / np.count_nonzero(~np.isnan(trial.energy_kwh)):.0%} of readings, with {lost:.0%} "
        f"of the energy, are above zero and at most {low:g} kWh an hour (profiles.clip_kwh_per_hour), which a study "
        "counts as zero and feeder totals as that much: if homes are known to use little, see 'Homes that use "
        "little' in config/README.md"
    )


def nearly_all_zero(trial: Trial, most_zero: float, meter_list: MeterList | None) -> str | None:
    """Say how many meters read zero so often that a quality rule leaves them out; None if none."""
    read = ~np.isnan(trial.energy_kwh)
    share = (trial.energy_kwh == 0).sum(axis=1) / np.maximum(read.sum(axis=1), 1)
    # What is zero in all of the period is left out whatever the rule.
    some = (trial.energy_kwh > 0).any(axis=1) if trial.whole else read.any(axis=1)
    if not (vacant := np.count_nonzero((share > most_zero) & some)):
        return None
    meters, them = ("meters read", "them") if vacant > 1 else ("meter reads", "it")
    in_release = ", and in released mixtures and households they count as the public default" * (
        meter_list is not None
    )
    return (
        f"{vacant:,} {meters} zero more than {most_zero:.0%} of the time on the days looked at: where that is so "
        f"over the whole period, a study leaves {them} out{in_release}. "
        "If you know of second homes or pumps, quality.max_zero_share: 1 keeps them"
    )


def implausible(trial: Trial, power_kw: tuple[float, float]) -> tuple[Trial, str | None]:
    """Return a trial without the readings that quality rules take as missing, as their power is none of a home, and
    say how many there are, of how many meters; None if none, or if the readings are those of a register, not power.
    """
    (low, high), hours = power_kw, trial.settings.interval_minutes / 60
    kwh = trial.energy_kwh
    outside = (kwh < low * hours) | (kwh > high * hours)
    if not (of := int(outside.sum())):
        return trial, None
    without = replace(trial, energy_kwh=np.where(outside, np.nan, kwh))
    if only_rises(kwh):
        return without, None
    # The same code in parts of an interval that are added up is no longer quite the same.
    amount = np.abs(kwh[outside])
    same = int((amount > (1 - _NEARLY_SAME) * amount.max()).sum())
    meters = int(outside.any(axis=1).sum())
    are = f"readings of {meters:,} meter{'s' * (meters > 1)} are" if of > 1 else "reading is"
    said = (
        f"{of:,} {are} below {low:g} or above {high:g} kW (quality.plausible_power_kw), which counts as missing"
        f"{'' if trial.whole else f' ({trial.part} only)'}"
    )
    if same > 1:
        those = "all of them are" if same == of else f"{same:,} of them, the largest, are"
        said += f"; {those} the same number: if it stands for a missing reading, add it to export.missing_words"
    return without, said


def large_use(trial: Trial, scale: LogScale, most_daily_kwh: float | None) -> str | None:
    """Say how much of the energy lies above what a release counts of a meter: in an hour, and in feeder totals in a
    day on average, if there are any.
    """
    high, per_day = scale.bounds_kwh[1], 24 * 60 / trial.settings.interval_minutes
    limits = [f"{high:g} kWh an hour (profiles.clip_kwh_per_hour)"]
    energy = np.nansum(np.maximum(trial.energy_kwh, 0), axis=1)
    if not energy.any():
        return None
    counted = np.nansum(np.clip(trial.energy_kwh, 0, high * 24 / per_day), axis=1)
    if most_daily_kwh is not None:
        days = (~np.isnan(trial.energy_kwh)).sum(axis=1) / per_day
        counted = np.minimum(counted, most_daily_kwh * days)
        limits.append(f"{most_daily_kwh:,.0f} kWh a day on average in feeder totals")
    lost = 1 - counted.sum() / energy.sum()
    if lost <= _NOTICEABLE_ENERGY:
        return None
    of = int((counted < (1 - _NOTICEABLE_ENERGY) * energy).sum())
    return (
        f"{lost:.0%} of the energy is above the most that counts for a meter ({' and '.join(limits)}); it comes "
        f"from {of:,} of {len(energy):,} meters: for a study alone, raise profiles.clip_kwh_per_hour; for a release, "
        "leave large users off the list, or release them separately"
    )


def _other_clock(trial: Trial) -> Iterator[str]:
    for one in trial.clocks[:1]:
        sentence = one.unlike(trial.settings.time_zone)
        yield from [] if sentence is None else [sentence]


def _skipped_hours(trial: Trial, begun: Beginnings) -> Iterator[str]:
    """Readings at hours that the clock of the settings skips, and columns that are too few for a day of 25 hours."""
    settings, skipped = trial.settings, int(trial.counts[NONEXISTENT_LOCAL_TIME])
    zone = settings.time_zone
    if skipped and not settings.counts_intervals:
        of_days = settings.format == "wide_csv" and settings.wide_layout == "days"
        columns = "columns count from midnight (number them from 1 on and set export.wide_columns to numbers), "
        yield (
            f"{skipped:,} readings name an hour that the clock of {zone} skips: unless they only fill a gap, "
            f"{columns * of_days}stamps are in UTC or standard time (export.stamp_time_zone), or homes are in "
            "another zone (export.time_zone)"
        )
    elif go_by_clock(trial):
        yield (
            f"hours follow the clock of {zone} instead of counting from midnight: {hours_hint(settings)}, or "
            "readings from a clock change to midnight will be an hour off"
        )
    elif skipped:
        yield (
            f"{skipped:,} readings are for an hour that their day does not have on the clock of {zone}: "
            "is that the zone of the homes (export.time_zone)?"
        )
    if (clock_changes_in(trial) < 0).any():
        yield from hours_without_column(trial, begun)


def clock_changes_in(trial: Trial) -> np.ndarray:
    """Return by how much the clock changes between the first reading and the last, (K,) microseconds."""
    changes = clock_changes(trial.settings.time_zone)
    first, last = np.searchsorted(changes.utc_us, trial.starts_us[[0, -1]], side="right")
    return np.diff(changes.offset_us[first : last + 1])


def hours_without_column(trial: Trial, begun: Beginnings) -> Iterator[str]:
    """Say that numbered columns are too few for a day of 25 hours, if they are."""
    widest = max((one.readings_per_row for one in (*trial.batches[:1], *begun.files)), default=0)
    if trial.settings.wide_columns == "numbers" and widest == DAY_MINUTES // trial.settings.interval_minutes:
        yield (
            "no column is for the hour that the clock repeats, so columns are assumed to count from midnight; "
            "if they follow the clock, name them 00:00, 01:00 and so on (export.wide_columns)"
        )


def short_days(trial: Trial) -> Iterator[str]:
    """Say whether numbered columns follow the clock on days of 23 hours, by most rows of such days."""
    by_clock: list[bool] = []
    per_day = DAY_MINUTES // trial.settings.interval_minutes
    for batch in trial.batches if trial.settings.wide_columns == "numbers" else ():
        cells = np.isfinite(batch.energy), batch.stamp_us == NO_SUCH_TIME
        given, none = (of.reshape(-1, batch.readings_per_row)[:, :per_day] for of in cells)
        some = none.any(axis=1) & given.any(axis=1) & ~(none & given).any(axis=1)
        last_given = given.shape[1] - 1 - given[some, ::-1].argmax(axis=1)
        by_clock += (last_given > none[some].argmax(axis=1)).tolist()
    if by_clock and np.mean(by_clock) > 0.5:
        yield "on days of 23 hours, columns in the middle are empty and the last are not: they follow the clock"
    elif by_clock:
        yield "on days of 23 hours, the last columns are empty: columns count from midnight"


def go_by_clock(trial: Trial) -> bool | None:
    """Whether hours that are read as counted from midnight go by the clock: none begins with a change in spring while
    one is behind the end of the day, or none is the 25th of a day. None where no change of clocks tells.
    """
    settings, starts, verdicts = trial.settings, trial.starts_us, set()
    if not settings.numbers_rows or settings.interval_us != HOUR_US:
        return None
    given, changes = (~np.isnan(trial.energy_kwh)).sum(axis=0), clock_changes(settings.time_zone)
    for at, before, after in zip(changes.utc_us, changes.offset_us[:-1], changes.offset_us[1:], strict=True):
        hour_us = int(at)
        if after < before:
            next_day = (at + after) // DAY_US * DAY_US + DAY_US
            hour_us = int(midnights_us(np.array([next_day]), settings.time_zone)[0]) - HOUR_US
        slot = (hour_us - int(starts[0])) // HOUR_US
        if slot < 24 or not given[slot - 24 : slot - 23].any() or not given[slot + 1 :].any():
            continue
        here, usual = given[slot], given[slot - 24]
        if here >= _MOST_OF * usual:
            verdicts.add(False)
        elif here <= _HARDLY_ANY * usual:
            if after < before or trial.counts[NONEXISTENT_LOCAL_TIME] >= _MOST_OF * usual:
                verdicts.add(True)
    return verdicts.pop() if len(verdicts) == 1 else None


def _other_intervals(trial: Trial) -> Iterator[str]:
    """Meters that are read more often than others, or less."""
    settings, usual = trial.settings, np.array([_usual_gap(row) for row in trial.energy_kwh])
    usual[trial.in_parts] = 0
    minutes, more_often = settings.interval_minutes, int(trial.in_parts.sum())
    lengths, counts = np.unique(usual[usual > 0], return_counts=True)
    own = int(counts[lengths == 1].sum())
    longer = [(gap * minutes, n) for gap, n in zip(lengths.tolist(), counts.tolist(), strict=True) if gap > 1]
    if not more_often and not (own and longer):  # all alike is a matter of the settings
        return
    there = [f"{n:,} have a reading every {length:,} minutes" for length, n in [(minutes, own), *longer] if n]
    there += [f"{more_often:,} are read more often, if only at times"] if more_often else []
    longest = max([minutes, *(length for length, _ in longer)])
    steps = [step for step in steps_minutes(settings, trial.batches)[1] if step < longest and longest % step == 0]
    said = (
        f"of {counts.sum() + more_often:,} meters, {' and '.join(there)}: a study leaves out what is missing or "
        "covers only part of an interval; "
    )
    if settings.adds_up and steps and 60 % longest == 0:
        add_up = [f"export.interval_minutes to {longest}"] if longest > minutes else []
        add_up.append(f"export.shortest_interval_minutes to {min(steps):g}")
        yield f"{said}set {' and '.join(add_up)} to add the shorter ones up"
    else:
        yield f"{said}export them separately, or convert all to the longest"


def _usual_gap(row: np.ndarray) -> int:
    """Return how many intervals the readings of a meter are nearly always apart, 0 where they do not tell."""
    gaps = np.diff(np.flatnonzero(~np.isnan(row)))
    if len(gaps) < FEWEST_GAPS:
        return 0
    values, counts = np.unique(gaps, return_counts=True)
    return int(values[counts.argmax()]) if counts.max() >= _NEARLY_ALL * len(gaps) else 0


def _hours_that_contradict(trial: Trial, time_zone: str | None) -> Iterator[str]:
    if not trial.counts[[SUPERSEDED_BY_LATER_ROW, CONFLICTING_ROWS]].any():
        return
    hour = _contradicting_hours(trial)
    for zone in dict.fromkeys(zone for zone in (time_zone, trial.settings.time_zone, *CLOCKS) if zone):
        changes = local_changes(zone, hour)
        if not len(changes):
            continue
        near = (np.abs(hour[:, None] - changes) <= _NEAR_HOURS).any(axis=1)
        if near.mean() < _NEARLY_ALL:
            continue
        days = np.unique(hour[near].astype("datetime64[h]").astype("datetime64[D]")).astype(str)
        of_day = hour[near] % 24
        more = f" and {len(days) - _MOST_DAYS} more days" if len(days) > _MOST_DAYS else ""
        utc = " UTC" if all(np.all(batch.stamps_are_utc) for batch in trial.batches) else ""
        yield (
            f"{'all' if near.all() else 'nearly all'} of {len(hour):,} rows that contradict another row of the same "
            f"meter and interval lie between {of_day.min():02d}:00 and {of_day.max() + 1:02d}:00{utc} on "
            f"{', '.join(days[:_MOST_DAYS])}{more}, when clocks of {zone} change: the export may have moved stamps "
            "there (export.stamp_time_zone, export.conflicting_rows)"
        )
        return
    if many_contradict(trial):
        registers = (
            "keep the rows of one (export.keep_rows)"
            if trial.settings.keep_rows is None
            else "export.keep_rows must name another column that distinguishes them, too"
        )
        flows = f"if the export has several registers or flows of a meter, such as feed-in, {registers}; "
        rows = f"{len(hour):,} rows"
        if not _more_than_corrections(trial):
            pairs, meters = _of_registers(trial)
            of = len(np.unique(meters))
            rows = f"{len(pairs):,} rows of {of:,} meter{'s' * (of > 1)}"
            if (np.count_nonzero(_energies(trial)[pairs], axis=1) == 1).mean() > _NEARLY_ALL:
                rows += ", one reading zero and the other not,"
        yield (
            f"{rows} contradict another row of the same meter and interval: "
            f"{flows if trial.settings.has_other_columns else ''}if the export sends corrected readings again, "
            "export.conflicting_rows says which count"
        )


def _corrections(trial: Trial) -> Iterator[str]:
    """Say which file corrects readings of another: the names of files decide, not when they were written."""
    if not trial.counts[SUPERSEDED_BY_LATER_ROW] or _more_than_corrections(trial):
        return
    places, pairs = trial.places, trial.file_of[trial.contradictions[0]]
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if len(pairs):
        corrected, counted = (places_of([places[n] for n in np.unique(files)]) for files in pairs.T)
        yield (
            f"{len(pairs):,} readings of {corrected}, do not count, as a later file has others of the same meter and "
            f"interval ({counted}): name files so that corrections come last"
        )


def many_contradict(trial: Trial) -> bool:
    """Whether more rows contradict another of the same meter and interval than corrections explain, of all meters or
    of any.
    """
    return _more_than_corrections(trial) or len(_of_registers(trial)[0]) > 0


def _more_than_corrections(trial: Trial) -> bool:
    return trial.counts[[SUPERSEDED_BY_LATER_ROW, CONFLICTING_ROWS]].sum() > _MANY_CONTRADICT * trial.counts[USED]


def _of_registers(trial: Trial) -> tuple[np.ndarray, np.ndarray]:
    """Return the contradictions within a file of meters that have many of them, as those with two registers have."""
    pairs, meter = trial.contradictions
    in_one = trial.file_of[pairs[:, 0]] == trial.file_of[pairs[:, 1]] if len(pairs) else np.zeros(0, bool)
    pairs, meter = pairs[in_one], meter[in_one]
    number = np.bincount(meter, minlength=len(trial.energy_kwh))
    often = number > np.maximum(_OFTEN * (~np.isnan(trial.energy_kwh)).sum(axis=1), _FEWEST_OF_METER)
    return pairs[often[meter]], meter[often[meter]]


def _energies(trial: Trial) -> np.ndarray:
    return np.concatenate([batch.energy for batch in trial.batches])


def _contradicting_hours(trial: Trial) -> np.ndarray:
    """Return the hour (since 1970, by the stamps) of every row with another reading than the row before it."""
    return np.concatenate([batch.stamp_us for batch in trial.batches])[trial.contradictions[0][:, 1]] // HOUR_US


def contradicting_rows(trial: Trial) -> dict[str, list[int]]:
    """Return the first rows of each file, by its place, that contradict others, and those; none if that is seldom."""
    if not many_contradict(trial) or trial.settings.format != "long_csv":
        return {}
    pairs = trial.contradictions[0] if _more_than_corrections(trial) else _of_registers(trial)[0]
    pairs = pairs[pairs.max(axis=1).argsort(kind="stable")[:_MOST_PAIRS]]
    begins = np.cumsum([0, *(len(batch.stamp_us) for batch in trial.batches)])
    found: dict[str, set[int]] = {}
    for reading in np.unique(pairs).tolist():
        number = int(np.searchsorted(begins, reading, side="right")) - 1
        batch = trial.batches[number]
        found.setdefault(batch.place, set()).add(int(batch.row_of(reading - begins[number])))
    return {place: sorted(rows) for place, rows in found.items()}
