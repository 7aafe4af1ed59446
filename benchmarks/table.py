"""The table that a benchmark writes: a row per case, with its seconds, those of another, and what they are worth."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from meterdp.core.parquet import atomic_path

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ["case", "ours_s", "other", "other_s", "ratio", "quality", "load"]


def write(name: str, rows: list) -> None:
    """Write results/benchmarks/<name>.parquet of rows, which are dictionaries or have the first of the columns."""
    columns = None if isinstance(rows[0], dict) else COLUMNS[: len(rows[0])]
    with atomic_path(ROOT / f"results/benchmarks/{name}.parquet") as temporary:
        pd.DataFrame(rows, columns=columns).to_parquet(temporary)


def write_on_page(page: str, benchmark: str, text: str) -> None:
    """Put text on a page of docs/, in the place of what the benchmark wrote there last."""
    file, begin, end = ROOT / "docs" / page, f"<!-- written by benchmarks/{benchmark} --docs -->\n", "<!-- end -->"
    before, rest = file.read_text().split(begin)
    file.write_text(f"{before}{begin}\n{text}\n\n{end}{rest.split(end, 1)[1]}")


def load() -> str:
    """Return how busy the machine is."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def seconds(call: Callable, *arguments) -> tuple[float, object]:
    """Return how long a call took and what it returned."""
    begin = time.perf_counter()
    answer = call(*arguments)
    return time.perf_counter() - begin, answer
