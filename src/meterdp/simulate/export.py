"""Write a synthetic meter export, one long CSV as a utility would send it.

Columns ``meter_id,circuit,interval_start,kwh``: local start of the interval without a zone, rows by meter and
time, resent rows at the end. Exports are synthetic, and say so: every meter id starts with ``SYN-``. The file is
the same for the same parameters and seed, byte for byte, and written in batches of meters, so memory is bounded.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from meterdp.core.job import progress
from meterdp.core.parquet import atomic_path
from meterdp.ingest.meter_list import write_meter_list
from meterdp.simulate.data_quality import Faults, Rows
from meterdp.simulate.fields import day, read_whole
from meterdp.simulate.fleet import Fleet, Period, override
from meterdp.simulate.load import LoadModel
from meterdp.simulate.parameters import SimulationParameters

COLUMNS = ("meter_id", "circuit", "interval_start", "kwh")

_METERS_PER_BATCH = 64
_GZIP_LEVEL = 1  # the fastest; higher levels cost more time than reading the larger file
_WRITE_OPTIONS = pa_csv.WriteOptions(include_header=False, batch_size=1 << 16, quoting_style="none")


def simulate_export(
    parameters: SimulationParameters,
    path,
    *,
    seed: int,
    households: int | None = None,
    circuits: int | None = None,
    days: int | None = None,
    start_date: date | str | None = None,
    meter_list_path=None,
) -> None:
    """Write a synthetic export to a CSV file, compressed if its name ends in ``.gz``; it appears when it is complete.

    Readings of household ``i`` depend on the seed, 0 or more, and on ``i``, not on the number of households.
    Households, circuits, days and the first local day override the parameters; proportions of household types are
    kept. ``meter_list_path`` is a CSV file for the public list of meters and their circuits. InputError if an
    override is not allowed.
    """
    fleet = Fleet.of(parameters, seed=seed, households=households, circuits=circuits)
    period = Period(
        parameters.start_date if start_date is None else day(start_date, override("start_date")),
        parameters.days if days is None else read_whole(days, override("days"), 1),
        parameters.time_zone,
        parameters.interval_minutes,
    )
    model = LoadModel(parameters, period, seed)
    faults = Faults(parameters.data_quality, fleet, period)
    to_text = _RowText(fleet, period, parameters.data_quality.missing_words.words)
    batches = [
        range(first, min(first + _METERS_PER_BATCH, fleet.count))
        for first in range(0, fleet.count, _METERS_PER_BATCH)
    ]
    if meter_list_path is not None:
        write_meter_list(fleet.meter_list, meter_list_path)
    resent: list[tuple[int, Rows]] = []
    with atomic_path(path) as temporary, _sink(temporary, compressed=Path(path).suffix == ".gz") as sink:
        sink.write((",".join(COLUMNS) + "\n").encode())
        for batch in progress(batches, f"simulating the synthetic export, batches of {_METERS_PER_BATCH} meters"):
            written = []
            for household in batch:
                kind = fleet.kind(household)
                energy_kwh = model.energy(kind, household)
                rows, again = faults.rows(household, energy_kwh, model.resolution_wh(kind, household))
                written.append((household, rows))
                if again.slot.size:
                    resent.append((household, again))
            pa_csv.write_csv(to_text.table(written), sink, _WRITE_OPTIONS)
        for first in range(0, len(resent), _METERS_PER_BATCH):
            pa_csv.write_csv(to_text.table(resent[first : first + _METERS_PER_BATCH]), sink, _WRITE_OPTIONS)


@contextmanager
def _sink(path: Path, *, compressed: bool) -> Iterator:
    """Open a binary file; a compressed one holds neither name nor time, so equal rows are equal bytes."""
    with open(path, "wb") as raw:
        if not compressed:
            yield raw
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=raw, mtime=0) as packed:
            yield packed


class _RowText:
    """Renders rows as the text columns of the export."""

    def __init__(self, fleet: Fleet, period: Period, words: tuple[str, ...]):
        self._fleet = fleet
        self._stamps = pa.array(period.stamps)
        self._words = pa.array(["", *words])

    def table(self, meters: list[tuple[int, Rows]]) -> pa.Table:
        """Return the rows of some meters, in order, as text columns."""
        lengths = [rows.slot.size for _, rows in meters]
        meter = pa.array(np.repeat(np.arange(len(meters)), lengths))
        slot = np.concatenate([rows.slot for _, rows in meters])
        energy_kwh = np.round(np.concatenate([rows.energy_kwh for _, rows in meters]), 3)
        word = np.concatenate([rows.word for _, rows in meters])
        text = pc.cast(pa.array(energy_kwh), pa.string())
        if word.any():
            text = pc.if_else(pa.array(word > 0), self._words.take(pa.array(word)), text)
        columns = [
            pa.array([self._fleet.meter_id(household) for household, _ in meters]).take(meter),
            pa.array([self._fleet.circuit_name(household) for household, _ in meters]).take(meter),
            self._stamps.take(pa.array(slot)),
            text,
        ]
        return pa.Table.from_arrays(columns, names=list(COLUMNS))
