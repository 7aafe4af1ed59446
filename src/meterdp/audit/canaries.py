"""Canary households through the whole workflow: raw rows, ingest, profiles, release, and guesses about their coins.

Each canary of a simulated export has rows of its own or none at all, in which case the public default record stands
for it (``replace_one``). Whoever audits knows everything but the coins, and guesses them from one release. It is
drawn as every release is, with safe noise, which has no seed; ledger and files are the audit's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from meterdp.audit.cases.interface import DELTA, Spy, replayed
from meterdp.core.noise import fixed_normals
from meterdp.core.parquet import read_table, write_table
from meterdp.errors import InputError
from meterdp.ingest.ingest import ingest
from meterdp.ingest.meter_list import read_meter_list
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.tables import METERS
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mixture.density import record_log_densities
from meterdp.mixture.draws import Mixture
from meterdp.privacy.noise import GRID, GaussianSource
from meterdp.privacy.release import release_unrecorded
from meterdp.profiles.grid import LocalTime, read_shard
from meterdp.profiles.shard import process_shard
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records
from meterdp.release.mixture import ReleasedMixture
from meterdp.release.service import ReleaseService
from meterdp.release.settings import check_meters
from meterdp.simulate.export import simulate_export
from meterdp.simulate.parameters import SimulationParameters, simulated_export

START_DATE, DAYS = "2025-10-13", 5
OTHERS = 50
# A canary's hours are either of these, in an order of its own, both inside the bounds a reading is clipped to.
LOW_KWH, HIGH_KWH = 0.04, 2.0


@dataclass(frozen=True)
class Fleet:
    """A simulated export, in a scratch folder, in which canaries can be planted.

    ``config`` is the whole configuration, whose export is the simulated one and whose ledger lies in the folder;
    ``canaries`` are the meters that are canaries.
    """

    folder: Path
    config: Mapping
    canaries: list[str]

    @classmethod
    def simulated(cls, folder: Path, config: Mapping, parameters: SimulationParameters, canaries: int) -> Fleet:
        """Simulate an export of ``canaries`` and 50 other households, by the rules of ``config``."""
        meter_list = folder / "meters.csv"
        simulate_export(
            parameters,
            folder / "export.csv",
            seed=config["seed"],
            households=canaries + OTHERS,
            days=DAYS,
            start_date=START_DATE,
            meter_list_path=meter_list,
        )
        own = {
            **config,
            "export": {**config["export"], **simulated_export(START_DATE, DAYS), "path": None, "meters": None},
            "profiles": {**config["profiles"], "date": "auto"},
            "release": {**config["release"], "delta": DELTA, "cap_delta": DELTA, "forecast_protects": "readings"},
            "federation": {"by": None},  # one holder
            "mechanisms": {
                **config["mechanisms"],
                # Moments of its own tell more of each canary than the thirty numbers of a prior mixture do.
                "sound": {**config["mechanisms"]["sound"], "prior_mixture": None},
            },
        }
        return cls(folder, own, read_meter_list(meter_list).meter_ids[:canaries])

    def records(self, coins: np.ndarray) -> np.ndarray:
        """Write the export with the rows of those canaries whose coin says so, and read it as a study does.

        Returns the profile vectors (N, d) of all listed households, log kWh, canaries first.
        """
        settings = ExportSettings.from_config({**self.config["export"], "meters": str(self.folder / "meters.csv")})
        meter_list = read_meter_list(self.folder / "meters.csv")
        planted, readings = self.folder / "planted.csv", self.folder / "readings.parquet"
        self._plant(planted, coins)
        meters = self.folder / "meters.parquet"
        ingest(
            planted,
            settings,
            meter_list=meter_list,
            readings_paths=[readings],
            meters_path=meters,
            report_path=self.folder / "report.parquet",
            metadata={"synthetic": "yes"},
        )
        config, profiles = self.config, self.folder / "profiles.parquet"
        shard = read_shard(readings, LocalTime.of(config["export"]))
        processed = process_shard(shard, config["quality"], config["profiles"], DAYS, horizon_steps=1)
        write_table(profiles, PROFILES, processed.profiles)
        records = Records.from_table(read_table(profiles, PROFILES)).log_kwh
        check_meters(read_table(meters, METERS)["meter_id"].to_pylist(), meter_list.meter_ids, len(records))
        return records

    def _plant(self, path: Path, coins: np.ndarray) -> None:
        """Copy the export without the rows of canaries, and write those of the ones that are in."""
        hidden, circuit_of = set(self.canaries), read_meter_list(self.folder / "meters.csv").circuit_of
        own = canary_kwh_per_hour(len(coins))
        with open(self.folder / "export.csv") as source, open(path, "w") as target:
            target.writelines(line for line in source if line.split(",", 1)[0] not in hidden)
            for meter, kwh, is_in in zip(self.canaries, own, coins, strict=True):
                if is_in:
                    rows = zip(quarter_hours(), np.repeat(np.tile(kwh, DAYS), 4) / 4, strict=True)
                    target.writelines(f"{meter},{circuit_of[meter]},{stamp},{energy:.3f}\n" for stamp, energy in rows)


def quarter_hours() -> list[str]:
    """Return the stamps of the export, local time."""
    first = datetime.fromisoformat(START_DATE)
    return [f"{first + timedelta(minutes=15 * i):%Y-%m-%d %H:%M}" for i in range(96 * DAYS)]


def canary_kwh_per_hour(canaries: int) -> np.ndarray:
    """Return the day of every canary, (m, 24) float64: a low or a high hour at random, the same for everybody."""
    return np.where(fixed_normals("canaries", (canaries, 24)) > 0, HIGH_KWH, LOW_KWH)


@dataclass(frozen=True)
class Planted:
    """The records (N, d) of one toss of the coins (m,), and those with all canaries in or out, which the auditor
    knows.
    """

    coins: np.ndarray
    log_kwh: np.ndarray
    all_in: np.ndarray
    all_out: np.ndarray


def plant(fleet: Fleet, coins: np.ndarray) -> Planted:
    """Take the canaries through ingest and profiles.

    Rules of the configuration that leave a canary no valid profile are refused; ArithmeticError if a household's
    record depends on the rows of others, which no release would survive.
    """
    all_in, all_out, log_kwh = (fleet.records(c) for c in (np.ones_like(coins), np.zeros_like(coins), coins))
    if (all_in == all_out)[: len(coins)].all(axis=1).any():
        raise InputError(
            "leaves no valid profile to the canaries of the audit",
            file="config",
            field="quality, profiles",
            hint="audit with the default rules",
        )
    is_in = np.zeros(len(log_kwh), dtype=bool)
    is_in[: len(coins)] = coins
    if not np.array_equal(log_kwh, np.where(is_in[:, None], all_in, all_out)):
        raise ArithmeticError("a household's record changed with the rows of another")
    return Planted(coins, log_kwh, all_in, all_out)


def released_scores(fleet: Fleet, planted: Planted, epsilon: float) -> np.ndarray:
    """Release the mixture through gate and ledger; score each canary by its log-density under it, (m,) float64."""
    release = {
        **fleet.config["release"],
        "what": ["mixture"],
        "population": "canaries",
        "budget_period": None,
        "allow": ["poor"],
        "synthetic_profiles": 1,  # nobody looks at them
        "epsilon": epsilon,
        "cap_epsilon": 1.1 * epsilon,
        "ledger": str(fleet.folder / f"ledger-{epsilon:g}.sqlite"),
    }
    meter_list = (fleet.folder / "meters.csv").read_bytes()
    service = ReleaseService({**fleet.config, "release": release}, meter_list, simulated=True)
    released = ReleasedMixture.configured(len(planted.log_kwh), service, None)
    files, _ = service.release([released], planted.log_kwh)
    said = json.loads(files["mixture.json"])
    mixture = Mixture(*(np.array(said[name]) for name in ("weights", "means", "covariances")))
    return record_log_densities(planted.all_in[: len(planted.coins)], mixture)


def transcript_scores(fleet: Fleet, planted: Planted, epsilon: float, std_factor: float = 1.0) -> np.ndarray:
    """Release once, keep every noisy answer and score each canary by the posterior mean of its coin, (m,) float64.

    The answers are linear in the coins given the answers before them, so with a normal prior the posterior is that of
    a linear model.
    """
    config = fleet.config
    sections = (config["mechanisms"], config["mixture"], config["profiles"])
    mechanism = Proven.calibrate(public_settings(epsilon, DELTA, planted.log_kwh.shape, *sections, GRID))

    def overheard(log_kwh: np.ndarray, noise: GaussianSource) -> Spy:
        spy = Spy(noise, lambda i: std_factor)
        mechanism.release(PrivateRecords(log_kwh), spy, 1)
        return spy

    spy = release_unrecorded(overheard, planted.log_kwh)

    def whitened(values: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([v.ravel() / s for v, s in zip(values, spy.std, strict=True)])

    def statistics(log_kwh: np.ndarray) -> np.ndarray:
        def run(take):
            mechanism.run_whole(log_kwh, lambda step, stack: take(stack), 1)

        return whitened(replayed(run, spy.answers))

    nobody = statistics(planted.all_out)
    effects = []
    for canary in range(len(planted.coins)):
        one_in = planted.all_out.copy()
        one_in[canary] = planted.all_in[canary]
        effects.append(statistics(one_in) - nobody)
    effects = np.array(effects)
    surprise = whitened(spy.answers) - nobody - effects.sum(axis=0) / 2
    # Coins -1/2 or 1/2 of variance 1/4, noise of variance one.
    return np.linalg.solve(effects @ effects.T + 4 * np.eye(len(effects)), effects @ surprise)
