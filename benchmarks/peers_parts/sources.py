"""Where synthetic profiles come from: our release, the libraries in their own environments, and real homes.

A source takes a case and gives one outcome, or the sentence that says why it could not. A library that is not
installed is no error: `make benchmark` installs each into an environment beside the project's own.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from meterdp.core.config import complete, load_schema
from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.proven.marginals import sample_reweighted
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ProvenSettings
from meterdp.mixture.draws import sample

EPSILON, DELTA, CLASSES, FLOOR, SEED = 2.0, 1e-5, 6, 1e-3, 777
RELEASES = 3
SCHEMA = Path(__file__).resolve().parents[2] / "workflow/schemas/config.schema.yaml"


@dataclass(frozen=True)
class Case:
    """Training sets of one size, each with held-out real records.

    Parameters
    ----------
    name : str
        Data and size, for a row of the table.
    train, held_out : lists of (N, d) and (m, d) float64
        Log profiles, log kWh, within the public bounds.
    low, high : float
        Public bounds, log kWh.
    bins : int
        Equal bins between the bounds, for sources that release histograms: a public choice.
    """

    name: str
    train: list[np.ndarray]
    held_out: list[np.ndarray]
    low: float
    high: float
    bins: int


@dataclass(frozen=True)
class Outcome:
    """Samples of one source, ``samples[s]`` those of set ``s``, seconds of one release, and its settings as text."""

    samples: list[list[np.ndarray]]
    seconds: float
    settings: str


def ours(case: Case) -> Outcome:
    """Release by ``sound`` as a study does by default and draw as many records as there are."""
    defaults = _defaults()
    return _release(case, ProvenSettings(**defaults), f"as it comes, marginal_share {defaults['marginal_share']:g}")


def ours_mixture_alone(case: Case) -> Outcome:
    """Release by ``sound`` without marginals beside the mixture."""
    return _release(case, ProvenSettings(), "marginal_share 0")


def ours_with_their_neighbours(case: Case) -> Outcome:
    """Release by ``sound`` with the libraries' promise: neighbours have one record more or less."""
    defaults = _defaults()
    # A public guess of the order of magnitude; the number of records itself is measured with noise.
    guess = 10 ** round(math.log10(len(case.train[0])))
    settings = ProvenSettings(**(defaults | {"adjacency": "add_remove", "records_guess": guess}))
    return _release(case, settings, f"marginal_share {settings.marginal_share:g}")


def _defaults() -> dict:
    """Return the settings of ``sound``, without a library: records of any kind have none."""
    return complete({}, load_schema(SCHEMA))["mechanisms"]["sound"] | {"library": None}


def _release(case: Case, settings: ProvenSettings, words: str) -> Outcome:
    samples, seconds = [], []
    for s, x in enumerate(case.train):
        n, d = x.shape
        public = PublicSettings(EPSILON, DELTA, CLASSES, d, n, case.low, case.high, FLOOR, settings)
        samples.append([])
        for r in range(RELEASES):
            begin = time.perf_counter()
            mechanism = Proven.calibrate(public)
            released = mechanism.release(PrivateRecords(x), StudyNoise(SEED, "peers", s, r, n, d), 1)
            numbers = StudyNoise(SEED, "peers sample", s, r, n, d)
            beside = released.marginals
            if beside is None:
                drawn, _ = sample(released.mixtures.draw(0), n, numbers)
            else:
                drawn = sample_reweighted(beside.reference, beside.exponents, n, numbers)
            seconds.append(time.perf_counter() - begin)
            samples[-1].append(drawn)
    return Outcome(samples, float(np.median(seconds)), f"{words}, {mechanism.guarantee.adjacency}")


def real_homes(case: Case) -> Outcome:
    """Return the training records themselves: no privacy at all."""
    return Outcome([[x] for x in case.train], np.nan, "the training records themselves, no privacy")


def library(name: str, environment: str) -> Callable[[Case], Outcome | str]:
    """Return the source that runs ``NAME_mst.py`` in that environment of `make benchmark`."""
    python = Path(sys.prefix).with_name(f"{Path(sys.prefix).name}-{environment}") / "bin/python"
    script = Path(__file__).with_name(f"{name}_mst.py")

    def run(case: Case) -> Outcome | str:
        if not python.exists():
            return "not run: its environment is not installed (make benchmark installs it)"
        with tempfile.TemporaryDirectory() as folder:
            given, written = Path(folder) / "given.npz", Path(folder) / "written.npz"
            rows = len(case.train[0])
            edges = np.linspace(case.low, case.high, case.bins + 1)
            sets = np.array([x[:rows] for x in case.train])
            np.savez(given, sets=sets, edges=edges, rows=rows, epsilon=EPSILON, delta=DELTA)
            done = subprocess.run([python, script, given, written], capture_output=True, text=True)
            if done.returncode:
                return f"not run: {(done.stderr.strip().splitlines() or [done.returncode])[-1]}"
            with np.load(written) as file:
                settings = f"{file['settings']}, {case.bins} equal bins between the public bounds"
                return Outcome([[x] for x in file["samples"]], float(np.median(file["seconds"])), settings)

    return run


# In the order of the table and of the figure.
SOURCES: dict[str, Callable[[Case], Outcome | str]] = {
    "sound": ours,
    "sound, add or remove": ours_with_their_neighbours,
    "sound, mixture alone": ours_mixture_alone,
    "OpenDP MST": library("opendp", "opendp"),
    "SmartNoise MST": library("smartnoise", "benchmark"),
    "real homes": real_homes,
}
