"""Look at an export that no one has described: settings that read it, what is in it, and what looks wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from zoneinfo import available_timezones

import numpy as np
import pyarrow as pa
import yaml

from meterdp.core.log_scale import SIGNED, LogScale
from meterdp.core.stamps import DAY_MINUTES, HOUR_US, local_text
from meterdp.core.weekend import SATURDAY_SUNDAY, Weekend, weekend_of_zone
from meterdp.errors import InputError
from meterdp.ingest.batch import NO_STAMP, Batch
from meterdp.ingest.clock import LAST_MARK, clock_changes
from meterdp.ingest.dense import REASONS, USED
from meterdp.ingest.fields import hours_hint
from meterdp.ingest.findings import daily_kwh, likely_unit, only_rises, step_minutes, steps_minutes
from meterdp.ingest.inference.first_readings import (
    MOST_READINGS,
    Beginnings,
    FirstReadings,
    begin_files,
    read_strictly,
)
from meterdp.ingest.inference.layout import UNIT_SAID, Layout, infer_layout
from meterdp.ingest.inference.listed import doubtful_ids, ids_of
from meterdp.ingest.inference.quantities import SeveralRowsError, columns_not_read
from meterdp.ingest.inference.remarks import (
    NET_CLIP_KWH_PER_HOUR,
    clock_changes_in,
    contradicting_rows,
    feed_in_lost,
    go_by_clock,
    hours_without_column,
    implausible,
    remarks,
    short_days,
)
from meterdp.ingest.inference.stamps import first_and_last_us, stamp_evidence
from meterdp.ingest.inference.table import HEAD_BYTES, kind_of, read_table, sample_of, samples_of, some_rows
from meterdp.ingest.inference.trial import Trial, coverage, first_refusal, goes_on, try_out
from meterdp.ingest.inference.zone import CLOCKS, ClockEvidence, best_period, clock_evidence, zones_of_empty_columns
from meterdp.ingest.readers import parquet
from meterdp.ingest.readers.interface import READERS
from meterdp.ingest.settings import SELF_DESCRIBED, ExportSettings
from meterdp.ingest.shapes import alike
from meterdp.ingest.streams import files_of, open_bytes

# What the configuration has for them; a test compares.
MAX_UNUSABLE_SHARE, TYPICAL_DAILY_KWH, PLAUSIBLE_POWER_KW = 0.1, (0.1, 1000.0), (-50.0, 80.0)
INTERVALS = (5, 10, 15, 20, 30, 60)
_STEP_BATCHES = 8
# What a row or column of sums is called where others name a meter.
_TOTAL = re.compile(
    r"(?:grand|sub)?[\s_-]*(?:totals?|totale|totaal|sum|summe|summa|suma|soma|somme|gesamt\w*|yhteensä|razem|i alt)"
    r"(?:[\s_(\[:.-].*)?",
    re.IGNORECASE,
)
_ONE_OF_SEVERAL = "{} is one of several zones with the same clock changes: write the zone of the homes"
# Ends that fit two rules are likelier to be those of more homes.
_CLOCKS_OF_ENDS = ("Europe/Zurich", *CLOCKS)
# Readings that may be enough to see that an export is none of intervals, whatever follows.
_FIRST_LOOK = 200_000
# Settings that a reason why rows cannot be used is about.
_ABOUT = {"stamp_unreadable": ("time_format",), "value_unreadable": ("decimal", "thousands")}
_MOST_PLACES = 4


@dataclass(frozen=True)
class Finding:
    """What an export turned out to be."""

    settings: dict  # the section ``export`` of a configuration, without what is the default anyway
    said: list[str]  # what was found and why
    to_check: list[str]  # what the file leaves open
    trial: Trial  # the first readings under these settings
    clock: ClockEvidence | None  # None where the file counts intervals instead of naming times
    period: tuple[int, int, int, int]  # from :func:`best_period`
    findings: list[InputError]  # what still contradicts the settings
    odd: list[str]  # from :func:`remarks`; not for a configuration, as it counts readings
    net: bool  # whether many readings are below zero


def examine(
    path,
    *,
    time_zone: str | None = None,
    known: Mapping | None = None,
    rows: Mapping[str, Sequence[int]] | None = None,
) -> Finding:
    """Guess the settings of an export (file, folder or archive) and try them out on its first readings.

    ``time_zone`` is that of the homes where it is known; otherwise one is proposed. Of a section ``export`` that is
    ``known``, only what no file can say counts: which rows are wanted, and the clock of stamps that never changes.
    Raises ``InputError`` if the file
    is nothing we read, or cannot be read under any settings we know; names what it is. Of each file ``rows`` are
    looked at as well, or some that contradict others.
    """
    layout = layout_of(path, known or {}, rows)
    given, said, to_check = layout.settings, layout.said, layout.to_check
    guessed_unit, given["unit"] = given.get("unit", "kWh"), given.get("unit") or "kWh"
    given.setdefault("interval_minutes", 60 if given.get("format") != "lcl_csv" else 30)
    proposed = given.pop("time_zone", None) or next(iter(layout.zones), None)
    first_settings = _settings(given, time_zone or proposed or "UTC")
    first = FirstReadings(path, first_settings)
    _read(path, first, _FIRST_LOOK)
    if not first.whole and not _no_intervals(path, first):
        first.read(MOST_READINGS)
    for other in layout.other_formats:
        unread = _unread_stamps(first.batches)
        if not unread:
            break
        again = FirstReadings(path, _settings(given | {"time_format": other}, time_zone or proposed or "UTC"))
        _read(path, again, MOST_READINGS)
        if _unread_stamps(again.batches) < unread:
            given["time_format"], first = other, again
            said.append(f"stamps further down fit only {other}")
    if layout.other_formats and (first.settings != first_settings or _beyond_any_month(first.batches)):
        to_check[:] = [sentence for sentence in to_check if "(export.time_format)" not in sentence]
    if first_settings.wide_columns == "numbers" and not (time_zone or proposed):
        layout.zones = zones_of_empty_columns(first.batches, first_settings.interval_us)
        if proposed := next(iter(layout.zones), None):
            first = FirstReadings(path, _settings(given, proposed))
            first.read(MOST_READINGS)
    batches = first.batches
    # Day codes and numbered columns are turned into UTC by the zone that is to be found.
    clock = None if first_settings.counts_intervals or layout.by_clock else clock_evidence(batches)
    zone_guessed = not (time_zone or proposed)
    zone = _zone(clock) if zone_guessed else time_zone or proposed
    if time_zone is not None:
        to_check[:] = [sentence for sentence in to_check if "(export.time_zone)" not in sentence]
    if layout.zones and time_zone is None:
        to_check.append(_ONE_OF_SEVERAL.format(zone))
    given["time_zone"] = zone
    weekend = weekend_of_zone(zone)
    with suppress(TypeError, ValueError):  # the settings may not be in order
        weekend = Weekend.of(known) if "weekend" in (known or {}) else weekend
    if weekend != SATURDAY_SUNDAY:
        given["weekend"] = weekend.setting
        to_check.append(f"the weekend is taken to be {weekend.words} (export.weekend)")
    if clock is not None and clock.changes is False and "stamp_time_zone" not in given:
        own = str((known or {}).get("stamp_time_zone"))
        if own in available_timezones() and clock.against(own) is None:
            given["stamp_time_zone"] = own
        else:
            _standard_time(given, batches, to_check)
    if "wide_layout" not in given or given["wide_layout"] == "meters":
        _set_interval(path, given, batches, to_check)
    if names_times(first_settings):
        _set_stamp(given, batches, said, to_check)
        ends_of_hours = given.get("stamp") == "end" and given["interval_minutes"] == 60
        if ends_of_hours and zone_guessed and clock is not None and not clock.carries_offset:
            # They may be written by the clock before the change, an hour beyond the hour that changes.
            fitting = {*clock.zones, *clock_evidence(batches, HOUR_US).zones}
            if fitting:
                zones = tuple(z for z in dict.fromkeys(_CLOCKS_OF_ENDS) if z in fitting)
                clock = replace(clock, changes=True, zones=zones)
                given["time_zone"] = zone = _zone(clock)
    if zone_guessed:
        to_check.append(_of_zone(clock, zone))
    trial = try_out(path, _settings(given, zone), batches, first.whole, first.cut)
    if rows is None and (contradicting := contradicting_rows(trial)):
        try:
            return examine(path, time_zone=time_zone, known=known, rows=contradicting)
        except SeveralRowsError as error:
            to_check.append(str(error))
    trial = _set_unit(given, trial, guessed_unit is not None, said, to_check)
    if any(_TOTAL.fullmatch(name) for name in trial.survey.meter_ids) and len(trial.survey.meter_ids) > 1:
        to_check.append("one meter is named like a total: leave it out if it is the sum of the others")
    strict = replace(trial.settings, max_unusable_share=MAX_UNUSABLE_SHARE, typical_daily_kwh=TYPICAL_DAILY_KWH)
    begun = begin_files(path, trial.settings)
    otherwise = files_written_otherwise(path, trial.settings, begun)
    findings = [*otherwise, *replace(trial, settings=strict).findings(path)] or first_refusal(path, trial)
    findings = [*{str(finding): finding for finding in (*begun.unread[:1], *findings)}.values()]
    findings = layout.with_intervals(findings, trial.settings.energy_column)
    later = goes_on(trial, begun)
    period = _best_period(trial, DAY_MINUTES // given["interval_minutes"], all_days=later)
    plausible, not_plausible = implausible(trial, PLAUSIBLE_POWER_KW)
    lost = feed_in_lost(plausible, LogScale(low_kwh=0))
    if layout.by_clock is None and go_by_clock(trial) is None:
        to_check.append(
            "hours are assumed to count from midnight, to 23 or 25 when clocks change; if they follow the clock (an "
            f"hour 3A, or 24 but no hour 3), {hours_hint(trial.settings)}"
        )
    if trial.settings.format in ("nem12", "green_button") and trial.counts[list(REASONS).index("other_register")]:
        to_check.append("some registers are left out: if homes feed in and you want net load, set export.flow to net")
    said += short_days(trial)
    if not clock_changes_in(trial).any():
        to_check += hours_without_column(trial, begun)
    odd = [*layout.kept.remarks, *columns_not_read(path, trial.settings), *doubtful_ids(ids_of(path, trial)[0], None)]
    odd += remarks(trial, zone, begun)
    odd += [words for words in (not_plausible, lost) if words]
    found = Finding(given, said, to_check, trial, clock, period, findings, odd, lost is not None)
    given |= _days(found)
    if later:
        del given["last_day"]
        to_check.append(
            f"only the first rows were looked at, up to {_days(found)['last_day']}, and later days follow: set the "
            "last day you want (export.last_day)"
        )
    return found


def files_written_otherwise(path, settings: ExportSettings, begun: Beginnings) -> Iterator[InputError]:
    """Yield of which files most of the first rows cannot be used, while those of others can, and why."""
    unusable = {file.number: file.unusable for file in begun.files if file.unusable is not None}
    if len(unusable) == len(begun.files):  # a matter of the settings
        return
    step = begun.files[1].number - begun.files[0].number if len(begun.files) > 1 else 1
    looked_at = f"{begun.of:,} files" if begun.every else f"{len(begun.files):,} files that were looked at"
    for reason in dict.fromkeys(unusable.values()):
        numbers = np.array([number for number, of in unusable.items() if of == reason])
        runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > step) + 1)
        places = [f"{run[0]:,}" if len(run) == 1 else f"{run[0]:,} to {run[-1]:,}" for run in runs]
        more = f" and {len(places) - _MOST_PLACES:,} more times" if len(places) > _MOST_PLACES else ""
        key, value = _other_setting(path, int(numbers[0]), settings, reason)
        begins = "begins" if len(numbers) == 1 else "begin"
        hint = f"there it looks like {value!r}" if value else "see how they differ from the others"
        if key == "time_format" and value and alike(value, settings.time_format):
            hint = f"set it to {value!r} if that is meant in all files"
        else:
            hint += ": convert all files to one form, or study and release their periods separately"
        yield InputError(
            f"{len(numbers):,} of {looked_at} {begins} with rows that mostly cannot be used (number "
            f"{', '.join(places[:_MOST_PLACES])}{more}, in order of names): {_plainly(reason)}",
            file=path,
            field=key and f"export.{key}",
            hint=hint,
        )


def _other_setting(path, number: int, settings: ExportSettings, reason: str) -> tuple[str | None, str | None]:
    """Return the setting by which one file of an export by itself is read, of those that the reason is about, and
    what it would have to be, if that is known and something else.
    """
    keys = _ABOUT.get(reason, ())
    if keys and settings.format in ("long_csv", "wide_csv"):
        member = files_of(path, by_name=settings.packed_by_name)[number - 1]
        with suppress(InputError), open_bytes(member) as stream:
            table = read_table(member.label, stream.read(HEAD_BYTES))
            found = infer_layout(path, table, several_files=True, given={"keep_rows": settings.keep_rows or {}})
            for key in keys:
                value = found.settings.get(key, getattr(ExportSettings, key))
                if value != getattr(settings, key):
                    return key, value
    return (keys[0] if keys else None), None


def _plainly(reason: str) -> str:
    """Return what becomes of a row as a part of a sentence."""
    meaning = REASONS[reason]
    return f"{meaning[:1].lower()}{meaning[1:]}".rstrip(".")


def _best_period(trial: Trial, slots_per_day: int, *, all_days: bool) -> tuple[int, int, int, int]:
    """Return the best period of what was read, or all its days: of a part of the files, without those of others."""
    given = ~np.isnan(trial.energy_kwh)
    slots = np.arange(given.shape[1])
    if not trial.whole:
        slots = slots[given.any(axis=0)]
    unknown = trial.not_reached | ~trial.in_read_files
    begin, end, kept, kept_whole = best_period((given | unknown)[:, slots], slots_per_day)
    if all_days:
        begin, end, kept = 0, len(slots), kept_whole
    return int(slots[begin]), int(slots[end - 1]) + 1, kept, kept_whole


def _read(path, first: FirstReadings, readings: int) -> None:
    """Read the start of an export, more of it if nothing can be used; then say what stands in the way."""
    first.read(readings)
    if not first.any_usable:
        first.read(MOST_READINGS)
    if not first.any_usable:
        read_strictly(path, first.settings)
        raise InputError("holds no reading that can be used", file=path, hint="export the readings again")


def _no_intervals(path, first: FirstReadings) -> bool:
    """Whether the first readings are those of registers, or sums of days, so that no other can mend it."""
    step = step_minutes(first.settings, first.batches)
    if step not in INTERVALS:
        return step is not None and step >= DAY_MINUTES
    try:
        trial = try_out(path, replace(first.settings, interval_minutes=int(step)), first.batches, False)
    except InputError:
        return False
    return only_rises(trial.energy_kwh)


def _unread_stamps(batches: list[Batch]) -> int:
    return sum(int((batch.stamp_us == NO_STAMP).sum()) for batch in batches)


def _beyond_any_month(batches: list[Batch]) -> bool:
    """Whether days of stamps are no numbers of months; no clock moves one of them to or from 13."""
    stamps = (batch.stamp_us[batch.stamp_us > LAST_MARK].view("datetime64[us]") for batch in batches)
    days = np.unique(np.concatenate([np.unique(some.astype("datetime64[D]")) for some in stamps]))
    of_month = (days - days.astype("datetime64[M]")).astype(int) + 1
    return bool(((of_month > 13) & (of_month < 28)).any())


def _settings(given: dict, zone: str) -> ExportSettings:
    return ExportSettings.from_config({**given, "time_zone": zone})


def layout_of(path, given: Mapping, rows: Mapping[str, Sequence[int]] | None = None) -> Layout:
    """Return the layout of any kind of file; see :func:`examine`."""
    kind, head = kind_of(path)
    if kind == "csv":
        return _of_files(path, given, rows)
    if kind == "parquet":
        return _parquet(path, given)
    out = Layout({"format": kind})
    found = re.findall(rb"<(?:\w+:)?(?:intervalLength|duration)>(\d+)<", head) if kind == "green_button" else []
    minutes = [int(s) // 60 for s in found if 0 < int(s) < 24 * 3600]
    if kind == "nem12":
        minutes = [int(m) for m in re.findall(rb"(?m)^200,(?:[^,\r\n]*,){7}\s*\"?(\d+)", head)]
    fitting = [m for m in minutes if m in INTERVALS]
    if kind == "nem12":
        out.settings["time_zone"] = "Australia/Sydney"
        out.said.append("stamps are in market time (UTC+10)")
        out.to_check.append("Australia/Sydney is a guess: write the zone of the homes (export.time_zone)")
    if fitting:
        out.settings["interval_minutes"] = max(fitting)
        if len(set(fitting)) > 1:
            out.to_check.append("meters have intervals of several lengths; the longest is proposed")
    return out


def _of_files(path, given: Mapping, rows: Mapping[str, Sequence[int]] | None) -> Layout:
    """Guess from the first file, and which rows are the consumption from some of the others and some rows, too."""
    several_files = len(files_of(path)) > 1
    first, *others = samples_of(path)
    encodings = {table.encoding for table in (first, *others)} - {"ascii"}
    others += some_rows(path, rows or {})  # decoded already
    given = {"keep_rows": given.get("keep_rows")}
    out = infer_layout(path, first, several_files=several_files, given=given)
    out.tell_names([first, *others])
    given["meter_column"] = out.settings.get("meter_column", "meter_id")
    if len(encodings) == 1 and "utf-8" not in encodings:
        [encoding] = encodings
        out.settings["encoding"] = encoding
        if encoding != "utf-16":
            out.to_check.append(f"the encoding {encoding} is a guess: do names look right?")
    for table in others:
        try:
            other = infer_layout(path, table, several_files=several_files, given=given)
            out.kept.add(other.kept)
            out.tell_clock(other)
            out.offsets = (other.offsets and other.offsets.and_those(out.offsets)) or out.offsets
        except SeveralRowsError:
            raise
        except InputError:  # the file is looked at by its settings, later
            continue
    return _with_kept(out)


def _with_kept(out: Layout) -> Layout:
    if out.offsets is not None:
        out.zones = out.offsets.zones
    out.settings |= out.kept.settings
    out.to_check += [*out.kept.chosen, *out.kept.to_check]
    return out


def _parquet(path, given: Mapping) -> Layout:
    """Guess from the first records as if they stood in a CSV."""
    table = sample_of(path, "parquet", b"")
    out = _with_kept(infer_layout(path, table, several_files=False, given=given))
    out.tell_names([table])
    if out.settings.get("format", "long_csv") != "long_csv":
        raise InputError(
            "is a Parquet file with a column per meter or interval",
            file=path,
            hint="write a row per reading: meter, time stamp and energy, such as DataFrame.stack makes",
        )
    out.settings["format"] = "parquet"
    schema = parquet.first_records(path, 1).schema
    if pa.types.is_timestamp(schema.field(out.settings.get("time_column", "interval_start")).type):
        out.settings.pop("time_format", None)
    return out


def _zone(clock: ClockEvidence | None) -> str:
    return clock.zones[0] if clock is not None and clock.changes else "UTC"


def _of_zone(clock: ClockEvidence | None, zone: str) -> str:
    """Say what to do about a guessed zone."""
    if clock is not None and clock.changes:
        return _ONE_OF_SEVERAL.format(zone)
    if clock is not None and clock.carries_offset:
        return "stamps are in UTC or carry offsets: replace UTC with the zone of the homes (export.time_zone)"
    return "the time zone is unknown: replace UTC with the zone of the homes (export.time_zone)"


def _standard_time(given: dict, batches: list[Batch], to_check: list[str]) -> None:
    """Say that stamps are in standard time where the homes' clock changes and that of the file does not."""
    first, last = first_and_last_us(batches)
    changes = clock_changes(given["time_zone"])
    inside = np.flatnonzero((changes.utc_us > first) & (changes.utc_us < last))
    if given.get("format") in SELF_DESCRIBED or not len(inside):
        return
    hours = changes.offset_us[inside[0] : inside[0] + 2].min() / HOUR_US
    if hours != int(hours):
        to_check.append("stamps are in standard time or UTC, not in local time: set export.stamp_time_zone")
        return
    given["stamp_time_zone"] = "UTC" if hours == 0 else f"Etc/GMT{-int(hours):+d}"
    if hours:
        to_check.append(
            f"stamps show no daylight-saving jump: {given['stamp_time_zone']} is the homes' standard time, but they "
            "may be in UTC (export.stamp_time_zone)"
        )


def _set_interval(path, given: dict, batches: list[Batch], to_check: list[str]) -> None:
    """Take the interval from the distance of neighbouring stamps, and that of meters that are read more often."""
    settings = _settings(given, given["time_zone"])
    step, steps = steps_minutes(settings, batches[:: -(-len(batches) // _STEP_BATCHES)])
    if step is None or (given.get("format") in ("nem12", "green_button") and step in INTERVALS):
        return
    if step >= DAY_MINUTES:
        raise InputError(
            "has readings a day or more apart: daily or monthly sums, not an interval export",
            file=path,
            hint="ask for quarter-hourly, half-hourly or hourly readings",
        )
    if step not in INTERVALS:
        raise InputError(
            f"has stamps {step:g} minutes apart; meterdp reads intervals of {', '.join(map(str, INTERVALS))} minutes",
            file=path,
            hint="ask for one of these, or add the readings up to one of them",
        )
    given["interval_minutes"] = int(step)
    shorter = [int(one) for one in steps if one in INTERVALS and one < step and step % one == 0]
    if shorter and settings.adds_up:
        given["shortest_interval_minutes"] = min(shorter)
        to_check.append(f"some meters are read every {min(shorter)} minutes: their readings are added up")


def names_times(settings: ExportSettings) -> bool:
    """Whether every row has a stamp of its own."""
    of_meters = settings.format == "wide_csv" and settings.wide_layout == "meters"
    by_number = settings.counts_intervals or settings.hours_rows
    return (settings.format in ("long_csv", "parquet") or of_meters) and not by_number


def _set_stamp(given: dict, batches: list[Batch], said: list[str], to_check: list[str]) -> None:
    """Tell starts from ends by the first and the last stamp of the export."""
    if "stamp" in given:
        return
    column, zone = given.get("time_column", "interval_start"), given["time_zone"]
    found = stamp_evidence(batches, given["interval_minutes"], column, of_stamps=zone, of_homes=zone)
    if found is None:
        to_check.append("stamps may be starts or ends of intervals: starts are assumed (export.stamp)")
        return
    if found.stamp == "end":
        given["stamp"] = "end"
    if found.sure:
        said.append(found.sentence)
    else:
        to_check.append(f"{found.sentence} (export.stamp)")


def _set_unit(given: dict, trial: Trial, named: bool, said: list[str], to_check: list[str]) -> Trial:
    """Guess the unit by the size of the readings where it is not named, or named wrongly."""
    if given.get("format") in SELF_DESCRIBED:
        return trial
    daily = abs(daily_kwh(trial.energy_kwh, given["interval_minutes"]))
    low, high = TYPICAL_DAILY_KWH
    if np.isnan(daily) or daily == 0 or (named and low <= daily <= high) or only_rises(trial.energy_kwh):
        return trial
    if "unit_column" in given:  # which counts, whatever the unit of the settings is
        to_check.append(
            f"according to the column of units, a typical meter uses {daily:.3g} kWh a day: is that right? "
            "(export.unit_column)"
        )
        return trial
    unit = likely_unit(daily, trial.settings)
    if named and unit != given["unit"]:
        to_check.append(
            f"the export says {given['unit']}, but no meter uses that much or that little; {unit} is likely"
        )
    elif not named:
        to_check.append(
            f"the unit is not named; {unit} gives the most plausible daily use, but readings may be power "
            "(export.unit)"
        )
    if unit == given["unit"]:
        return trial
    said[:] = [sentence for sentence in said if not sentence.startswith(UNIT_SAID)]
    given["unit"] = unit
    settings = replace(_settings(given, given["time_zone"]), bad_rows=trial.settings.bad_rows)
    factor = np.divide(*settings.kwh_per_unit) / np.divide(*trial.settings.kwh_per_unit)
    return replace(trial, settings=settings, energy_kwh=trial.energy_kwh * factor)


def _days(found: Finding) -> dict:
    """Return the proposed period as local days, those at its ends only if they are whole."""
    begin, end, _, _ = found.period
    edges = found.trial.starts_us[[begin, end - 1]] + np.array([0, found.trial.settings.interval_us])
    texts = local_text(edges.astype("datetime64[us]"), found.settings["time_zone"])
    first, after = (date.fromisoformat(text[:10]) for text in texts)
    day = timedelta(days=1)
    # Days of standard time or UTC may begin an hour after those of summer time.
    whole = first if texts[0][11:16] <= "01:00" else first + day
    last = after - day
    # An export of less than a day keeps what it has.
    first, last = (whole, last) if whole <= last else (first, max(first, last))
    return {"first_day": first.isoformat(), "last_day": last.isoformat()}


def format_words(settings: Mapping) -> str:
    form = settings.get("format", "long_csv")
    if form == "wide_csv" and settings.get("wide_layout") == "meters":
        return "wide CSV, a column per meter"
    return READERS[form].title


def finding_words(path, found: Finding) -> str:
    trial = found.trial
    lines = [f"{path}: {format_words(found.settings)}", *_numbers(trial, found.settings["time_zone"])]
    middle_us = int(trial.starts_us[len(trial.starts_us) // 2])
    said, zone = list(found.said), found.settings["time_zone"]
    if found.clock:
        self_described = found.settings.get("format") in SELF_DESCRIBED
        said += found.clock.sentences(trial.whole, zone, middle_us, self_described=self_described)
    lines += [f"  {sentence}" for sentence in said]
    lines += _period(found)
    lines += _rows(trial)
    if to_check := [*found.to_check, *found.odd]:
        lines += ["", "To be checked by somebody who knows the export:"]
        lines += [f"  - {sentence}" for sentence in to_check]
    if found.findings:
        lines += ["", "A study would be refused:"]
        lines += [f"  - {finding}" for finding in found.findings]
    return "\n".join(lines)


def _numbers(trial: Trial, zone: str) -> list[str]:
    settings, slots = trial.settings, trial.starts_us
    first, last = (text[:10] for text in local_text(slots[[0, -1]].astype("datetime64[us]"), zone))
    part, meters = "" if trial.whole else " (first rows only)", len(trial.energy_kwh)
    return [
        f"  {meters:,} {'meter' if meters == 1 else 'meters'}, {int(trial.counts[USED]):,} usable readings{part}",
        f"  intervals of {settings.interval_minutes} minutes, {first} to {last} ({_days_of(trial)} days)",
        f"  in {settings.unit}{typical_use(trial)}",
    ]


def typical_use(trial: Trial) -> str:
    """Say how much a typical meter uses, after something else; nothing of a register, whose readings are no use."""
    daily = daily_kwh(trial.energy_kwh, trial.settings.interval_minutes)
    return "" if np.isnan(daily) or only_rises(trial.energy_kwh) else f"; a typical meter uses {daily:.3g} kWh a day"


def _days_of(trial: Trial) -> int:
    return round(len(trial.starts_us) * trial.settings.interval_minutes / (24 * 60))


def _period(found: Finding) -> list[str]:
    begin, end, kept, kept_whole = found.period
    meters, slots = found.trial.energy_kwh.shape
    of = f"{kept:,} of {meters:,} meters{'' if found.trial.whole else ' in the first rows'}"
    days = _days(found).values()
    said = ["  " + coverage(found.trial, begin, end, *days)]
    if (begin, end) != (0, slots):
        said.append(
            f"  {of} have enough of them for a study; over all {_days_of(found.trial)} days "
            f"of the export {kept_whole:,} have"
        )
    elif kept < meters:
        said.append(f"  {of} have enough of them for a study")
    return said


def _rows(trial: Trial) -> list[str]:
    lines, what = [], "readings" if trial.settings.format == "wide_csv" else "rows"
    for reason, count in zip(REASONS, trial.counts.tolist(), strict=True):
        if count and reason == "file_unreadable":
            lines.append(f"  {count:,} {'files' if count > 1 else 'file'} unreadable, or not readable to the end")
        elif count and reason != "used":
            lines.append(f"  {count:,} {what if count > 1 else what[:-1]}: {_plainly(reason)}")
    return lines


def config_text(path, found: Finding) -> str:
    """Return a complete configuration that reads the export, with a remark where something is to be checked."""
    # A file of one meter is called after it.
    alone = found.settings.get("meter_column", "") is None and Path(path).is_file()
    name = "one meter" if alone else Path(path).resolve().name.split(".")[0]
    settings = {"path": str(path), "format": "long_csv", **found.settings}
    config = {"title": f"Study of {name}", "results_dir": "results-" + name.replace(" ", "-"), "export": settings}
    chosen = "The days were"
    if found.net:
        chosen = "The days and the section profiles were"
        low, high = NET_CLIP_KWH_PER_HOUR
        config["profiles"] = {"log_scale": {"kind": SIGNED}, "clip_kwh_per_hour": [low, high]}
    remarks = [f"# To be checked: {sentence}\n" for sentence in found.to_check]
    remarks.append(f"# {chosen} chosen from the readings: for a release, choose them without looking at any.\n")
    return "".join(remarks) + yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=100)
