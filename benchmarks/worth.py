"""Is a mean hour of a released mixture, or of its synthetic profiles, ever absurd, or refused beforehand?

``python benchmarks/worth.py [READINGS]`` releases twenty times each, with seeded noise in place of safe noise and
otherwise as a release does, the defaults for 100 and 500 homes of three utilities that are simulated with other
parameters than those of resources/simulator.yaml (``small_exports.py``) and, given the half-hourly readings of real
homes (a Parquet file of customer_id, reading_datetime and general_supply_kwh), for all of these homes on the day
that most have whole, and for 500 household-days. One row per case in results/benchmarks/worth.parquet: ``ours_s`` is
seconds per release, ``other_s`` seconds of saying beforehand what it is worth. As quality: whether it is refused, the
least and the largest ratio of a mean hour to the real one over hours and releases, of mixtures and of synthetic
profiles, and in how many of twenty an hour is off by more than a factor of two. The real mean is of all homes that
have readings.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import date

import numpy as np
import pandas as pd
from small_exports import LATER, SHOPS, flat
from table import ROOT, write

from meterdp.core.config import complete, load_schema
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.proven.marginals import sample_reweighted
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.release.worth import FACTOR, average_profile_kwh, check_worth
from meterdp.simulate.load import hourly_log_kwh
from meterdp.simulate.parameters import SimulationParameters

CONFIG = complete({}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))
START, HOURS = (CONFIG["profiles"][key] for key in ("start_hour", "hours"))
SEED, RELEASES, SYNTHETIC = 9200, 20, 1000
DAY = date(2025, 12, 3)
EPSILONS = {100: (1, 4, 8, 16), 500: (0.5, 1)}


def simulated(households: int) -> dict[str, np.ndarray]:
    """Return hourly energies of homes of three utilities, (N, d) kWh."""
    parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
    utilities = {"later": LATER.of(parameters), "shops": SHOPS.of(parameters), "flat": flat(parameters)}
    return {
        name: np.exp(hourly_log_kwh(utility, SEED + i, households, DAY, 1, (1e-3, 1e3)))[:, START : START + HOURS]
        for i, (name, utility) in enumerate(utilities.items())
    }


def real(path: str) -> dict[str, np.ndarray]:
    """Return all homes on the day that most have whole, NaN for the others, and 500 household-days, (N, d) kWh."""
    readings = pd.read_parquet(path)
    stamp = readings["reading_datetime"].dt
    keys = [readings["customer_id"], stamp.normalize().rename("day"), stamp.hour.rename("hour")]
    hours = readings.groupby(keys)["general_supply_kwh"].agg(["sum", "count"])
    days = hours.loc[hours["count"] == 2, "sum"].unstack("hour").dropna()  # noqa: PD010  as in pandas' guide
    days = days.iloc[:, START : START + HOURS]
    homes = readings["customer_id"].unique()
    one = days.xs(days.groupby("day").size().idxmax(), level="day").reindex(homes)
    some = StudyNoise(SEED, "household-days").uniform((len(days),)).argsort()[:500]
    return {"real homes": one.to_numpy(float), "real household-days": days.to_numpy(float)[some]}


def judge(energy_kwh: np.ndarray, epsilon: float, releases: int = RELEASES) -> tuple:
    """Release the defaults several times.

    Parameters
    ----------
    energy_kwh : (N, d) float64
        Of all listed homes, NaN for those without readings.
    epsilon : float
    releases : int

    Returns
    -------
    timed : (float, float)
        Seconds per release, and of saying what it is worth.
    refused : bool
    mixture, synthetic : (releases, d) float64
        Mean hours over the real ones.
    """
    scale = LogScale.from_config(CONFIG["profiles"])
    default = CONFIG["profiles"]["default_kwh_per_hour"]
    x = scale.clipped_log(np.where(np.isnan(energy_kwh), default, energy_kwh))
    mean = np.nanmean(energy_kwh, axis=0)
    public = public_settings(epsilon, 1e-5, x.shape, CONFIG["mechanisms"], CONFIG["mixture"], CONFIG["profiles"])
    begin, refused = time.perf_counter(), False
    try:
        check_worth(public, CONFIG)
    except InputError:
        refused = True
    said = time.perf_counter()
    mechanism, of_mixture, of_synthetic = Proven.calibrate(public), [], []
    for number in range(releases):
        released = mechanism.release(PrivateRecords(x), StudyNoise(SEED, "worth", number, repr(epsilon), len(x)), 1)
        beside, numbers = released.marginals, StudyNoise(SEED, "synthetic", number)
        profiles = sample_reweighted(beside.reference, beside.exponents, SYNTHETIC, numbers)
        of_mixture.append(average_profile_kwh(released.mixtures, scale)[0] / mean)
        of_synthetic.append(scale.clipped_kwh(profiles).mean(axis=0) / mean)
    seconds = (time.perf_counter() - said) / releases, said - begin
    return seconds, refused, np.array(of_mixture), np.array(of_synthetic)


def absurd(ratio: np.ndarray) -> np.ndarray:
    """Return which releases have an hour off by more than a factor of two."""
    return ((ratio > FACTOR) | (ratio < 1 / FACTOR)).any(axis=1)


def summary(refused: bool, **ratios: np.ndarray) -> str:
    """Return the quality of a case as one line."""
    words = [
        f"{name} {ratio.min():.2f} to {ratio.max():.2f}, {np.count_nonzero(absurd(ratio))} of {len(ratio)} off"
        for name, ratio in ratios.items()
    ]
    return "; ".join(["refused" if refused else "released", *words])


def cases(readings: str | None):
    """Yield the name and the energies of every case."""
    for name, energy in simulated(500).items():
        yield f"utility '{name}'", energy[:100]
        yield f"utility '{name}'", energy
    if readings is not None:
        yield from real(readings).items()


def main(readings: str | None = None) -> None:
    """Run all cases and write the table."""
    rows = []
    for name, energy in cases(readings):
        for epsilon in EPSILONS[100 if len(energy) <= 100 else 500]:
            (ours, said), refused, mixture, synthetic = judge(energy, epsilon)
            case, quality = (
                f"{name}, N = {len(energy)}, epsilon {epsilon:g}",
                summary(refused, mixture=mixture, synthetic=synthetic),
            )
            rows.append(
                (case, ours, "saying beforehand what it is worth", said, said / ours, quality, os.getloadavg()[0])
            )
            print(case, quality, sep=": ", flush=True)
    write("worth", rows)


if __name__ == "__main__":
    main(*sys.argv[1:2])
