"""Time and memory of the ledger: many releases, many meters, many lists; beside reading every event there is.

``python benchmarks/ledger.py`` (``make benchmark``) writes results/benchmarks/ledger.parquet. A case makes a ledger
with so many releases, each of a list that has every meter with probability one half, and then measures, in a process
of its own, how long it takes to open it, and to find out whether one more release fits. The other is
``meterdp ledger verify``, which reads everything. Memory is what the process took beyond its libraries.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import numpy as np
from table import load, write

from meterdp.privacy import ledger_file, meter_lists
from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.periods import interval_of

# Meters, releases, lists they are about, files of each.
CASES = [
    (1_409, 10, 1, 1_409),
    (1_409, 1_000, 1, 2),
    (1_409, 1_000, 100, 2),
    (100_000, 100, 100, 2),
    (1_000_000, 100, 100, 2),
]
ACCOUNT, CAP = PrivacyBudget("", "replace_one", "town", "2026"), Limit(8.0, 1e-6)
PERIOD = (interval_of(date(2026, 1, 1), date(2026, 12, 31), "Europe/London"),)
ROUNDS = 3  # of measurements, the best of which counts


def request(number: int, which: int, meters: list[str]) -> Request:
    """Return one of many releases that all fit; a list of meters is known again by the digest of its file."""
    charge = Charge(0.002 * (1 + number % 7), 1e-18)
    words = {"artefact": "mixture", "mechanism": "sound", "number": number}
    days = ("2026-01-01", "2026-01-31")
    return Request(ACCOUNT, words, charge, days, meters, PERIOD, former_lists=(f"list {which}",))


def make(folder: Path, case: tuple) -> None:
    """Make the ledger of a case; names are hashed once for all lists, which takes seconds for a million of them."""
    count, releases, lists, files = case
    generator, every = np.random.default_rng(1), np.zeros(0)
    ledger, drawn = Ledger(folder / "ledger.sqlite"), {f"{n:04d}.parquet": os.urandom(9000) for n in range(files)}

    def hashed(meters, key):
        nonlocal every
        if not every.size:
            every = meter_lists.hashed(meters, key)
            return every
        return every[generator.random(count) < 0.5]

    ledger_file.hashed = hashed
    for number in range(releases):
        meters = names(count) if number == 0 else ["a meter"]
        asked = request(number, number % lists, meters)
        with ledger.asked_once([asked]):
            attempts = ledger.charge([asked], CAP)
            ledger.store(asked.key, attempts[asked.key], drawn)


def names(count: int) -> list[str]:
    """Return names of meters as a utility writes them."""
    return [f"E{n:013d}" for n in range(count)]


def peak_mb() -> float:
    """Return the most memory that this program took; the system's own count begins with that of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def measured(folder: Path, case: tuple) -> dict:
    """Return seconds and megabytes of opening, of one more release of all meters, and of reading everything."""
    count, releases, _, _ = case
    ledger = Ledger(folder / "ledger.sqlite")
    one_more = request(releases, 0, names(count))
    before = peak_mb()
    seconds = {"open": [], "check": [], "verify": []}
    for _ in range(ROUNDS):
        for name, run in (
            ("open", lambda: ledger.stored("no such request")),
            ("check", lambda: ledger.check([one_more], CAP)),
        ):
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
    peak = peak_mb()
    begin = time.perf_counter()
    ledger.verify()
    seconds["verify"].append(time.perf_counter() - begin)
    return {name: min(taken) for name, taken in seconds.items()} | {
        "mb": peak - before,
        "ledger_mb": ledger.path.stat().st_size / 1e6,
        "files_mb": sum(path.stat().st_size for path in ledger.files_path.iterdir()) / 1e6,
    }


def main() -> None:
    """Measure and write the table."""
    rows = []
    for case in CASES:
        meters, releases, lists, files = case
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), case)
            words = [sys.executable, __file__, folder, json.dumps(case)]
            said = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        rows.append(
            {
                "case": f"{meters:,} meters, {releases:,} releases of {files:,} files, {lists} lists",
                "ours_s": said["open"],
                "other": "reading every event, list and file",
                "other_s": said["verify"],
                "ratio": said["verify"] / said["open"],
                "quality": f"one more release is checked in {said['check']:.2f} s and {said['mb']:.0f} MB; ledger "
                f"{said['ledger_mb']:.1f} MB, files {said['files_mb']:.0f} MB",
                "load": load(),
            }
        )
        print(rows[-1], flush=True)
    write("ledger", rows)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(measured(Path(sys.argv[1]), tuple(json.loads(sys.argv[2])))))
    else:
        main()
