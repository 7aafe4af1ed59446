"""A release run again, after edits that change nothing, and from two folders at once: one charge, the same bytes."""

import os
import shutil
import subprocess
import time

from meterdp.privacy.ledger import CHARGED, PUBLISHED, STORED, Ledger
from meterdp.publish.kinds import KINDS
from tests.unit.release.charged import states
from tests.warm import warm_snakemake
from tests.workflow.conftest import HANGS, PLANTED_RELEASE, Runner

# One release of everything.
ALL = sorted((artefact, kind) for artefact in ("forecasts", "mixture") for kind in (CHARGED, STORED, PUBLISHED))


def contents(folder):
    release = folder / "results/release"
    return {str(p.relative_to(release)): p.read_bytes() for p in release.rglob("*") if p.is_file()}


def comment(checkout, *files):
    for file in files:
        with open(checkout / file, "a") as source:
            source.write("# A comment changes no release.\n")


def test_a_comment_anywhere_draws_no_noise_and_charges_nothing(planted_release):
    """In a script, a rule and the source: whatever Snakemake makes of it."""
    folder, ledger = planted_release.folder, planted_release.folder / "books/ledger.sqlite"
    before, booked = contents(folder), Ledger(ledger).events()
    assert states(booked) == ALL and {f"mixture/{name}" for name in KINDS["mixture"].files} < set(before)
    comment(
        planted_release.checkout,
        "workflow/scripts/release_mixture.py",
        "workflow/scripts/release_forecasts.py",
        "workflow/scripts/forecast_ahead.py",
        "workflow/rules/release.smk",
        "src/meterdp/release/mixture.py",
        "src/meterdp/release/forecasts.py",
        "src/meterdp/groupforecast/mechanism.py",
    )
    done = planted_release.run(PLANTED_RELEASE, "release")
    assert done.returncode == 0, done.stdout[-3000:]
    assert all(rule in done.stdout.split("Job stats")[1] for rule in ("release_mixture", "release_forecasts"))
    assert contents(folder) == before and Ledger(ledger).events() == booked


def test_an_export_with_a_new_date_draws_no_noise_and_charges_nothing(planted_release):
    """The same bytes, copied anew: it is read again, and the stored release is handed over."""
    folder, ledger = planted_release.folder, planted_release.folder / "books/ledger.sqlite"
    before, booked = contents(folder), Ledger(ledger).events()
    later = time.time() + 5
    os.utime(folder / "export.csv", (later, later))
    done = planted_release.run(PLANTED_RELEASE, "release", "--forcerun", "release_mixture", "release_forecasts")
    assert done.returncode == 0 and "release_mixture" in done.stdout, done.stdout[-3000:]
    assert contents(folder) == before and Ledger(ledger).events() == booked


def test_two_folders_that_release_at_the_same_time_share_one_charge_and_one_artefact(planted_release, tmp_path):
    """The profiles are there; only the job of the release is left, in both folders."""
    ledger = tmp_path / "shared/ledger.sqlite"
    release = PLANTED_RELEASE["release"] | {"ledger": str(ledger)}
    runs = []
    for name in ("one", "two"):
        folder = tmp_path / name
        shutil.copytree(planted_release.folder, folder, symlinks=True)
        shutil.rmtree(folder / "results/release")
        shutil.rmtree(folder / "books")
        runs.append(Runner(folder).command(PLANTED_RELEASE | {"release": release}, "release", cores=1,
                                           snakefile=planted_release.checkout / "workflow/Snakefile",
                                           program=warm_snakemake()))  # fmt: skip
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for command, environment in runs
    ]
    said = [process.communicate(timeout=HANGS)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said[0][-2000:] + said[1][-2000:]
    assert all("ingest" not in text.split("Job stats")[1] for text in said), "more than the release was run"
    assert states(Ledger(ledger).events()) == ALL
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    # Another ledger is another sum: its noise is its own.
    assert (
        contents(tmp_path / "one")["mixture/mixture.json"] != contents(planted_release.folder)["mixture/mixture.json"]
    )
