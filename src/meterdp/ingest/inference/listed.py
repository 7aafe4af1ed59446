"""The public list of meters beside an export: whom of it the first readings name, and how its ids are written."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from meterdp.core.stamps import DAY_US, local_text
from meterdp.ingest.batch import plain_id
from meterdp.ingest.clock import midnights_us
from meterdp.ingest.inference.first_readings import by_clock_us, names_in
from meterdp.ingest.inference.quantities import columns_beside
from meterdp.ingest.inference.trial import Trial
from meterdp.ingest.meter_list import AS_TEXT, LEAST_READ, SCIENTIFIC, USABLE, MeterList, rounded
from meterdp.ingest.streams import files_of
from meterdp.privacy.meter_lists import plain_name, shorter


def meters_of(trial: Trial, meter_list: MeterList | None) -> tuple[int, int, str]:
    """Return how many meters there are, how many of them have no reading, and what they are called.

    Of a part of an export only those that are named there count, of a whole one all that are listed.
    """
    counted, without = len(trial.energy_kwh), int(np.isnan(trial.energy_kwh).all(axis=1).sum())
    every = trial.whole
    if meter_list is not None and (every or meter_list.circuit_of.keys().isdisjoint(names_in(trial.batches))):
        every, more = True, len(meter_list.circuit_of) - counted
        counted, without = counted + more, without + more
    what = ("listed " if meter_list is not None else "") + "meters" + ("" if every else f" in the {trial.part}")
    return counted, without, what


def ids_of(path, trial: Trial) -> tuple[set[str], bool]:
    """Return the meters that are known to be in an export, and whether these are all: where every file is of one
    meter its files tell, else its first rows, if no meter begins in the second half of them or, as in files of one
    month each, with the last file of them. Files of which only the beginning was looked at may name others.
    """
    if trial.settings.meter_column is None:
        return {plain_id(file.meter_id) for file in files_of(path)}, True
    half = len(trial.batches) // 2
    before, after = names_in(trial.batches[:half]), names_in(trial.batches[half:])
    every = trial.whole or (not trial.cut and ((len(after) > 1 and after <= before) or _go_on_as_before(trial)))
    return before | after, every


def _go_on_as_before(trial: Trial) -> bool:
    """Whether the last of several files of which rows were read names several meters, and all are in those before."""
    last = trial.batches[-1].place
    named = names_in([batch for batch in trial.batches if batch.place != last])
    own = set()
    for batch in (batch for batch in trial.batches if batch.place == last):  # its ids may be those of others, too
        at = np.unique(batch.meter)
        own |= {plain_id(batch.meter_ids[meter]) for meter in at[at >= 0].tolist()}
    return len(own) > 1 and own <= named


def not_there(trial: Trial, named: set[str] | None, meter_list: MeterList | None) -> Iterator[str]:
    """Say how many listed meters are not in an export of which all meters are known but not all readings."""
    if meter_list is None or named is None or trial.whole:
        return
    listed = len(meter_list.circuit_of)
    if without := len(meter_list.circuit_of.keys() - named):
        where = (
            f"{'has' if without == 1 else 'have'} no file named after {'it' if without == 1 else 'them'}"
            if trial.settings.meter_column is None
            else f"{is_or_are(without)} not in the {trial.part}, which seem to name all meters"
        )
        yield f"{without:,} of {listed:,} listed meters {where}{worth(without, listed)}"


def without_last(trial: Trial, meter_list: MeterList | None, zone: str, last_days: int | None) -> tuple[int, str]:
    """Return how many listed meters have no reading on the last days of the period, as far as all files of these
    were read, and a sentence about it; 0 where no such day is known.
    """
    of_release = _of_last_days(trial, zone, last_days)
    known = trial.known & of_release
    if meter_list is None or not known.any():
        return 0, ""
    listed = len(meter_list.circuit_of)
    without = listed - int((~np.isnan(trial.energy_kwh[:, known])).any(axis=1).sum())
    said = f"of {listed:,} listed meters, {have(without)} no reading {_from_to(trial, known, zone)}"
    return without, said + (worth(without, listed) if (known == of_release).all() else "")


def seldom_read(trial: Trial, meter_list: MeterList | None, zone: str, last_days: int | None) -> Iterator[str]:
    """Say how many listed meters were read so seldom on the last days of the period that totals and forecasts of them
    count them as meters without readings, if all files of these days were read.
    """
    if meter_list is None or last_days is None:
        return
    of_release, listed = _of_last_days(trial, zone, last_days), len(meter_list.circuit_of)
    if not trial.known[of_release].all():
        return
    share = (~np.isnan(trial.energy_kwh[:, of_release])).mean(axis=1)
    seldom, without = int(((share > 0) & (share < LEAST_READ)).sum()), listed - int((share > 0).sum())
    if seldom:
        counts = "counts as a public typical meter" if seldom == 1 else "count as public typical meters"
        yield (
            f"of {listed:,} listed meters, {have(seldom)} readings in less than half of the intervals "
            f"{_from_to(trial, of_release, zone)} and {counts}"
            f"{'' if worth(without, listed) else worth(seldom + without, listed)}"
        )


def _of_last_days(trial: Trial, zone: str, last_days: int | None) -> np.ndarray:
    """Return which slots are of the last days of the period, (T,) bool; all of them if it is not said how many."""
    if last_days is None:
        return np.ones(len(trial.known), bool)
    last_us = by_clock_us(trial.starts_us[-1:], zone) // DAY_US * DAY_US
    return trial.starts_us >= midnights_us(last_us - (last_days - 1) * DAY_US, zone)


def _from_to(trial: Trial, slots: np.ndarray, zone: str) -> str:
    ends = trial.starts_us[slots][[0, -1]].astype("datetime64[us]")
    return "from {} to {}".format(*(text[:10] for text in local_text(ends, zone)))


def have(count: int) -> str:
    """Return a number and its verb."""
    return f"{count:,} {'has' if count == 1 else 'have'}"


def is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"


def worth(without: int, meters: int) -> str:
    """Return what a release is worth of which so many meters have no readings."""
    if 2 * without > meters:
        return " (a release would mostly hold noise around a public guess, and still be charged)"
    if without > (1 - USABLE) * meters:
        of_meters = f"{USABLE:.0%} of the meters have usable readings"
        return f" (a release would be off by more than it states, because it assumes that {of_meters})"
    return ""


def doubtful_ids(named: set[str], meter_list: MeterList | None) -> Iterator[str]:
    """Say how many ids of the export are others in other capitals, how many of it or of the list went through a
    spreadsheet, and how many are those of the list except for their first or last characters.
    """
    if again := len(named) - len(set(map(plain_name, named))):
        differ = "differ" if again > 1 else "differs"
        yield (
            f"{again:,} of {len(named):,} ids in the export {differ} from another only in capitals, blanks or "
            "full-width digits, and the ledger treats both as one meter: write each id the same way everywhere"
        )
    listed = set() if meter_list is None else meter_list.circuit_of.keys()
    for ids, what in ((named, "in the export"), (listed, "on the list")):
        if of := sum(SCIENTIFIC.fullmatch(meter) is not None for meter in ids):
            looks = "looks" if of == 1 else "look"
            yield f"{of:,} of the ids {what} {looks} like 1.23E+17, and each may stand for several meters: {AS_TEXT}"
    without_rows = listed - named
    if of := sum(not without_rows.isdisjoint(rounded(meter)) for meter in named - listed):
        seem = "seems" if of == 1 else "seem"
        yield f"{of:,} of the meters in the export {seem} to be on the list under a rounded id: {AS_TEXT}"
    others = named - listed
    # As Spanish ids of 22 and of 20 characters.
    cut = {short for meter in listed for short in shorter(meter)} & others
    without_zeros = {meter.lstrip("0") for meter in listed}  # which :func:`written_otherwise` tells
    longer = {m for m in others if m.lstrip("0") not in without_zeros and not shorter(m).isdisjoint(listed)}
    for ids, what in (
        (longer, "a listed id with extra characters"),
        (cut, "a listed id without its first or last characters"),
    ):
        if ids:
            yield (
                f"{len(ids):,} of {len(others):,} ids in the export that are not on the list {is_or_are(len(ids))} "
                f"{what}: if they are the same meters, change the ids in the export, because the ledger treats "
                "another id on the list as another meter"
            )


def written_otherwise(path, trial: Trial, named: set[str], meter_list: MeterList | None) -> Iterator[str]:
    """Say how many listed ids are in the export in capitals, in full width or with other zeros in front, blanks or
    signs, as spreadsheets make, and which other column has them.
    """
    if meter_list is None:
        return

    def bare(name: str) -> str:
        return re.sub(r"[\W_]", "", plain_name(name)).lstrip("0")

    known = set(map(bare, named - meter_list.circuit_of.keys()))
    if alike := sum(bare(meter) in known for meter in meter_list.circuit_of):
        yield (
            f"{alike:,} listed {'meter' if alike == 1 else 'meters'} {is_or_are(alike)} in the export with different "
            "leading zeros, blanks, signs or capitals, or full-width digits"
        )
    for column in columns_beside(path, trial.settings):
        if not meter_list.circuit_of.keys().isdisjoint(map(plain_id, column.tokens)):
            yield f"ids from the list are in the column '{column.name}' (export.meter_column)"
