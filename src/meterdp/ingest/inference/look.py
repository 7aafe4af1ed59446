"""Whether the first readings of an export contradict given settings, and what of them is to be checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml

from meterdp.core.log_scale import LogScale
from meterdp.core.stamps import local_text
from meterdp.errors import InputError
from meterdp.ingest.dense import STAMP_OUTSIDE_PERIOD
from meterdp.ingest.inference.examine import files_written_otherwise, layout_of, names_times
from meterdp.ingest.inference.first_readings import batches_of_days, begin_files, begin_strictly
from meterdp.ingest.inference.layout import ENDS_SAID, Layout
from meterdp.ingest.inference.listed import (
    doubtful_ids,
    have,
    ids_of,
    is_or_are,
    meters_of,
    not_there,
    seldom_read,
    without_last,
    worth,
    written_otherwise,
)
from meterdp.ingest.inference.quantities import columns_not_read
from meterdp.ingest.inference.remarks import (
    contradicting_rows,
    feed_in_lost,
    implausible,
    large_use,
    little_use,
    many_contradict,
    many_zeros,
    nearly_all_zero,
    remarks,
)
from meterdp.ingest.inference.stamps import evidence_against
from meterdp.ingest.inference.table import head_of
from meterdp.ingest.inference.trial import Trial, coverage, first_refusal, not_to_their_end, try_out
from meterdp.ingest.meter_list import read_meter_list
from meterdp.ingest.settings import ExportSettings

_DISTINGUISH_ROWS = ("unit_column", "keep_rows")


@dataclass(frozen=True)
class Look:
    """What the first readings say about settings."""

    findings: list[InputError]  # what contradicts the settings; with a public list of meters nothing may end a run
    odd: list[str] = field(default_factory=list)  # what else is to be checked
    meters: str = ""  # how many there are
    somebody: bool = True  # whether any of them has a reading
    coverage: str = ""  # which days there are, and how much is missing, if that is known


def looked_at(
    path,
    export: dict,
    scale: LogScale | None = None,
    most_missing: float = 1.0,
    most_zero: float = 1.0,
    most_daily_kwh: float | None = None,
    plausible_power_kw: tuple[float, float] = (-np.inf, np.inf),
    last_days: int | None = None,
) -> Look:
    """Look at an export by the section ``export`` of a complete configuration, the scale its section ``profiles``
    names, the shares of its readings that a household of a study may lack and that may be zero, the most that feeder
    totals count of a meter, if any are asked for, between which powers readings count, and how many days at the end
    of the period a release is about, if it is not all of it.

    Raises ``InputError`` if the file cannot be opened or its header cannot be read, as by any study.
    """
    settings = ExportSettings.from_config(export)
    meter_list = None if export["meters"] is None else read_meter_list(export["meters"])
    if settings.format in ("long_csv", "wide_csv") and meter_list is None:
        head_of(Path(path))  # refuses a file of another kind; of a listed meter it may be the only one
    begun = begin_files(path, settings, meter_list)
    unread, files = begun.unread, len(begun.files)
    if unread and len(unread) == files:  # by their headers alone, and no row of anybody
        raise unread[0]
    by_itself = _by_itself(path, settings)
    odd = by_itself.kept.remarks if isinstance(by_itself, Layout) else []
    odd += columns_not_read(path, settings)
    otherwise = [*files_written_otherwise(path, settings, begun)]
    if meter_list is not None:
        trial = try_out(path, settings, *batches_of_days(path, settings, begun), meter_list=meter_list)
        found = [*otherwise, *trial.findings(path)]
        refused = first_refusal(path, trial)
        odd += [f"counted as missing: {error}" for error in refused]
        named = {str(error.file) for error in refused if error.row is None} | {str(error.file) for error in unread}
        odd += not_to_their_end(path, trial, named)
    else:
        try:
            begin_strictly(path, settings)  # the header, before all rows are read
            trial = try_out(path, settings, *batches_of_days(path, settings, begun))
        except InputError as error:
            return Look([error], odd)
        found = [*otherwise, *trial.findings(path)] or first_refusal(path, trial)
    if isinstance(by_itself, Layout):
        found = by_itself.with_intervals(found, settings.energy_column)
    named, every = ids_of(path, trial)
    counted, without, what = meters_of(trial, meter_list)
    lately, of_last_days = without_last(trial, meter_list, export["time_zone"], last_days)
    if not lately:
        odd += not_there(trial, named | begun.named if every else None, meter_list)
    odd += doubtful_ids(named, meter_list)
    odd += remarks(trial, export["time_zone"], begun)
    if unread and meter_list is not None:
        odd.append(f"{len(unread):,} of {files:,} files cannot be read, and nothing in them counts: {unread[0]}")
    elif unread:
        found = [*unread[:1], *found]
    wrong_offset = _wrong_offset(path, by_itself, settings)
    if wrong_offset is None:
        odd += _other_stamps(by_itself, trial, export["time_zone"])
    elif meter_list is None:
        found = [*found, wrong_offset]
    else:
        odd.append(str(wrong_offset))
    plausible, said = implausible(trial, plausible_power_kw)
    odd += [said] if said else []
    if scale is not None:
        lost = (
            feed_in_lost(plausible, scale),
            many_zeros(plausible, scale),
            little_use(plausible, scale),
            nearly_all_zero(plausible, most_zero, meter_list),
            large_use(plausible, scale, most_daily_kwh),
        )
        odd += [words for words in lost if words]
    other_days = 2 * trial.counts[STAMP_OUTSIDE_PERIOD] > trial.counts.sum()
    known = trial.known.any() or counted > without or not other_days
    if not known:
        odd.append("the first rows lie outside these days: only the whole export shows which meters have readings")
    else:
        if without and (trial.whole or not lately):
            odd.append(f"of {counted:,} {what}, {have(without)} no reading that counts{worth(without, counted)}")
        if lately > (without if trial.whole else 0):
            odd.append(of_last_days)
        odd += seldom_read(plausible, meter_list, export["time_zone"], last_days)
    if known and (without or lately):
        odd += written_otherwise(path, trial, named, meter_list)
    missing = np.isnan(trial.energy_kwh).mean(axis=1) if trial.whole else np.zeros(0)
    some, least = (
        int(((missing > most_missing) & (missing < 1)).sum()),
        f"{1 - most_missing:.0%} of the readings of these days",
    )
    if len(missing) and (missing > most_missing).all():
        hint = "name days on which most meters were read, or see quality.max_missing_share"
        empty = InputError(
            f"no meter has {least}: a study would leave all of them out",
            file=path,
            field="export.first_day",
            hint=hint,
        )
        found, odd = (found, [*odd, str(empty)]) if meter_list is not None else ([*found, empty], odd)
    elif some:
        them = "it" if some == 1 else "them"
        odd.append(f"of {counted:,} {what}, {have(some)} fewer than {least}, and a study leaves {them} out")
    if settings.has_other_columns and (without or many_contradict(trial)):
        odd += _other_columns(_by_itself(path, settings, contradicting_rows(trial)), settings)
    meters = f"{begun.of:,} files; " if begun.of > 1 else ""
    meters += f"{counted:,} {what}" + (f", {counted - without:,} of them with readings" if known else "")
    if meter_list is not None and counted > without and (unlisted := len(named - meter_list.circuit_of.keys())):
        where = "the export" if every else f"the {trial.part}"
        meters += f"; {unlisted:,} of {len(named):,} meters in {where} {is_or_are(unlisted)} not on the list"
    coverage = _coverage_of_first(trial, export["time_zone"]) if known else ""
    return Look(found, odd, meters, counted > without or not known, coverage)


def _coverage_of_first(trial: Trial, zone: str) -> str:
    """Return how much is missing in the period, or in what was read of it."""
    begin, end = 0, len(trial.starts_us)
    read = np.flatnonzero(trial.known if trial.known.any() else ~np.isnan(trial.energy_kwh).all(axis=0))
    if len(read):
        begin, end = int(read[0]), int(read[-1]) + 1
    days = [text[:10] for text in local_text(trial.starts_us[[begin, end - 1]].astype("datetime64[us]"), zone)]
    return coverage(trial, begin, end, *days)


def _by_itself(
    path, settings: ExportSettings, rows: Mapping[str, Sequence[int]] | None = None
) -> Layout | InputError:
    """Return what an export looks like if only the rows that are read are known, or why it looks like none."""
    try:
        return layout_of(path, {"keep_rows": settings.keep_rows or {}}, rows)
    except InputError as error:
        return error


def _wrong_offset(path, by_itself: Layout | InputError, settings: ExportSettings) -> InputError | None:
    """Return the error if stamps carry offsets that are not those of the zone of the settings."""
    offsets = by_itself.offsets if isinstance(by_itself, Layout) else None
    against = offsets and offsets.against(settings.time_zone)
    return against and InputError(against[0], file=path, field="export.time_zone", hint=against[1])


def _other_stamps(by_itself: Layout | InputError, trial: Trial, time_zone: str) -> Iterator[str]:
    """Say that stamps look like the ends of intervals where the settings say starts, or the other way round."""
    settings, sentence = trial.settings, None
    found = by_itself.settings if isinstance(by_itself, Layout) else {}
    same = all(found.get(key, getattr(settings, key)) == getattr(settings, key) for key in ("time_column", "format"))
    if same and "stamp" in found and not settings.numbers_rows:
        if found["stamp"] != settings.stamp:
            sentence = next(said for said in by_itself.said if said in ENDS_SAID)
    elif names_times(settings):
        zones = {"of_stamps": settings.time_zone, "of_homes": time_zone}
        minutes, column = settings.interval_minutes, settings.time_column
        against = evidence_against(settings.stamp, trial.batches, minutes, column, **zones)
        sentence = against and against.sentence
    if sentence:
        wrong = "if that is wrong, every reading is off by an interval"
        yield f"{sentence}, but export.stamp says {settings.stamp}: {wrong}"


def _other_columns(by_itself: Layout | InputError, settings: ExportSettings) -> list[str]:
    """Return what the export by itself looks like, if other columns than those of the settings distinguish rows."""
    if isinstance(by_itself, InputError):
        return [str(by_itself)]
    kept = {column: list(entries) for column, entries in (settings.keep_rows or {}).items()}
    here = {"unit_column": settings.unit_column, "keep_rows": kept}
    found = {key: by_itself.settings[key] for key in _DISTINGUISH_ROWS if key in by_itself.settings}
    plain = {"default_flow_style": True, "width": 1000, "allow_unicode": True}
    texts = [
        f"export.{key} to {yaml.safe_dump(value, **plain).splitlines()[0]}"
        for key, value in found.items()
        if value != here[key]
    ]
    return [f"going by its first rows, set {', '.join(texts)}"] if texts else []
