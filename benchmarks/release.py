"""What safety costs a release, and whether it survives being killed: rows of results/benchmarks/release.parquet.

``python benchmarks/release.py`` simulates 9,409 households of a seed no study uses, 1,409 to release and
the rest to judge by.

* utility: held-out log-likelihood of 20 releases less that of 20 draws of the study's ``sound`` at the same epsilon,
  in nats per household with its standard error; and the same with the noise of each release replayed into the
  floating-point mechanism, so that only grid and charge differ.
* time: one release of 1,409 households, noise, gate, ledger and files, beside the study's seeded release; the same
  with a forecast file for each household (profiles stand in for forecasts: noise and files do not look at them).
* killed: a release in a process of its own, killed at 100 random moments, is started again until it is through. What
  was drawn is noted by the sampler itself, before it returns.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sound import HIGH, LOW, ROOT, log_likelihood, profiles

from meterdp.core.config import complete, load_schema
from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import atomic_path
from meterdp.groupforecast.mechanism import BINS
from meterdp.groupforecast.plan import CELLS, HOURS
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.privacy import noise as release_noise
from meterdp.privacy.ledger import CHARGED, STORED, Ledger
from meterdp.privacy.noise import SafeNoise
from meterdp.release import mixture
from meterdp.release.forecasts import forecast_mechanisms
from meterdp.release.service import ReleaseService

SEED, HOUSEHOLDS, RELEASES, KILLS = 778, 1409, 20, 100


def sound(config: dict, shape: tuple[int, int], epsilon: float, grid: float) -> Proven:
    """Calibrate as a study (grid 0) or a release does."""
    sections = (config[name] for name in ("mechanisms", "mixture", "profiles"))
    return Proven.calibrate(public_settings(epsilon, 1e-5, shape, *sections, grid))


class Recorder(SafeNoise):
    """Release noise that keeps what it added, in standard deviations."""

    def __init__(self):
        self.added = []

    def add_gaussian(self, exact, std):
        """Keep the noise."""
        noisy = super().add_gaussian(exact, std)
        self.added.append((noisy - exact) / std)
        return noisy


class Replay:
    """The same noise for the mechanism without a grid."""

    grid = 0.0

    def __init__(self, added):
        self._added = iter(added)

    def add_gaussian(self, exact, std):
        """Add the next of the kept noises."""
        return exact + std * next(self._added)


def utility(config: dict, x: np.ndarray, held_out: np.ndarray, epsilon: float) -> str:
    """Compare releases with the study's."""
    on_grid, plain = (sound(config, x.shape, epsilon, grid) for grid in (SafeNoise.grid, 0.0))
    study = plain.release(PrivateRecords(x), StudyNoise(SEED, "utility", repr(epsilon)), RELEASES)
    theirs = log_likelihood(held_out, study.mixtures)
    ours, replayed = [], []
    for _ in range(RELEASES):
        noise = Recorder()
        ours.append(log_likelihood(held_out, on_grid.release(PrivateRecords(x), noise, 1).mixtures)[0])
        again = plain.release(PrivateRecords(x), Replay(noise.added), 1)
        replayed.append(log_likelihood(held_out, again.mixtures)[0])
    paired = np.array(ours) - replayed
    error = np.hypot(np.std(ours, ddof=1), np.std(theirs, ddof=1)) / np.sqrt(RELEASES)
    return (
        f"release less study {np.mean(ours) - theirs.mean():+.4f} ± {error:.4f} nats; with the same noise "
        f"{paired.mean():+.1e}, in one release at most {np.abs(paired).max():.1e}"
    )


def one_release(x: np.ndarray, config: dict, folder: Path) -> None:
    """Release and publish; the sampler notes that it drew before anybody gets the noise."""
    exact = release_noise.discrete_gaussian

    def noted(scale, count):
        drawn = exact(scale, count)
        with open(folder / "drawn", "ab") as file:
            file.write(f"{os.getpid()}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        return drawn

    release_noise.discrete_gaussian = noted
    service = ReleaseService(config, meters_of(len(x)), simulated=True)
    service.release(mixture.mechanisms(service.listed, service), x, folder / "results/release/mixture")


def meters_of(count: int) -> bytes:
    """Return a public list of so many meters."""
    return ("meter_id\n" + "".join(f"m{number}\n" for number in range(count))).encode()


def killed(x: np.ndarray, config: dict) -> str:
    """Kill a release at a random moment, start it again, and count; as often as ``KILLS``.

    A run that goes on draws only what the one that was killed had not drawn.
    """
    generator, context = np.random.default_rng(SEED), multiprocessing.get_context("fork")
    died, halves = 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config["release"] |= {"ledger": str(folder / "ledger.sqlite"), "cap_epsilon": 12, "allow": ["poor"]}
        ledger = Ledger(folder / "ledger.sqlite")
        moments = (None, *(moment for late in generator.uniform(0, 0.2, KILLS) for moment in (late, None)))
        for number, moment in enumerate(moments):
            config["release"]["epsilon"] = 0.05 + (number + 1) // 2 / 1e4  # a request of its own
            process = context.Process(target=one_release, args=(x, config, folder))
            process.start()
            process.join(moment)
            if process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
            process.join()
            died += process.exitcode == -signal.SIGKILL
            there = {p.name for p in (folder / "results/release/mixture").glob("*")}
            drawn = len((folder / "drawn").read_text().split())
            if number == 0:
                whole, draws = there, drawn
            halves += there not in (set(), whole)
            events = ledger.events()
            charged = sum(e["kind"] == CHARGED for e in events)
            stored = [e["request"] for e in events if e["kind"] == STORED]
            if drawn > draws * charged or len(set(stored)) < len(stored):
                raise SystemExit("noise was drawn that was not charged, or one request drawn twice")
    return (
        f"{KILLS} requests, {died} killed and started again: {drawn:,} draws, {draws} a release, {charged} charged, "
        f"{len(stored)} stored, none twice; {halves} times a half folder"
    )


def main() -> None:
    """Run all cases and write the table."""
    config = complete(
        {"export": {"time_zone": "America/Los_Angeles"}}, load_schema(ROOT / "workflow/schemas/config.schema.yaml")
    )
    config["export"] |= {"first_day": "2025-10-20", "last_day": "2025-10-29"}
    with tempfile.TemporaryDirectory() as folder:
        size = {
            "seed": SEED,
            "shards": 8,
            "simulate": {"households": 9409, "days": 10},
            "forecast": {"train_days": 4},
        }
        records = profiles(folder, size)
    x, rest = records.log_kwh[:HOUSEHOLDS], records.log_kwh[HOUSEHOLDS:]
    held_out = np.clip(rest[records.valid[HOUSEHOLDS:]], LOW, HIGH)
    rows = [
        (
            f"utility, epsilon {epsilon:g}",
            np.nan,
            "sound of a study",
            np.nan,
            np.nan,
            utility(config, x, held_out, epsilon),
        )
        for epsilon in (0.5, 1.0, 2.0)
    ]
    with tempfile.TemporaryDirectory() as folder:
        config["release"]["ledger"] = f"{folder}/ledger.sqlite"
        begin = time.perf_counter()
        service = ReleaseService(config, meters_of(len(x)), simulated=True)
        service.release(mixture.mechanisms(service.listed, service), x, f"{folder}/results/release/mixture")
        ours = time.perf_counter() - begin
        forecasts = forecast_mechanisms(len(x), None, service)
        # Homes without readings: noise, ledger and files take as long.
        nothing = np.full((len(x), 1 + CELLS + HOURS * BINS), np.nan)
        _, release_id = service.release(forecasts, nothing, f"{folder}/results/release/forecasts")
        both = time.perf_counter() - begin
    begin = time.perf_counter()
    sound(config, x.shape, 1.0, 0.0).release(PrivateRecords(x), StudyNoise(SEED), 1)
    theirs = time.perf_counter() - begin
    rows.append(("one release, N = 1,409", ours, "study's release", theirs, theirs / ours, "noise, ledger, files"))
    words = f"the same and {len(release_id):,} forecast files with their manifests"
    rows.append(("mixture and a forecast file for each, N = 1,409", both, "mixture alone", ours, ours / both, words))
    rows.append(("killed at random moments", np.nan, "", np.nan, np.nan, killed(x[:200], config)))
    for row in rows:
        print(row, flush=True)
    table = pd.DataFrame(rows, columns=["case", "ours_s", "other", "other_s", "ratio", "quality"])
    with atomic_path(ROOT / "results/benchmarks/release.parquet") as temporary:
        table.assign(load=os.getloadavg()[0]).to_parquet(temporary)


if __name__ == "__main__":
    main()
