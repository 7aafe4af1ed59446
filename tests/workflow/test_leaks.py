"""Secrets planted in an export are where they belong and nowhere else: not in what a run writes, says or leaves."""

import os
import shutil
import subprocess

import numpy as np
import pyarrow.parquet as pq
import pytest

from meterdp.__main__ import main
from meterdp.audit.forms import METER, SALT, SEED, TEXT, Secret
from meterdp.audit.leaks import HOMES, LEDGER_HOMES, SNAKEMAKE_HOMES, scan
from meterdp.core.parquet import read_table
from meterdp.ingest.tables import METERS
from meterdp.publish.kinds import DESCRIPTIONS, KINDS
from tests.warm import warm_snakemake
from tests.workflow.conftest import HANGS, PLANTED, PLANTED_SECRETS, planted_readings, secrets_in
from tests.workflow.test_bad_input import sentence_of

SECRETS = (*PLANTED_SECRETS, Secret("a bad value", TEXT, "twelvish"))
# What the user brought, and the checkout: not written by a run.
BROUGHT = ("export.csv", "list.csv", "config.yaml")


def leaked(folder, secrets, printed=""):
    """Everything found where it should not be, in all a run left behind and said."""
    found = [("terminal", name) for name in secrets_in(printed, secrets)]
    for path in sorted(folder.iterdir()):
        if path.name not in BROUGHT:
            homes = {"results": HOMES, ".snakemake": SNAKEMAKE_HOMES, "books": LEDGER_HOMES}.get(path.name, ())
            found += [(f"{path.name}/{one.file}, {one.where}", one.secret) for one in scan(path, secrets, homes)]
    return found


def test_a_study_and_a_release_leak_nothing(planted_release):
    folder = planted_release.folder
    assert leaked(folder, planted_release.secrets, planted_release.printed) == []
    # The scan is not blind here: what is at home is found when nothing may be.
    seen = {one.secret for one in scan(folder / "results", planted_release.secrets)}
    assert {"meter 0", "silent meter 47", "the reading", "the salt", "release id 0", "the seed"} <= seen
    assert {"the number of readings"} <= seen


def test_nothing_at_all_is_in_a_release(planted_release, tmp_path, capsys):
    release = planted_release.folder / "results/release"
    secrets = [s for s in planted_release.secrets if s.name != "the number of readings"]
    files = [*KINDS["mixture"].files, *KINDS["forecasts"].files, "forecasts.parquet", "shape.parquet"]
    wanted = len(files) + len(DESCRIPTIONS) * 2
    assert sum(path.is_file() for path in release.rglob("*")) == wanted and scan(release, secrets) == []
    rows = "".join(f'"{s.name}",{s.kind},"{s.value}"\n' for s in secrets)
    (tmp_path / "secrets.csv").write_text(f"name,kind,value\n{rows}")
    arguments = [str(release), "--secrets", str(tmp_path / "secrets.csv")]
    assert main(["audit", "leaks", *arguments, "--meters", str(planted_release.folder / "list.csv")]) == 0
    assert "0 findings" in capsys.readouterr().out
    assert main(["release", "verify", str(release)]) == 0
    told = capsys.readouterr().out
    # README, manifest and descriptions of a folder, all but the RO-Crate itself, are files with a checksum, too.
    assert f"{3 + 1 + len(DESCRIPTIONS)} files are as they were" in told and told.count("-differential privacy") == 2


@pytest.mark.parametrize(
    "where",
    [
        "results/release/mixture/NAME.parquet",
        "results/release/mixture/manifest.json",
        "results/private/logs/ingest.log",
        "results/private/benchmarks/ingest.tsv",
        "results/study/report.html",
        "results/private/release_mixture-NAME",
        ".snakemake/metadata/bWFuaWZlc3Q=",
        ".snakemake/log/run.log",
        "books/ledger.sqlite",
        "results/study/mixture.parquet",
        "terminal",
    ],
)
def test_a_leak_in_any_channel_of_the_run_is_found(planted_release, tmp_path, where):
    """A copy of one file of the run with a meter id in it."""
    secret = planted_release.secrets[0]
    path, original = tmp_path / where.replace("NAME", secret.value), planted_release.folder / where
    path.parent.mkdir(parents=True, exist_ok=True)
    if original.suffix == ".parquet" and original.exists():
        table = pq.read_table(original)
        pq.write_table(table.replace_schema_metadata({**table.schema.metadata, "of": secret.value}), path)
    elif original.exists():
        shutil.copy(original, path)
        with open(path, "ab") as file:
            file.write(f"\n{secret.value}".encode())
    elif where != "terminal":
        path.write_text(secret.value if "NAME" not in where else "")
    found = leaked(tmp_path, [secret], secret.value if where == "terminal" else "")
    assert {name for _, name in found} == {secret.name}


def test_the_tiny_study_leaks_nothing(tiny_study):
    private = tiny_study.folder / "results/private"
    ids = read_table(private / "meters.parquet", METERS)["meter_id"].to_pylist()
    secrets = [Secret(f"meter {number}", METER, meter) for number, meter in enumerate(ids)]
    secrets.append(Secret("the salt", SALT, (private / "release_id_salt.txt").read_text().strip()))
    secrets.append(Secret("the seed", SEED, "20251102"))
    assert leaked(tiny_study.folder, secrets) == []


def failing(runner, customize=""):
    """Read an export, which must fail, with ``customize`` in every Python; return what was said."""
    (runner.folder / "custom").mkdir()
    (runner.folder / "custom/sitecustomize.py").write_text(customize)
    command, environment = runner.command(PLANTED, "--until", "ingest", program=warm_snakemake())
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(runner.folder / "custom"), environment.get("PYTHONPATH")))
    )
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANGS
    )
    assert done.returncode != 0
    shutil.rmtree(runner.folder / "custom")
    return done


def test_a_bad_row_leaks_nothing(runner):
    frame = planted_readings()
    frame.loc[500, "kwh"] = "twelvish"
    frame.to_csv(runner.folder / "export.csv", index=False)
    done = failing(runner)
    sentence_of(done, r"export.csv, row 502, field 'kwh': .*; .+\.$")
    assert leaked(runner.folder, SECRETS, done.stdout) == []


QUOTES = """
import sys
if any(word.endswith(".ingest.py") for word in sys.orig_argv):
    import pyarrow.parquet as pq
    def write_table(self, table, *rest, **keywords):
        raise ValueError(f"cannot write {table.to_pydict()} of {open('export.csv').read()}")
    pq.ParquetWriter.write_table = write_table
"""


def test_an_error_that_quotes_records_leaks_nothing(runner):
    """As libraries do with values they cannot digest: here pyarrow, changed for the job of ``ingest`` alone."""
    planted_readings().to_csv(runner.folder / "export.csv", index=False)
    done = failing(runner, QUOTES)
    assert "in _write_readings" in done.stdout and "builtins.ValueError" in done.stdout
    assert leaked(runner.folder, SECRETS, done.stdout) == []


def test_a_full_disk_leaks_nothing_and_says_so(runner):
    """No file may grow beyond 24 kB, as if the disk were full; the log of Snakemake fits."""
    frame = planted_readings()
    frame["kwh"] = np.random.default_rng(3).gamma(2.0, 0.3, len(frame)).astype(object)  # hardly compresses
    frame.loc[100, "kwh"] = "7.318264519"
    frame.to_csv(runner.folder / "export.csv", index=False)
    done = failing(runner, "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (24_000, 24_000))")
    sentence_of(done, r"^meterdp cannot go on\. .*File too large.*; free disk space")
    assert leaked(runner.folder, SECRETS, done.stdout) == []
    assert not list((runner.folder / "results/private").rglob("*.part"))
