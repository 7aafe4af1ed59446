"""Exports as utilities write them: the same half-hourly readings of a few British homes in many layouts."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from meterdp.ingest.inference.examine import looked_at

ZONE = "Europe/London"
METERS = 4


def against(path, export: dict) -> list:
    """Return what speaks against settings of an export."""
    return looked_at(path, export)[0]


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


def _csv(**options) -> Callable:
    return lambda frame, path: plain(frame).to_csv(path, index=False, **options)


def _stamps(time_format: str) -> Callable:
    return lambda frame, path: stamped(frame, time_format).to_csv(path, index=False)


def _columns(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable:
    return lambda frame, path: change(plain(frame)).to_csv(path, index=False)


def _decimal_comma(frame, path):
    plain(frame).to_csv(path, index=False, sep=";", decimal=",")


def _thousands(frame, path):
    watt_hours = (frame["kwh"] * 1000).map("{:,.0f}".format)
    plain(frame).assign(kwh=watt_hours).rename(columns={"kwh": "usage (Wh)"}).to_csv(path, index=False)


def _title(frame, path):
    with open(path, "w") as file:
        file.write("Interval data report,,\nfor the distribution planner,,\nmeter_id,interval_start,kwh\n,,kWh\n")
        plain(frame).to_csv(file, index=False, header=False)


def _repeated_header(frame, path):
    lines = plain(frame).to_csv(index=False).splitlines()
    with open(path, "w") as file:
        for number, line in enumerate(lines[1:]):
            file.write((f"{lines[0]}\n" if number % 999 == 0 else "") + f"{line}\n")


def _serial(frame, path):
    serial = (pd.to_datetime(frame["local"]) - pd.Timestamp("1899-12-30")) / pd.Timedelta(days=1)
    plain(frame).assign(interval_start=serial).to_csv(path, index=False)


def _folder(frame, path):
    Path(path).mkdir()
    for meter, home in plain(frame).groupby("meter_id"):
        home[["interval_start", "kwh"]].to_csv(Path(path) / f"{meter}.csv", index=False)


def _zip(frame, path):
    with zipfile.ZipFile(path, "w") as archive:
        for meter, home in plain(frame).groupby("meter_id"):
            archive.writestr(f"{meter}.csv", home[["interval_start", "kwh"]].to_csv(index=False))


def _months(frame, path):
    Path(path).mkdir()
    for month, rows in plain(frame).groupby(frame["local"].str[:7]):
        rows.to_csv(Path(path) / f"readings-{month}.csv", index=False)


def _gzip(frame, path):
    with gzip.open(path, "wt") as file:
        plain(frame).to_csv(file, index=False)


def _wide_meters(frame, path):
    plain(frame).pivot_table(index="interval_start", columns="meter_id", values="kwh").to_csv(path)


def _wide_days(frame, path, numbers: bool = False):
    day, time = frame["local"].str[:10], frame["local"].str[11:]
    table = frame.assign(date=day, time=time).pivot_table(index=["meter_id", "date"], columns="time", values="kwh")
    if numbers:
        passed = frame.groupby(["meter_id", day]).cumcount() + 1
        table = frame.assign(date=day, number=passed).pivot_table(
            index=["meter_id", "date"], columns="number", values="kwh"
        )
    table.to_csv(path)


def _parquet(frame, path):
    frame[["meter_id", "utc", "kwh"]].rename(columns={"utc": "interval_start"}).to_parquet(path)


def _utc(frame, path):
    utc = frame["utc"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    plain(frame).assign(interval_start=utc).to_csv(path, index=False)


def _ends(frame, path):
    end = (frame["utc"] + pd.Timedelta(minutes=30)).dt.tz_convert(ZONE).dt.strftime("%Y-%m-%d %H:%M")
    frame.assign(interval_end=end)[["meter_id", "interval_end", "kwh"]].to_csv(path, index=False)


def _two_columns(frame, path):
    local = frame["local"]
    frame.assign(Date=local.str[:10], Time=local.str[11:])[["meter_id", "Date", "Time", "kwh"]].to_csv(
        path, index=False
    )


def _mark(frame, path):
    plain(frame).to_csv(path, index=False, encoding="utf-8-sig")


def _titles_as_wide(frame, path):
    with open(path, "w") as file:
        file.write("Grid operator,,\nMeters:,six,\nUnit:,kWh,\n\n")
        plain(frame).to_csv(file, index=False)


def _missing_words(frame, path):
    """Some stamps have a second row with a word, and the first of all rows has one."""
    words = plain(frame).iloc[::100].assign(kwh="n/a")
    pd.concat([words, plain(frame)]).to_csv(path, index=False)


def _standard_time(frame, path):
    plain(frame).assign(interval_start=frame["utc"].dt.strftime("%Y-%m-%d %H:%M")).to_csv(path, index=False)


def _utc_ends(frame, path):
    utc = (frame["utc"] + pd.Timedelta(minutes=30)).dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    plain(frame).assign(interval_start=utc).rename(columns={"interval_start": "horodate"}).to_csv(path, index=False)


def _by_time(frame, path):
    """So many meters that the first rows do not tell day and month apart."""
    stamped(frame.sort_values(["utc", "meter_id"]), "%m/%d/%Y %H:%M").to_csv(path, index=False)


def _unix(per_second: int) -> Callable:
    def write(frame, path):
        counts = (frame["utc"] - pd.Timestamp(0, tz="UTC")) // pd.Timedelta(seconds=1) * per_second
        plain(frame).assign(interval_start=counts).to_csv(path, index=False)

    return write


def _hours_to_24(mark: str = " ") -> Callable:
    """Stamps are ends, and that of a day is 24:00 of its date."""

    def write(frame, path):
        end = (frame["utc"] + pd.Timedelta(minutes=30)).dt.tz_convert(ZONE)
        date = (end - pd.Timedelta(minutes=30)).dt.strftime(f"%Y-%m-%d{mark}")
        texts = date + end.dt.strftime("%H:%M").replace("00:00", "24:00")
        plain(frame).assign(interval_start=texts).rename(columns={"interval_start": "ending"}).to_csv(
            path, index=False
        )

    return write


# Name of the file, how it is written, and settings that must be found.
READ: dict[str, tuple[str, Callable, dict]] = {
    "plain": ("e.csv", _csv(), {}),
    "gzip": ("e.csv.gz", _gzip, {}),
    "tab": ("e.tsv", _csv(sep="\t"), {"delimiter": "\t"}),
    "bar": ("e.txt", _csv(sep="|"), {"delimiter": "|"}),
    "decimal comma": ("e.csv", _decimal_comma, {"delimiter": ";", "decimal": ","}),
    "quoted": ("e.csv", _csv(quoting=1), {}),
    "byte-order mark": ("e.csv", _mark, {}),
    "thousands, in Wh": ("e.csv", _thousands, {"thousands": ",", "unit": "Wh", "energy_column": "usage (Wh)"}),
    "seconds": ("e.csv", _stamps("%Y-%m-%d %H:%M:%S"), {"time_format": "%Y-%m-%d %H:%M:%S"}),
    "day first": ("e.csv", _stamps("%d/%m/%Y %H:%M"), {"time_format": "%d/%m/%Y %H:%M"}),
    "month first": ("e.csv", _stamps("%m/%d/%Y %H:%M"), {"time_format": "%m/%d/%Y %H:%M"}),
    "month first, noon": ("e.csv", _stamps("%m/%d/%Y %I:%M %p"), {"time_format": "%m/%d/%Y %I:%M %p"}),
    "points": ("e.csv", _stamps("%d.%m.%Y %H:%M"), {"time_format": "%d.%m.%Y %H:%M"}),
    "SAS": ("e.csv", _stamps("%d%b%Y:%H:%M:%S"), {"time_format": "%d%b%Y:%H:%M:%S"}),
    "digits": ("e.csv", _stamps("%Y%m%d%H%M"), {"time_format": "%Y%m%d%H%M"}),
    "serial numbers": ("e.csv", _serial, {"time_format": "spreadsheet"}),
    "Unix time": ("e.csv", _unix(1), {"time_format": "unix_s"}),
    "Unix time, milliseconds": ("e.csv", _unix(1000), {"time_format": "unix_ms"}),
    "24:00": ("e.csv", _hours_to_24(), {"time_column": "ending", "stamp": "end"}),
    "UTC": ("e.csv", _utc, {"time_format": "ISO8601"}),
    "ends": ("e.csv", _ends, {"time_column": "interval_end", "stamp": "end"}),
    "date and time apart": ("e.csv", _two_columns, {"time_column": "Date", "time_of_day_column": "Time"}),
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
    "title and units": ("e.csv", _title, {"skip_rows": 2, "skip_rows_after_header": 1}),
    "repeated header": ("e.csv", _repeated_header, {}),
    "a home per file": ("homes", _folder, {"meter_column": None}),
    "a home per file in a zip": ("homes.zip", _zip, {"meter_column": None}),
    "a month per file": ("months", _months, {}),
    "a column per meter": ("e.csv", _wide_meters, {"format": "wide_csv", "wide_layout": "meters"}),
    "a day per row": ("e.csv", _wide_days, {"format": "wide_csv", "wide_layout": "days", "date_column": "date"}),
    "settlement periods": (
        "e.csv",
        lambda frame, path: _wide_days(frame, path, numbers=True),
        {"format": "wide_csv", "wide_columns": "numbers"},
    ),
    "titles as wide as the table": ("e.csv", _titles_as_wide, {"skip_rows": 4}),
    "words for missing": ("e.csv", _missing_words, {}),
    "standard time": ("e.csv", _standard_time, {"stamp_time_zone": "UTC"}),
    "ends in UTC": ("e.csv", _utc_ends, {"stamp": "end"}),
    "sorted by time": ("e.csv", _by_time, {"time_format": "%m/%d/%Y %H:%M"}),
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
    "Parquet": ("e.parquet", _parquet, {"format": "parquet"}),
    "Parquet called CSV": ("e.csv", _parquet, {"format": "parquet"}),
}


def _write(text: bytes) -> Callable:
    return lambda frame, path: Path(path).write_bytes(text)


def _workbook(frame, path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")


def _register(frame, path):
    plain(frame).assign(kwh=frame.groupby("meter_id")["kwh"].cumsum() + 5000).to_csv(path, index=False)


def _sums(letters: int) -> Callable:
    def write(frame, path):
        part = frame["local"].str[:letters]
        frame.groupby(["meter_id", part])["kwh"].sum().reset_index().to_csv(path, index=False)

    return write


def _registers(frame, path):
    parts = [plain(frame).assign(register=n, kwh=frame["kwh"] * n) for n in (1, 2)]
    pd.concat(parts).to_csv(path, index=False)


def _numbered_rows(frame, path):
    day = frame["local"].str[:10]
    plain(frame).assign(interval_start=day, hora=frame.groupby(["meter_id", day]).cumcount() + 1).to_csv(
        path, index=False
    )


def _ranges(frame, path):
    texts = frame["local"] + " to " + frame["local"]
    plain(frame).assign(interval_start=texts).to_csv(path, index=False)


def _total(frame, path):
    path.write_text(plain(frame).to_csv(index=False) + "end of file\n")


# Name of the file, how it is written, and what it is named for.
REFUSED: dict[str, tuple[str, Callable, str]] = {
    "empty": ("e.csv", _write(b""), "holds no readings"),
    "header alone": ("e.csv", _write(b"meter_id,interval_start,kwh\n"), "holds no row under its header"),
    "one field": ("e.csv", _write(b"a\nb\nc\n"), "has rows of one field only"),
    "no header": ("e.csv", lambda f, p: plain(f).to_csv(p, index=False, header=False), "has no header"),
    "workbook": ("e.xlsx", _workbook, "is a spreadsheet"),
    "workbook called CSV": ("e.csv", _workbook, "is a spreadsheet"),
    "old workbook": ("e.csv", _write(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)), "is an Excel workbook"),
    "UTF-16": ("e.csv", lambda f, p: plain(f).to_csv(p, index=False, encoding="utf-16"), "is UTF-16 text"),
    "Latin-1": ("e.csv", lambda f, p: Path(p).write_text("Zähler,zeit,kwh\nä,1,2\n", "latin-1"), "is not UTF-8 text"),
    "PDF": ("e.csv", _write(b"%PDF-1.7\n"), "is a PDF"),
    "web page": ("e.csv", _write(b"<!DOCTYPE html><html></html>"), "is a web page"),
    "other XML": ("e.xml", _write(b"<?xml version='1.0'?><a/>"), "is XML, but not of Green Button"),
    "JSON": ("e.json", _write(b'{"meter": 1}'), "is JSON"),
    "NEM13": ("e.csv", _write(b"100,NEM13,202001010000,A,B\n250,1,2\n"), "is NEM13"),
    "daily sums": ("e.csv", _sums(10), "daily or monthly sums, not an interval export"),
    "monthly sums": ("e.csv", _sums(7), "daily or monthly sums, not an interval export"),
    "register": ("e.csv", _register, "holds values that only rise"),
    "registers": ("e.csv", _registers, "has several rows per meter and interval"),
    "24:00 behind a T": ("e.csv", _hours_to_24("T"), "writes the end of a day as 24:00"),
    "numbered intervals": ("e.csv", _numbered_rows, "the number of the interval in each row"),
    "start and end in one": ("e.csv", _ranges, "the start and the end of an interval in one column"),
    "old Mac": ("e.csv", _csv(lineterminator="\r"), "as on old Macs"),
    "a last line of text": ("e.csv", _total, "has more or fewer fields than the header"),
    "zeros": ("e.csv", _columns(lambda t: t.assign(kwh=0)), "hardly anything but zeros"),
    "EIEP": ("e.csv", _write(b"HDR,ICPHH,10,AAAA\nDET,1,2,3\n"), "is a New Zealand EIEP file"),
    "no stamps": ("e.csv", lambda f, p: f[["meter_id", "kwh"]].to_csv(p), "has no column of time stamps"),
}
