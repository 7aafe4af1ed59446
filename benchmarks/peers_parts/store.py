"""Releases and what was measured of them, kept as files: what is there is not run again.

Records of homes are among them, so they lie in ``results/private``. Our own releases are kept by the digest of what
makes them: they are run again after a change of the mechanism. A library's release has no seed and is kept as it is.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from meterdp.core.parquet import atomic_path

from .apart import UNFINISHED
from .grid import Cell
from .sources import LIBRARIES, OURS, ROOT, Outcome

MADE_OF = ("src/meterdp/mechanisms", "resources/prior_mixture", "benchmarks/peers_parts/sources.py")


@cache
def digest() -> str:
    """Return the digest of the files that our releases depend on."""
    found = hashlib.sha256()
    for part in MADE_OF:
        path = ROOT / part
        files = [path] if path.is_file() else sorted(f for f in path.rglob("*") if f.suffix in (".py", ".json"))
        for file in files:
            found.update(file.read_bytes())
    return found.hexdigest()[:12]


@dataclass(frozen=True)
class Store:
    """Files of one folder."""

    folder: Path

    def _file(self, cell: Cell, source: str, split: int, suffix: str) -> Path:
        made = f"_{digest()}" if source in OURS else ""
        return self.folder / f"{cell.key}_{source.replace(' ', '-').replace(',', '')}_{split}{made}{suffix}"

    def outcome(self, cell: Cell, source: str, split: int) -> Outcome | str | None:
        """Return a release, why there is none, or None where it was not tried."""
        file = self._file(cell, source, split, ".npz")
        if not file.exists():
            return None
        with np.load(file) as stored:
            if "why" in stored:
                return str(stored["why"])
            return Outcome(stored["samples"].astype(float), float(stored["seconds"]), str(stored["settings"]))

    def keep(self, cell: Cell, source: str, split: int, outcome: Outcome | str) -> None:
        """Write a release, or why there is none."""
        fields = {"why": outcome} if isinstance(outcome, str) else vars(outcome)
        if not isinstance(outcome, str):
            fields = fields | {"samples": outcome.samples.astype(np.float32)}
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(self._file(cell, source, split, ".npz")) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, **fields)

    def measured(self, cell: Cell, source: str, split: int) -> dict[str, float] | None:
        """Return what was measured of a release."""
        file = self._file(cell, source, split, ".json")
        return json.loads(file.read_text()) if file.exists() else None

    def keep_measured(self, cell: Cell, source: str, split: int, numbers: dict[str, float]) -> None:
        """Write what was measured of a release."""
        with atomic_path(self._file(cell, source, split, ".json")) as temporary:
            Path(temporary).write_text(json.dumps(numbers))

    def hopeless(self, cell: Cell, source: str, cells: tuple[Cell, ...]) -> str | None:
        """Say so where a library was too slow for records no longer and bins no more than these."""
        for other in cells if source in LIBRARIES else ():
            why = self.outcome(other, source, 0)
            if other.d <= cell.d and other.bins <= cell.bins and isinstance(why, str) and UNFINISHED in why:
                return f"not tried: {why} for d = {other.d}" if other != cell else why
        return None
