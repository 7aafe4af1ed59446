"""The public list of meters beside an export: whom of it the first readings name, and how its ids are written."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from meterdp.ingest.batch import plain_id
from meterdp.ingest.inference.quantities import columns_beside
from meterdp.ingest.inference.trial import Trial, names_in
from meterdp.ingest.meter_list import AS_TEXT, SCIENTIFIC, USABLE, MeterList, rounded
from meterdp.ingest.streams import files_of
from meterdp.privacy.meter_lists import plain_name


def meters_of(trial: Trial, meter_list: MeterList | None) -> tuple[int, int, str]:
    """Return how many meters there are, how many of them have no reading, and what they are called.

    Of the first rows only those that are named there count, of a whole export all that are listed.
    """
    counted, without = len(trial.energy_kwh), int(np.isnan(trial.energy_kwh).all(axis=1).sum())
    every = trial.whole
    if meter_list is not None and (every or meter_list.circuit_of.keys().isdisjoint(names_in(trial.batches))):
        every, more = True, len(meter_list.circuit_of) - counted
        counted, without = counted + more, without + more
    what = ("listed " if meter_list is not None else "") + "meters" + ("" if every else " in the first rows")
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
    every = not trial.cut and ((len(after) > 1 and after <= before) or _go_on_as_before(trial))
    return before | after, trial.whole or every


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
            "have no file named after them"
            if trial.settings.meter_column is None
            else "are not in the first rows, which seem to name all meters"
        )
        yield f"{without:,} of {listed:,} listed meters {where}{worth(without, listed)}"


def worth(without: int, meters: int) -> str:
    """Return what a release is worth of which so many meters have no readings."""
    if 2 * without > meters:
        return " (a release would mostly hold noise around a public guess, and still be charged)"
    if without > (1 - USABLE) * meters:
        of_meters = f"{USABLE:.0%} of the meters have usable readings"
        return f" (a release would be off by more than it states, because it assumes that {of_meters})"
    return ""


def doubtful_ids(named: set[str], meter_list: MeterList | None) -> Iterator[str]:
    """Say how many ids of the export are others in other capitals, and how many of it or of the list went through a
    spreadsheet.
    """
    if again := len(named) - len(set(map(plain_name, named))):
        differ = "differ" if again > 1 else "differs"
        yield (
            f"{again:,} of {len(named):,} ids in the export {differ} from another only in capitals or blanks, and "
            "the ledger takes both for one meter: write each id in one way"
        )
    listed = set() if meter_list is None else meter_list.circuit_of.keys()
    for ids, what in ((named, "in the export"), (listed, "on the list")):
        if of := sum(SCIENTIFIC.fullmatch(meter) is not None for meter in ids):
            yield f"{of:,} of the ids {what} look like 1.23E+17, and each may stand for several meters: {AS_TEXT}"
    without_rows = listed - named
    if of := sum(not without_rows.isdisjoint(rounded(meter)) for meter in named - listed):
        yield f"{of:,} of the meters in the export seem to be on the list under a rounded id: {AS_TEXT}"


def written_otherwise(path, trial: Trial, named: set[str], meter_list: MeterList | None) -> Iterator[str]:
    """Say how many listed ids are in the export in capitals or with other zeros in front, blanks or signs, as
    spreadsheets make, and which other column has them.
    """
    if meter_list is None:
        return

    def bare(name: str) -> str:
        return re.sub(r"[\W_]", "", name).lstrip("0").lower()

    known = set(map(bare, named - meter_list.circuit_of.keys()))
    if alike := sum(bare(meter) in known for meter in meter_list.circuit_of):
        yield f"{alike:,} listed meters are in the export with different leading zeros, blanks, signs or capitals"
    for column in columns_beside(path, trial.settings):
        if not meter_list.circuit_of.keys().isdisjoint(map(plain_id, column.tokens)):
            yield f"ids from the list are in the column '{column.name}' (export.meter_column)"
