"""Where synthetic profiles come from: our release, the libraries in their own environments, and real records.

A source takes training records of a cell and gives synthetic ones, or the sentence that says why it could not. A
library that is not installed is no error: `make benchmark` installs each into an environment beside the project's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from meterdp.core.config import complete, load_schema
from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.proven.marginals import sample_reweighted
from meterdp.mechanisms.proven.mechanism import Proven

from .apart import run_apart
from .grid import BOUNDS_KWH, DELTA, START_HOUR, Cell

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "workflow/schemas/config.schema.yaml"
SEED = 777
# Of processor time, on one core: a limit that other work on the machine does not move.
LIMIT_S = 300
MOST_ROWS = 4_000


@dataclass(frozen=True)
class Outcome:
    """Synthetic records of one release, its seconds of processor time, and its settings as text."""

    samples: np.ndarray
    seconds: float
    settings: str


Source = Callable[[Cell, np.ndarray, int], "Outcome | str"]


def rows_of(cell: Cell) -> int:
    """Return how many synthetic records are drawn and judged."""
    return min(cell.n, MOST_ROWS)


def ours(adjacency: str, **choices) -> Source:
    """Return our release as a study of such records would make it, with what is chosen otherwise."""

    def run(cell: Cell, x: np.ndarray, split: int) -> Outcome:
        config = complete({}, load_schema(SCHEMA))
        mechanisms = config["mechanisms"]
        sound = mechanisms["sound"] | choices
        profiles = config["profiles"] | {
            "hours": cell.d,
            "start_hour": START_HOUR[cell.d],
            "clip_kwh_per_hour": list(BOUNDS_KWH),
        }
        begin = time.process_time()
        shape, sections = (cell.n, cell.d), (mechanisms | {"sound": sound}, config["mixture"], profiles)
        public = public_settings(cell.epsilon, DELTA, shape, *sections)
        if adjacency == "add_remove":  # the number of records is private: a guess of its order of magnitude is public
            guess = 10 ** round(math.log10(cell.n))
            counted = replace(public.sound, adjacency=adjacency, records_guess=guess)
            public = replace(public, records=guess, sound=counted)
        mechanism = Proven.calibrate(public)
        noise = StudyNoise(SEED, "peers", split, cell.n, cell.d)
        released = mechanism.release(PrivateRecords(x), noise, 1)
        numbers, beside = StudyNoise(SEED, "peers sample", split, cell.n, cell.d), released.marginals
        drawn = sample_reweighted(beside.reference, beside.exponents, rows_of(cell), numbers)
        found = mechanism.public.sound.prior_mixture
        prior = "no prior mixture" if found is None else f"prior mixture of {found.classes}"
        words = f"{prior}, {mechanism.plan.classes} components"
        return Outcome(drawn, time.process_time() - begin, words)

    return run


def real(cell: Cell, x: np.ndarray, split: int) -> Outcome:
    """Return training records themselves: no privacy at all."""
    return Outcome(x[: rows_of(cell)], math.nan, "the training records themselves, no privacy")


def library(environment: str, name: str, algorithm: str) -> Source:
    """Return the source that runs ``NAME_release.py ALGORITHM`` in that environment of `make benchmark`."""
    script = Path(__file__).with_name(f"{name}_release.py")

    def run(cell: Cell, x: np.ndarray, split: int) -> Outcome | str:
        edges = np.linspace(*np.log(BOUNDS_KWH), cell.bins + 1)
        given = {"x": x, "edges": edges, "rows": rows_of(cell), "epsilon": cell.epsilon, "delta": DELTA}
        found = run_apart(environment, script, LIMIT_S, algorithm, **given)
        if isinstance(found, str):
            return found
        return Outcome(found["samples"], float(found["seconds"]), f"{found['settings']}, {cell.bins} equal bins")

    return run


# In the order of the table and of the figure. The first is held against the libraries: it has their promise.
OURS: dict[str, Source] = {
    "meterdp": ours("add_remove"),
    "meterdp, no prior": ours("add_remove", prior_mixture=None),
    "meterdp, replace one": ours("replace_one"),
}
LIBRARIES: dict[str, Source] = {
    "SmartNoise MST": library("benchmark", "smartnoise", "MST"),
    "OpenDP MST": library("opendp", "opendp", "MST"),
    "dpmm PrivBayes": library("dpmm", "dpmm", "PrivBayes"),
    "dpmm MST": library("dpmm", "dpmm", "MST"),
    "SmartNoise AIM": library("benchmark", "smartnoise", "AIM"),
    "OpenDP AIM": library("opendp", "opendp", "AIM"),
    "dpmm AIM": library("dpmm", "dpmm", "AIM"),
}
REAL = "real records"
SOURCES = OURS | LIBRARIES | {REAL: real}
