"""What more households are worth: the held-out likelihood of a released mixture against N and epsilon.

``python benchmarks/size.py FOLDER``, the folder that ``python benchmarks/scale.py HOMES --folder FOLDER`` made. The
mixture is that of its configuration, of so many of its homes; 50,000 others are held out. Then of all homes with ever
less epsilon, down to what 10,000 homes have at epsilon 1. A row per N and epsilon in results/benchmarks/size.parquet:
nats a record, mean and deviation over draws.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from table import ROOT, write, write_on_page

from meterdp.cli import configurations
from meterdp.core.config import complete
from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import read_table
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mixture.density import mean_log_likelihood
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records
from meterdp.release.mixture import configured

SEED, HELD_OUT = 3, 50_000
SIZES, SMALLER_EPSILONS = (10_000, 100_000), (0.1, 0.03, 0.01, 0.005, 0.003)
# Three of all homes, which take half a minute each.
DRAWS_OF = {10_000: 20, 100_000: 4}


def page(rows: list[dict]) -> str:
    """Return the table of what was measured."""
    lines = [
        "| homes | ε | held-out log-likelihood, nats a home | processor seconds of a release |",
        "|" + " --- |" * 4,
    ]
    for row in rows:
        nats = f"{row['nats']:.2f} ± {row['nats_std'] / np.sqrt(row['draws']):.2f}"
        lines.append(f"| {row['homes']:,} | {row['epsilon']:g} | {nats} | {row['processor_s']:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--docs", action="store_true", help="write the table of docs/scale.md")
    asked = parser.parse_args()
    folder = asked.folder
    config = complete(*configurations([ROOT / "config/config.yaml", folder / "config.yaml"]))
    records = Records.from_table(read_table(folder / "results/private/profiles.parquet", PROFILES))
    x = records.log_kwh[records.valid]
    x = x[np.random.default_rng(SEED).permutation(len(x))]
    held_out, x = x[:HELD_OUT], x[HELD_OUT:]
    rows = []
    for n, epsilon in [*((n, 1.0) for n in (*SIZES, len(x))), *((len(x), e) for e in SMALLER_EPSILONS)]:
        public = replace(configured(config, n), epsilon=epsilon)
        draws, begin = DRAWS_OF.get(n, 3), time.process_time()
        released = Proven.calibrate(public).release(PrivateRecords(x[:n]), StudyNoise(SEED, n), draws)
        seconds = (time.process_time() - begin) / draws
        nats = mean_log_likelihood(held_out, released.mixtures)
        spread = float(nats.std(ddof=1))
        row = {"homes": n, "epsilon": epsilon, "draws": draws, "nats": float(nats.mean()), "nats_std": spread}
        rows.append(row | {"components": public.classes, "processor_s": seconds, "load": f"{os.getloadavg()[0]:.1f}"})
        print(rows[-1], flush=True)
    write("size", rows)
    if asked.docs:
        write_on_page("scale.md", "size.py", page(rows))


if __name__ == "__main__":
    main()
