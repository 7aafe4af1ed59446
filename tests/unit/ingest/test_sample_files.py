"""Every public NEM12 and Green Button sample file is read or refused as it should be: a table of verdicts.

``sample_verdicts.csv`` says of each file what becomes of it: the readings in it (counted here by splitting text), its
canonical readings, meters and kWh, or how the sentence of the refusal starts. With bad rows left out, readings used
and quarantined make those in the file.
"""

import csv
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.ingest.readers import green_button, nem12
from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest.made_up import read_all

with Path(__file__).with_name("sample_verdicts.csv").open(newline="") as _file:
    TABLE = {row.pop("file"): row for row in csv.DictReader(_file)}
READERS = {"nem12_samples": nem12, "greenbutton_samples": green_button}
QUALITY = re.compile(r"[AEFNSV](?:\d\d)?")
# Interval length of the canonical readings, where it is not half an hour or an hour.
MINUTES = {"BulkSCEIntervalBlock.xml": 15, "BulkSCEUsageSummaryAndIntervalBlock.xml": 15}


def unpacked(path: Path) -> bytes:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return archive.read(archive.infolist()[-1])
    return path.read_bytes()


def options(name: str, **other) -> ExportSettings:
    folder, last = name.split("/")[0], name.split("/")[-1]
    if folder == "nem12_samples":
        return ExportSettings(format="nem12", time_zone="Australia/Brisbane", interval_minutes=30, **other)
    minutes = MINUTES.get(last, 60)
    return ExportSettings(format="green_button", time_zone="America/New_York", interval_minutes=minutes, **other)


def naive_nem12(text: str) -> tuple[int, float]:
    """Readings of a NEM12 file and the kWh of its E registers, by splitting lines and adding up."""
    count, kwh, unit, suffix = 0, 0.0, "", ""
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if fields[0] == "200":
            suffix, unit = fields[4], fields[7].lower()
        elif fields[0] == "300":
            end = next((i for i, field in enumerate(fields) if i > 1 and QUALITY.fullmatch(field)), len(fields))
            count += max(1, end - 2)
            if suffix[0] == "E":
                kwh += sum(float(v) for v in fields[2:end] if v) / (1000 if unit == "wh" else 1)
        elif any(fields) and fields[0] not in ("100", "400", "500", "900"):
            count += 1
    return count, kwh


def naive_green_button(text: str) -> tuple[int, float]:
    """Readings of a feed, and the kWh if all are watt-hours by the power of ten of its first reading type."""
    readings = re.findall(r"<(?:\w+:)?IntervalReading\b.*?</(?:\w+:)?IntervalReading>", text, re.DOTALL)
    power = re.search(r"<(?:\w+:)?ReadingType\b.*?powerOfTenMultiplier>(-?\d+)<", text, re.DOTALL)
    values = [float(re.search(r"<(?:\w+:)?value>(.*?)<", reading)[1]) for reading in readings]
    return len(readings), sum(values) * 10.0 ** (int(power[1]) - 3 if power else -3)


NAIVE = {"nem12_samples": naive_nem12, "greenbutton_samples": naive_green_button}


def test_the_table_names_every_file(shared_data):
    kinds = ("*.csv", "*.zip", "*.ZIP", "*.xml")
    files = [p for folder in READERS for kind in kinds for p in (shared_data / folder).rglob(kind)]
    assert sorted(str(p.relative_to(shared_data)) for p in files) == sorted(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_a_file_is_read_or_refused_as_it_should_be(shared_data, name):
    path, verdict, reader = shared_data / name, TABLE[name], READERS[name.split("/")[0]]
    text = unpacked(path).decode()
    count, kwh = NAIVE[name.split("/")[0]](text)
    try:
        strict = read_all(reader, path, options(name))
    except InputError as error:
        assert verdict["sentence"] and verdict["sentence"] in str(error), str(error)
        if re.search("NEM13|no header|holds no readings", str(error)):
            return  # there is nothing a tolerant run could count
    else:
        assert not verdict["sentence"]
        assert (sum(strict.became.values()), len(strict.kwh), len(strict.meters)) == (
            count,
            int(verdict["used"]),
            int(verdict["meters"]),
        )
        np.testing.assert_allclose(sum(strict.kwh.values()), float(verdict["kwh"]), atol=5e-4)
        # What is not in the sum is missing by a null quality; a repeat would count twice.
        left_out = {"value_missing", "sum_incomplete", "superseded_by_later_row", "duplicate_identical"}
        if not left_out & set(strict.became):
            np.testing.assert_allclose(sum(strict.kwh.values()), kwh, rtol=1e-9)
    tolerant = read_all(reader, path, options(name, bad_rows="missing"))
    assert sum(tolerant.became.values()) == count == int(verdict["readings"])


def test_a_real_export_in_four_files_is_read_once_they_are_one_feed(shared_data, tmp_path):
    """The hours of PG&E in overlapping blocks of equal values, once reading type and meter reading stand beside them.

    Its reading types all say kWh, which the values cannot be: an error of the utility, left for the quality rules.
    """
    folder = shared_data / "greenbutton_samples" / "verdigris"
    blocks = (folder / "PGEIntervalBlock.xml").read_text()
    link = re.search(r'href="([^"]*/MeterReading/[^/"]*)/IntervalBlock"', blocks)[1]
    types = (folder / "PGEReadingType.xml").read_text()
    entries = re.findall(r"<ns1:entry>.*?</ns1:entry>", types, re.DOTALL)
    words = ("intervalLength>3600<", "uom>72<", "powerOfTenMultiplier>3<", "flowDirection>1<")
    chosen = next(e for e in entries if all(word in e for word in words))
    type_link = re.search(r'href="([^"]*)" rel="self"', chosen)[1]
    meter_reading = (
        f'<ns1:entry><ns1:link rel="self" href="{link}"/><ns1:link rel="related" href="{type_link}"/>'
        '<ns1:content><ns0:MeterReading xmlns:ns0="http://naesb.org/espi"/></ns1:content></ns1:entry>'
    )
    path = tmp_path / "feed.xml"
    path.write_text(blocks.replace("</ns1:feed>", chosen + meter_reading + "</ns1:feed>"))
    result = read_all(green_button, path, options("greenbutton_samples/x"))
    assert result.became == {"used": 2556 - 276, "duplicate_identical": 276}
    pairs = re.findall(r"<ns0:start>(\d+)</ns0:start>\s*</ns0:timePeriod>\s*<ns0:value>(\d+)<", blocks)
    assert {start: kwh for (_, start), kwh in result.kwh.items()} == pytest.approx(
        {int(start) * 10**6: int(value) for start, value in pairs}
    )


def test_blocks_of_days_and_of_months_give_the_same_hours(shared_data):
    folder = shared_data / "greenbutton_samples" / "greenbutton_objects"
    tables = []
    for name in ("Daily_Jan_1_2011_to_Jan_1_2012_RetailCustomer_4", "Jan_1_2011_to_Jan_1_2012_RetailCustomer_5"):
        result = read_all(green_button, folder / f"Coastal_Multi_Family_{name}.xml", options("greenbutton_samples/x"))
        tables.append({start: kwh for (_, start), kwh in result.kwh.items()})
    assert tables[0] == tables[1] and len(tables[0]) == 8760
