"""What single steps write and say, in this process: no planted secret where it does not belong."""

import gzip
import hashlib

import numpy as np
import pyarrow.parquet as pq
import pytest

from meterdp.audit.forms import COUNT, DIGEST, METER, TEXT, Secret
from meterdp.audit.leaks import FOOTER, HOMES, scan
from meterdp.core.config import complete, load_schema
from meterdp.core.job import job
from meterdp.ingest.ingest import ingest
from meterdp.ingest.meter_list import MeterList, digest_of_meters, read_meter_list
from meterdp.ingest.settings import ExportSettings
from meterdp.privacy.ledger import Ledger
from meterdp.release.service import ReleaseService
from tests.conftest import ROOT
from tests.unit.groupforecast.made_up import records_of, town
from tests.unit.release.charged import release_forecasts, release_mixture
from tests.workflow.conftest import PLANTED, PLANTED_METERS, PLANTED_SECRETS, planted_readings, secrets_in

SECRETS = (
    *PLANTED_SECRETS,
    Secret("a bad value", TEXT, "twelvish"),
    Secret("a bad stamp", TEXT, "2025-13-45 99:99"),
    Secret("an unlisted meter", METER, "NMI-UNLISTED-13"),
)
CONFIG = complete(PLANTED, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))


def ingested(path, results, meter_list=None, **export):
    """What the rule ``ingest`` does, in a job."""
    private = results / "private"
    with job([path], [private / "logs/ingest.log"]):
        ingest(
            path,
            ExportSettings.from_config(CONFIG["export"] | export),
            meter_list=meter_list,
            readings_paths=[private / "readings/part-000.parquet"],
            meters_path=private / "meters.parquet",
            report_path=private / "ingest_report.parquet",
        )


def leaked(results, capsys, secrets=SECRETS):
    said = capsys.readouterr()
    return secrets_in(said.out + said.err, secrets) + scan(results, secrets, HOMES)


def test_ingestion_with_bad_rows_leaks_nothing(tmp_path, capsys):
    frame = planted_readings()
    frame.loc[500, "kwh"], frame.loc[900, "interval_start"] = "twelvish", "2025-13-45 99:99"
    frame.loc[1300, "meter_id"] = "NMI-UNLISTED-13"
    frame.to_csv(tmp_path / "export.csv", index=False)
    days = {"meters": "list.csv", "first_day": "2025-01-06", "last_day": "2025-01-22"}
    meter_list = MeterList(dict.fromkeys(PLANTED_METERS))
    ingested(tmp_path / "export.csv", tmp_path / "results", meter_list, **days)
    report = pq.read_table(tmp_path / "results/private/ingest_report.parquet").to_pylist()
    used = next(row["row_count"] for row in report if row["reason"] == "used")
    assert used == len(frame) - 3
    counted = (*SECRETS, Secret("the number of readings", COUNT, str(used)))
    assert leaked(tmp_path / "results", capsys, counted) == []
    # Without homes the same scan finds what is in the columns, so it is not blind, and nothing in a footer.
    open_eyes = scan(tmp_path / "results", counted)
    assert {"meter 0", "meter 11", "the reading", "the number of readings"} <= {one.secret for one in open_eyes}
    assert FOOTER not in {one.part for one in open_eyes}


DAMAGES = {
    "cut short": lambda text: gzip.compress(text)[:-2000],
    "another header": lambda text: text.replace(b"kwh", b"energy", 1),
    "not text": lambda text: text[:5000] + bytes(range(128, 256)) + text[5000:],
    "no such month": lambda text: text.replace(b"2025-01", b"2025-13"),
    "a bad value": lambda text: text.replace(b"7.318264519", b"twelvish", 1),
    "another unit in a value": lambda text: text.replace(b"7.318264519", b"7.318264519 Wh", 1),
    "two circuits of a meter": lambda text: text.replace(b"Gallows Lane 7 kV", b"another", 1),
    "quotes that do not match": lambda text: text.replace(b"7.318264519", b'"7.318264519', 1),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_export_that_is_refused_leaks_nothing(tmp_path, capsys, damage):
    path = tmp_path / ("export.csv.gz" if damage == "cut short" else "export.csv")
    path.write_bytes(DAMAGES[damage](planted_readings().to_csv(index=False).encode()))
    with pytest.raises(SystemExit):
        ingested(path, tmp_path / "results")
    assert "meterdp cannot go on" in (tmp_path / "results/private/logs/ingest.log").read_text()
    assert leaked(tmp_path / "results", capsys) == []


def test_a_list_that_is_refused_leaks_nothing(tmp_path, capsys):
    rows = [f"{meter},{number}\n" for number, meter in enumerate([*PLANTED_METERS, PLANTED_METERS[3]])]
    (tmp_path / "list.csv").write_text("meter_id,circuit\n" + "".join(rows))
    with pytest.raises(SystemExit), job([], [tmp_path / "results/private/logs/a.log"]):
        read_meter_list(tmp_path / "list.csv")
    assert "a second time" in (tmp_path / "results/private/logs/a.log").read_text()
    assert leaked(tmp_path / "results", capsys) == []


def test_no_digest_of_the_list_is_in_the_files_of_a_release(tmp_path):
    listed = "".join(f"{meter}\n" for meter in ("meter_id", *PLANTED_METERS)).encode()
    digests = {"the list": hashlib.sha256(listed).hexdigest(), "who is on it": digest_of_meters(listed)}
    secrets = [*PLANTED_SECRETS, *(Secret(name, DIGEST, digest) for name, digest in digests.items())]
    config = complete(
        {"export": {"time_zone": "America/Los_Angeles"}}, load_schema(ROOT / "workflow/schemas/config.schema.yaml")
    )
    config["export"] |= {"first_day": "2025-01-01", "last_day": "2025-01-28"}
    config["release"] |= {"ledger": str(tmp_path / "books/ledger.sqlite"), "synthetic_profiles": 20}
    config["release"]["allow"] = ["poor"]
    x = np.random.default_rng(2).normal(-1.0, 0.7, (80, config["profiles"]["hours"]))
    service = ReleaseService(config, listed, simulated=True)
    files = release_mixture(x, service)
    files = files | release_forecasts(records_of(town(80, 28)).x, None, service)[0]
    (tmp_path / "release").mkdir()
    for name, data in files.items():
        (tmp_path / "release" / name).write_bytes(data)
    # The name of the request is a digest of the list and of words that the manifest has.
    requests = sorted({e["request"] for e in Ledger(tmp_path / "books/ledger.sqlite").events() if "request" in e})
    names = [f"request {n}" for n in range(len(requests))]
    secrets += [Secret(name, DIGEST, request) for name, request in zip(names, requests, strict=True)]
    assert len(names) == 2 and scan(tmp_path / "release", secrets) == []
    assert {one.secret for one in scan(tmp_path / "books", secrets)} == {*digests, *names}
