"""Exports as utilities write them: the same half-hourly readings of a few British homes in many layouts."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from meterdp.ingest.inference.look import looked_at
from tests.unit.ingest.made_up import pack

ZONE = "Europe/London"
METERS = 4


def against(path, export: dict) -> list:
    """Return what speaks against settings of an export."""
    return looked_at(path, export).findings


def readings(minutes: int = 30, days: int = 28, start: str = "2025-03-10", meters: int = METERS) -> pd.DataFrame:
    """Return columns meter_id, utc, local (text) and kwh, over a change of clocks."""
    return _readings(minutes, days, start, meters).copy()


@cache
def _readings(minutes: int, days: int, start: str, meters: int) -> pd.DataFrame:
    generator = np.random.default_rng(days + minutes)
    begin = pd.Timestamp(start, tz=ZONE)
    stamps = pd.date_range(begin, begin + pd.DateOffset(days=days), freq=f"{minutes}min", inclusive="left")
    hour = stamps.hour.to_numpy()
    frames = []
    for number in range(meters):
        kw = 0.15 + 0.5 * np.exp(-(((hour - 19) / 3.0) ** 2)) * (hour > 5) + 0.35 * generator.gamma(1, 1, len(stamps))
        frames.append(
            pd.DataFrame(
                {
                    "meter_id": f"M{number:03d}",
                    "utc": stamps.tz_convert("UTC"),
                    "local": stamps.strftime("%Y-%m-%d %H:%M"),
                    "kwh": (kw * minutes / 60).round(3) + 0.001,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of a long CSV with default names."""
    return frame.rename(columns={"local": "interval_start"})[["meter_id", "interval_start", "kwh"]]


def stamped(frame: pd.DataFrame, time_format: str) -> pd.DataFrame:
    """Return a long CSV with stamps in another format."""
    return plain(frame).assign(interval_start=pd.to_datetime(frame["local"]).dt.strftime(time_format))


def _table(change: Callable[[pd.DataFrame], pd.DataFrame], **options) -> Callable:
    return lambda frame, path: change(frame).to_csv(path, index=False, **options)


def _csv(**options) -> Callable:
    return _table(plain, **options)


def _columns(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable:
    return _table(lambda frame: change(plain(frame)))


def _named(meter: str, encoding: str) -> Callable:
    """Columns in another language."""
    names = {"meter_id": meter, "kwh": f"{meter} kWh"}
    return _table(lambda frame: plain(frame).rename(columns=names), encoding=encoding)


def _stamps(time_format: str) -> Callable:
    return _table(lambda frame: stamped(frame, time_format))


def _at(stamps: Callable[[pd.DataFrame], pd.Series], name: str = "interval_start") -> Callable:
    """Other stamps, in a column of a name."""
    return _table(
        lambda frame: plain(frame).assign(interval_start=stamps(frame)).rename(columns={"interval_start": name})
    )


def _ends(frame, time_format: str, zone: str = ZONE) -> pd.Series:
    return (frame["utc"] + pd.Timedelta(minutes=30)).dt.tz_convert(zone).dt.strftime(time_format)


def _hours_to_24(frame, mark: str = " ") -> pd.Series:
    """Stamps are ends, and that of a day is 24:00 of its date."""
    date = frame["utc"].dt.tz_convert(ZONE).dt.strftime(f"%Y-%m-%d{mark}")
    return date + _ends(frame, "%H:%M").replace("00:00", "24:00")


def _thousands(frame) -> pd.DataFrame:
    watt_hours = (frame["kwh"] * 1000).map("{:,.0f}".format)
    return plain(frame).assign(kwh=watt_hours).rename(columns={"kwh": "usage (Wh)"})


def _under(text: str, **options) -> Callable:
    """Lines above the readings."""
    return lambda frame, path: path.write_text(text + plain(frame).to_csv(index=False, **options))


def _repeated_header(frame, path):
    header, *lines = plain(frame).to_csv(index=False).splitlines(keepends=True)
    path.write_text("".join((header if number % 999 == 0 else "") + line for number, line in enumerate(lines)))


def _homes(*, zipped: bool) -> Callable:
    def write(frame, path):
        homes = plain(frame).groupby("meter_id")
        files = {f"{meter}.csv": home[["interval_start", "kwh"]].to_csv(index=False) for meter, home in homes}
        pack(path, files, zipped=zipped)

    return write


def _months(frame, path):
    months = plain(frame).groupby(frame["local"].str[:7])
    pack(path, {f"readings-{month}.csv": rows.to_csv(index=False) for month, rows in months})


def _wide_meters(frame, path):
    plain(frame).pivot_table(index="interval_start", columns="meter_id", values="kwh").to_csv(path)


def _sheet(per_meter: int, *rows: str) -> Callable:
    """A column per meter and quantity, and rows of text above the readings that begin with these words."""

    def write(frame, path):
        table = plain(frame).pivot_table(index="interval_start", columns="meter_id", values="kwh")
        table = table.loc[:, np.repeat(table.columns, per_meter)]
        texts = [
            [row, *table.columns] if row == "Id" else [row, *[f"{row} 1.1.2020"] * table.shape[1]] for row in rows
        ]
        lines = "".join(";".join(text) + "\n" for text in texts)
        path.write_text(lines + table.to_csv(sep=";", decimal=",", header=False))

    return write


def _wide_days(columns: Callable[[pd.DataFrame], pd.Series]) -> Callable:
    def write(frame, path):
        table = frame.assign(date=frame["local"].str[:10], column=columns(frame))
        table.pivot_table(index=["meter_id", "date"], columns="column", values="kwh").to_csv(path)

    return write


def _passed(frame) -> pd.Series:
    """The number of the interval in its day."""
    return frame.groupby(["meter_id", frame["local"].str[:10]]).cumcount() + 1


def _hour(frame) -> pd.Series:
    """The hour at whose end by the clock an interval ends."""
    return frame["local"].str[11:13].astype(int) + 1


def _parquet(frame, path):
    frame[["meter_id", "utc", "kwh"]].rename(columns={"utc": "interval_start"}).to_parquet(path)


# Name of the file, how it is written, and settings that must be found.
READ: dict[str, tuple[str, Callable, dict]] = {
    "plain": ("e.csv", _csv(), {}),
    "gzip": ("e.csv.gz", _csv(), {}),
    "tab": ("e.tsv", _csv(sep="\t"), {"delimiter": "\t"}),
    "bar": ("e.txt", _csv(sep="|"), {"delimiter": "|"}),
    "decimal comma": ("e.csv", _csv(sep=";", decimal=","), {"delimiter": ";", "decimal": ","}),
    "quoted": ("e.csv", _csv(quoting=1), {}),
    "byte-order mark": ("e.csv", _csv(encoding="utf-8-sig"), {}),
    "thousands, in Wh": (
        "e.csv",
        _table(_thousands),
        {"thousands": ",", "unit": "Wh", "energy_column": "usage (Wh)"},
    ),
    "seconds": ("e.csv", _stamps("%Y-%m-%d %H:%M:%S"), {"time_format": "%Y-%m-%d %H:%M:%S"}),
    "day first": ("e.csv", _stamps("%d/%m/%Y %H:%M"), {"time_format": "%d/%m/%Y %H:%M"}),
    "month first": ("e.csv", _stamps("%m/%d/%Y %H:%M"), {"time_format": "%m/%d/%Y %H:%M"}),
    "month first, noon": ("e.csv", _stamps("%m/%d/%Y %I:%M %p"), {"time_format": "%m/%d/%Y %I:%M %p"}),
    "points": ("e.csv", _stamps("%d.%m.%Y %H:%M"), {"time_format": "%d.%m.%Y %H:%M"}),
    "SAS": ("e.csv", _stamps("%d%b%Y:%H:%M:%S"), {"time_format": "%d%b%Y:%H:%M:%S"}),
    "digits": ("e.csv", _stamps("%Y%m%d%H%M"), {"time_format": "%Y%m%d%H%M"}),
    "serial numbers": (
        "e.csv",
        _at(lambda f: (pd.to_datetime(f["local"]) - pd.Timestamp("1899-12-30")) / pd.Timedelta(days=1)),
        {"time_format": "spreadsheet"},
    ),
    **{
        f"Unix time, {unit}": (
            "e.csv",
            _at(lambda f, unit=unit: (f["utc"] - pd.Timestamp(0, tz="UTC")) // pd.Timedelta(1, unit)),
            {"time_format": f"unix_{unit}"},
        )
        for unit in ("s", "ms")
    },
    "24:00": ("e.csv", _at(_hours_to_24, "ending"), {"time_column": "ending", "stamp": "end"}),
    "UTC": ("e.csv", _at(lambda f: f["utc"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")), {"time_format": "ISO8601"}),
    "ends": (
        "e.csv",
        _at(lambda f: _ends(f, "%Y-%m-%d %H:%M"), "interval_end"),
        {"time_column": "interval_end", "stamp": "end"},
    ),
    "date and time apart": (
        "e.csv",
        _table(lambda f: f.assign(Date=f.local.str[:10], Time=f.local.str[11:])[["meter_id", "Date", "Time", "kwh"]]),
        {"time_column": "Date", "time_of_day_column": "Time"},
    ),
    "other names": (
        "e.csv",
        _columns(lambda t: t.set_axis(["Customer No", "Read date/time", "Consumption kWh"], axis=1)),
        {"meter_column": "Customer No", "time_column": "Read date/time", "energy_column": "Consumption kWh"},
    ),
    "columns in another order": ("e.csv", _columns(lambda t: t[["kwh", "interval_start", "meter_id"]]), {}),
    "swapped": (
        "e.csv",
        _columns(lambda t: t.set_axis(["kwh", "interval_start", "meter_id"], axis=1)),
        {"meter_column": "kwh", "energy_column": "meter_id"},
    ),
    "more columns": (
        "e.csv",
        _columns(lambda t: t.assign(quality="A", temperature=12.5, kwh_export=0.0, feeder="F1")),
        {"circuit_column": "feeder"},
    ),
    "unit column": ("e.csv", _columns(lambda t: t.assign(unit="kWh")), {"unit_column": "unit"}),
    "kWh that are Wh": ("e.csv", _columns(lambda t: t.assign(kwh=t.kwh * 1000)), {"unit": "Wh"}),
    "kW": ("e.csv", _columns(lambda t: t.assign(kw=t.kwh * 2).drop(columns="kwh")), {"unit": "kW"}),
    "numbers for meters": ("e.csv", _columns(lambda t: t.assign(meter_id="00" + t.meter_id.str[1:])), {}),
    "title and units": (
        "e.csv",
        _under(
            "Interval data report,,\nfor the distribution planner,,\nmeter_id,interval_start,kwh\n,,kWh\n",
            header=False,
        ),
        {"skip_rows": 2, "skip_rows_after_header": 1},
    ),
    "repeated header": ("e.csv", _repeated_header, {}),
    "a home per file": ("homes", _homes(zipped=False), {"meter_column": None}),
    "a home per file in a zip": ("homes.zip", _homes(zipped=True), {"meter_column": None}),
    "a month per file": ("months", _months, {}),
    "a column per meter": ("e.csv", _wide_meters, {"format": "wide_csv", "wide_layout": "meters"}),
    "a day per row": (
        "e.csv",
        _wide_days(lambda f: f["local"].str[11:]),
        {"format": "wide_csv", "wide_layout": "days", "date_column": "date"},
    ),
    "numbered rows": (
        "e.csv",
        _table(lambda f: plain(f).assign(interval_start=f["local"].str[:10], hora=_passed(f))),
        {"time_of_day_column": "hora", "time_format": "%Y-%m-%d"},
    ),
    "numbered rows in Spanish": (
        "e.csv",
        _table(
            lambda f: pd.DataFrame(
                {
                    "CUPS": f["meter_id"],
                    "Fecha": f["utc"].dt.tz_convert(ZONE).dt.strftime("%d/%m/%Y"),
                    "Hora": _passed(f).map("{:02d}".format),
                    "Consumo_kWh": f["kwh"].map("{:.3f}".format).str.replace(".", ",", regex=False),
                    "Metodo_obtencion": "R",
                }
            ),
            sep=";",
        ),
        {"time_of_day_column": "Hora", "time_format": "%d/%m/%Y", "meter_column": "CUPS", "decimal": ","},
    ),
    "hours of the clock": (
        "e.csv",
        _table(lambda f: plain(f).assign(interval_start=f["local"].str[:10], hour=_hour(f))),
        {"time_of_day_column": "hour", "time_format": "%Y-%m-%d %H", "stamp": "end", "interval_minutes": 60},
    ),
    # The device of a point of supply was replaced; its id is to stay text in a spreadsheet.
    "Belgian": (
        "e.csv",
        _table(
            lambda f: pd.DataFrame(
                {
                    "Van (datum)": f["local"].str[8:10] + "-" + f["local"].str[5:7] + "-" + f["local"].str[:4],
                    "Van (tijdstip)": f["local"].str[11:] + ":00",
                    "EAN-code": '="' + f["meter_id"] + '"',
                    "Meter": "1SAG" + f["meter_id"] + np.where(f["local"] < "2025-03-20", "1", "2"),
                    "Register": np.where(f["local"].str[11:13].between("07", "21"), "Afname Dag", "Afname Nacht"),
                    "Volume": f["kwh"].map("{:.3f}".format).str.replace(".", ",", regex=False),
                    "Eenheid": "kWh",
                }
            ),
            sep=";",
            quoting=csv.QUOTE_NONE,
        ),
        {"meter_column": "EAN-code", "energy_column": "Volume", "decimal": ",", "time_column": "Van (datum)"},
    ),
    "settlement periods": ("e.csv", _wide_days(_passed), {"format": "wide_csv", "wide_columns": "numbers"}),
    "titles as wide as the table": (
        "e.csv",
        _under("Grid operator,,\nMeters:,six,\nUnit:,kWh,\n\n"),
        {"skip_rows": 4},
    ),
    # Some stamps have a second row with a word, and the first of all rows has one.
    "words for missing": ("e.csv", _columns(lambda t: pd.concat([t.iloc[::100].assign(kwh="n/a"), t])), {}),
    "standard time": ("e.csv", _at(lambda f: f["utc"].dt.strftime("%Y-%m-%d %H:%M")), {"stamp_time_zone": "UTC"}),
    "ends in UTC": ("e.csv", _at(lambda f: _ends(f, "%Y-%m-%dT%H:%M:%SZ", "UTC"), "horodate"), {"stamp": "end"}),
    # So many meters that the first rows do not tell day and month apart.
    "sorted by time": (
        "e.csv",
        _table(lambda f: stamped(f.sort_values(["utc", "meter_id"]), "%m/%d/%Y %H:%M")),
        {"time_format": "%m/%d/%Y %H:%M"},
    ),
    "a flag that looks like a unit": ("e.csv", _columns(lambda t: t.assign(status="W")), {"unit_column": None}),
    "rows that are numbered": (
        "e.csv",
        _columns(lambda t: t.rename(columns={"meter_id": "sensor"}).assign(id=range(1, len(t) + 1))),
        {"meter_column": "sensor"},
    ),
    "a date of processing": ("e.csv", _columns(lambda t: t.assign(revision_date="2025-05-01 06:10")), {}),
    "received and delivered": (
        "e.csv",
        _columns(lambda t: t.assign(energy_received=0.1).rename(columns={"kwh": "energy_delivered"})),
        {"energy_column": "energy_delivered"},
    ),
    "register beside consumption": (
        "e.csv",
        _columns(
            lambda t: t.assign(reading=t.groupby("meter_id")["kwh"].cumsum() + 4000, use=t.kwh).drop(columns="kwh")
        ),
        {"energy_column": "use"},
    ),
    "UTF-16": ("e.csv", _csv(encoding="utf-16"), {"encoding": "utf-16"}),
    "western Windows": ("e.csv", _named("Zähler", "windows-1252"), {"encoding": "windows-1252"}),
    "Polish Windows": (
        "e.csv",
        _named("Numer urządzenia (miejscowość)", "windows-1250"),
        {"encoding": "windows-1250"},
    ),
    "Bulgarian Windows": ("e.csv", _named("електромер час", "windows-1251"), {"encoding": "windows-1251"}),
    "Japanese Windows": ("e.csv", _named("供給地点特定番号", "cp932"), {"encoding": "cp932"}),
    "Parquet": ("e.parquet", _parquet, {"format": "parquet"}),
    "Parquet called CSV": ("e.csv", _parquet, {"format": "parquet"}),
}


def _write(text: bytes) -> Callable:
    return lambda frame, path: Path(path).write_bytes(text)


def _workbook(frame, path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")


def _sums(letters: int) -> Callable:
    return _table(lambda f: f.groupby(["meter_id", f["local"].str[:letters]])["kwh"].sum().reset_index())


# Name of the file, how it is written, and what it is named for.
REFUSED: dict[str, tuple[str, Callable, str]] = {
    "empty": ("e.csv", _write(b""), "holds no readings"),
    "header alone": ("e.csv", _write(b"meter_id,interval_start,kwh\n"), "holds no row under its header"),
    "one field": ("e.csv", _write(b"a\nb\nc\n"), "has rows of one field only"),
    "no header": ("e.csv", _csv(header=False), "has no header"),
    "workbook": ("e.xlsx", _workbook, "is a spreadsheet"),
    "workbook called CSV": ("e.csv", _workbook, "is a spreadsheet"),
    "old workbook": ("e.csv", _write(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)), "is an Excel workbook"),
    "PDF": ("e.csv", _write(b"%PDF-1.7\n"), "is a PDF"),
    "web page": ("e.csv", _write(b"<!DOCTYPE html><html></html>"), "is a web page"),
    "other XML": ("e.xml", _write(b"<?xml version='1.0'?><a/>"), "is XML, but not of Green Button"),
    "JSON": ("e.json", _write(b'{"meter": 1}'), "is JSON"),
    "NEM13": ("e.csv", _write(b"100,NEM13,202001010000,A,B\n250,1,2\n"), "is NEM13"),
    "daily sums": ("e.csv", _sums(10), "daily or monthly sums, not an interval export"),
    "monthly sums": ("e.csv", _sums(7), "daily or monthly sums, not an interval export"),
    "register": (
        "e.csv",
        _columns(lambda t: t.assign(kwh=t.groupby("meter_id")["kwh"].cumsum() + 5000)),
        "holds values that only rise",
    ),
    "registers": (
        "e.csv",
        _columns(lambda t: pd.concat([t.assign(register=n, kwh=t["kwh"] * n) for n in (1, 2)])),
        "has several rows per meter and interval",
    ),
    "24:00 behind a T": ("e.csv", _at(lambda f: _hours_to_24(f, "T"), "ending"), "writes the end of a day as 24:00"),
    "start and end in one": (
        "e.csv",
        _at(lambda f: f["local"] + " to " + f["local"]),
        "the start and the end of an interval in one column",
    ),
    "old Mac": ("e.csv", _csv(lineterminator="\r"), "as on old Macs"),
    "a last line of text": (
        "e.csv",
        lambda f, p: p.write_text(plain(f).to_csv(index=False) + "end of file\n"),
        "has more or fewer fields than the header",
    ),
    "zeros": ("e.csv", _columns(lambda t: t.assign(kwh=0)), "hardly anything but zeros"),
    "EIEP": ("e.csv", _write(b"HDR,ICPHH,10,AAAA\nDET,1,2,3\n"), "is a New Zealand EIEP file"),
    "several columns of a meter": ("e.csv", _sheet(3, "Id"), "row 1: names 4 meters in more than one column"),
    "several columns of a meter and what they are": (
        *("e.csv", _sheet(3, "Name", "Id", "From", "Metercode")),
        "row 2: names 4 meters in more than one column; keep one column per meter, and where rows below the header",
    ),
    "what the only column of a meter is": (
        *("e.csv", _sheet(1, "Id", "Name", "From", "Metercode")),
        "rows 1 to 4 hold no readings; delete all of them except the one that names the columns, or point to it",
    ),
    "no stamps": ("e.csv", lambda f, p: f[["meter_id", "kwh"]].to_csv(p), "has no column of time stamps"),
}
