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
from meterdp.ingest.inference.examine import files_written_otherwise, layout_of, names_times, typical_use
from meterdp.ingest.inference.first_readings import Beginnings, batches_of_days, begin_files, begin_strictly
from meterdp.ingest.inference.layout import ENDS_SAID, Layout, odd_column
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
from meterdp.ingest.inference.quantities import columns_not_read, kept_feed_in
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
from meterdp.ingest.inference.zone import least_use
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
    settings, zone = ExportSettings.from_config(export), export["time_zone"]
    meter_list = None if export["meters"] is None else read_meter_list(export["meters"])
    if settings.format in ("long_csv", "wide_csv") and meter_list is None:
        head_of(Path(path))  # refuses a file of another kind; of a listed meter it may be the only one
    begun = begin_files(path, settings, meter_list)
    if begun.unread and len(begun.unread) == len(begun.files):  # by their headers alone, and no row of anybody
        raise begun.unread[0]
    by_itself = _by_itself(path, settings)
    odd = by_itself.kept.remarks if isinstance(by_itself, Layout) else []
    odd += [*columns_not_read(path, settings), *kept_feed_in(settings.keep_rows)]
    if settings.format in ("long_csv", "parquet"):
        odd += odd_column(settings.energy_column, None if settings.unit_column else settings.unit)
    try:
        if meter_list is None:
            begin_strictly(path, settings)  # the header, before all rows are read
        trial = try_out(path, settings, *batches_of_days(path, settings, begun), meter_list=meter_list)
    except InputError as error:
        if meter_list is not None:
            raise
        return Look([error], odd)
    found = [*files_written_otherwise(path, settings, begun), *trial.findings(path)]
    if meter_list is None:
        found = found or first_refusal(path, trial)
    else:
        odd += _not_read(path, trial, begun)
    if isinstance(by_itself, Layout):
        found = by_itself.with_intervals(found, settings.energy_column)
    plausible, not_plausible = implausible(trial, plausible_power_kw)
    of_meters = _Meters(path, trial, plausible, begun, meter_list, zone, last_days)
    odd += of_meters.remarks()
    odd += remarks(trial, zone, begun)
    against = [_wrong_offset(path, by_itself, settings)]
    if against[0] is None:
        odd += _other_stamps(by_itself, trial, zone)
    odd += [not_plausible] if not_plausible else []
    if scale is not None:
        lost = (
            feed_in_lost(plausible, scale),
            many_zeros(plausible, scale),
            little_use(plausible, scale),
            nearly_all_zero(plausible, most_zero, meter_list),
            large_use(plausible, scale, most_daily_kwh),
        )
        odd += [words for words in lost if words]
    against.append(_all_left_out(path, trial, most_missing))
    if against[-1] is None:
        odd += of_meters.left_out(most_missing)
    against = [error for error in against if error is not None]
    if meter_list is not None:
        odd += map(str, against)
    else:
        found = [*begun.unread[:1], *found, *against]
    if settings.has_other_columns and (of_meters.without or many_contradict(trial)):
        odd += _other_columns(_by_itself(path, settings, contradicting_rows(trial)), settings)
    coverage = _coverage_of_first(trial, zone) if of_meters.known else ""
    if coverage:
        coverage += typical_use(plausible) + least_use(plausible.energy_kwh, plausible.starts_us, zone)
    return Look(
        found, odd, of_meters.described(), of_meters.counted > of_meters.without or not of_meters.known, coverage
    )


def _not_read(path, trial: Trial, begun: Beginnings) -> Iterator[str]:
    """Say what of an export with a public list of meters counts as missing, where a study without one would end."""
    refused, unread = first_refusal(path, trial), begun.unread
    yield from (f"counted as missing: {error}" for error in refused)
    named = {str(error.file) for error in refused if error.row is None} | {str(error.file) for error in unread}
    yield from not_to_their_end(path, trial, named)
    if unread:
        yield (
            f"{len(unread):,} of {len(begun.files):,} files cannot be read, and nothing in them counts: {unread[0]}"
        )


class _Meters:
    """The meters whose readings count: all of the export, or those on the public list."""

    def __init__(self, path, trial: Trial, plausible: Trial, begun: Beginnings, meter_list, zone: str, last_days):
        self._path, self._trial, self._plausible, self._begun = path, trial, plausible, begun
        self._list, self._zone, self._last_days = meter_list, zone, last_days
        self._named, self._every = ids_of(path, trial)
        self.counted, self.without, self._what = meters_of(trial, meter_list)
        self._lately, self._of_last_days = without_last(trial, meter_list, zone, last_days)
        other_days = 2 * trial.counts[STAMP_OUTSIDE_PERIOD] > trial.counts.sum()
        self.known = trial.known.any() or self.counted > self.without or not other_days

    def described(self) -> str:
        """Say how many there are, and of how many there are readings."""
        said = f"{self._begun.of:,} files; " if self._begun.of > 1 else ""
        said += f"{self.counted:,} {self._what}"
        said += f", {self.counted - self.without:,} of them with readings" if self.known else ""
        unlisted = 0 if self._list is None else len(self._named - self._list.circuit_of.keys())
        if unlisted and self.counted > self.without:
            where = "the export" if self._every else f"the {self._trial.part}"
            said += f"; {unlisted:,} of {len(self._named):,} meters in {where} {is_or_are(unlisted)} not on the list"
        return said

    def remarks(self) -> Iterator[str]:
        """Say which ids look wrong, and which meters lack readings."""
        trial, without, lately = self._trial, self.without, self._lately
        if not lately:
            yield from not_there(trial, self._named | self._begun.named if self._every else None, self._list)
        yield from doubtful_ids(self._named, self._list)
        if not self.known:
            yield "the first rows lie outside these days: only the whole export shows which meters have readings"
            return
        if without and (trial.whole or not lately):
            yield (
                f"of {self.counted:,} {self._what}, {have(without)} no reading that "
                f"counts{worth(without, self.counted)}"
            )
        if lately > (without if trial.whole else 0):
            yield self._of_last_days
        yield from seldom_read(self._plausible, self._list, self._zone, self._last_days)
        if without or lately:
            yield from written_otherwise(self._path, trial, self._named, self._list)

    def left_out(self, most_missing: float) -> Iterator[str]:
        """Say how many have some readings, but too few for a study."""
        missing = _missing(self._trial)
        if some := int(((missing > most_missing) & (missing < 1)).sum()):
            them = "it" if some == 1 else "them"
            few = f"{have(some)} fewer than {_least(most_missing)}"
            yield f"of {self.counted:,} {self._what}, {few}, and a study leaves {them} out"


def _missing(trial: Trial) -> np.ndarray:
    """Return the share of readings that each meter lacks, of an export that was read to its end."""
    return np.isnan(trial.energy_kwh).mean(axis=1) if trial.whole else np.zeros(0)


def _least(most_missing: float) -> str:
    return f"{1 - most_missing:.0%} of the readings of these days"


def _all_left_out(path, trial: Trial, most_missing: float) -> InputError | None:
    """Return the error if a study would leave out every meter."""
    missing = _missing(trial)
    if not len(missing) or not (missing > most_missing).all():
        return None
    return InputError(
        f"no meter has {_least(most_missing)}: a study would leave all of them out",
        file=path,
        field="export.first_day",
        hint="name days on which most meters were read, or see quality.max_missing_share",
    )


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
