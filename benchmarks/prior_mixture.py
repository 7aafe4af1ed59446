"""What the mixture of a release is worth, by default and without the prior mixture, beside EM without privacy.

``python benchmarks/prior_mixture.py`` takes single days of real homes, where their readings are here, and simulated
homes of two other utilities than those behind the prior mixture; held-out records are of other homes. One row per
data set, d, N and epsilon in results/benchmarks/prior_mixture.parquet: ``ours_s`` is seconds per release by default,
``other_s`` without the prior mixture. As quality, and as columns, held-out log-likelihoods in nats a record, means
over household splits and draws:

* ours, its deviation from draw to draw, and without the prior mixture,
* EM: the best of 1, 3, 6, 12 and 24 Gaussians without privacy, and one Gaussian,
* step: how much better than at the epsilon before, paired by draw, over its standard error.

Constants were chosen on 'shops', 'flat' (other seeds) and Swiss homes; 'later' and the Australian homes chose none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pandas as pd
from peers_parts.records import AUSTRALIAN_DAYS, SIMULATED, SWISS_DAYS, Pool, available, pool
from sound import fit_em
from table import ROOT
from utilities import DAY, LATER

from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import atomic_path
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ProvenSettings
from meterdp.mechanisms.proven.prior_mixture import SHIPPED, read_prior_mixture
from meterdp.mixture.density import mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws
from meterdp.simulate.load import hourly_log_kwh
from meterdp.simulate.parameters import SimulationParameters

BOUNDS_KWH = (0.01, 20.0)
LOW, HIGH = np.log(BOUNDS_KWH)
DELTA, MOST_CLASSES, FLOOR, SEED = 1e-5, 6, 1e-3, 9200
EPSILONS, SIZES, HOURS = (0.5, 1.0, 2.0, 4.0), (500, 1_409, 10_000), {24: 0, 12: 12}
EM_CLASSES = (1, 3, 6, 12, 24)
SPLITS, DRAWS, DRAWS_IN_PAIRS = 3, 8, 40
OTHER_UTILITY = "simulated homes, later"


def pools() -> Iterator[tuple[str, Pool]]:
    """Yield the data sets that are here."""
    for data in (SWISS_DAYS, AUSTRALIAN_DAYS, SIMULATED):
        if available(data):
            yield data, pool(data, 1, *BOUNDS_KWH)
    parameters = LATER.of(SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml"))
    x = hourly_log_kwh(parameters, SEED, 15_000, DAY, 1, BOUNDS_KWH)
    yield OTHER_UTILITY, Pool(x, np.arange(len(x)))


def releases(x: np.ndarray, epsilon: float, start_hour: int, prior: bool, draws: int) -> tuple[MixtureDraws, float]:
    """Return mixtures at one epsilon, their numbers the same at every epsilon, and seconds each."""
    prior_mixture = read_prior_mixture(SHIPPED, start_hour, x.shape[1]) if prior else None
    public = PublicSettings(
        epsilon,
        DELTA,
        MOST_CLASSES,
        x.shape[1],
        len(x),
        LOW,
        HIGH,
        FLOOR,
        sound=ProvenSettings(prior_mixture=prior_mixture),
    )
    begin = time.perf_counter()
    mixtures = Proven.calibrate(public).release(PrivateRecords(x), StudyNoise(SEED, *x.shape), draws).mixtures
    return mixtures, (time.perf_counter() - begin) / draws


def judged(of: Pool, n: int, d: int) -> Iterator[dict]:
    """Yield the numbers of every epsilon."""
    start, found = HOURS[d], {epsilon: [] for epsilon in EPSILONS}
    em, pairs = [], []
    for split in range(SPLITS):
        x, held_out = (part[:, start : start + d] for part in of.split(split, n))
        em.append([mean_log_likelihood(held_out, MixtureDraws.single(fit_em(x, k).mixture))[0] for k in EM_CLASSES])
        for epsilon in EPSILONS:
            row = []
            for prior in (True, False):
                draws = DRAWS_IN_PAIRS if prior and split == 0 else DRAWS
                mixtures, seconds = releases(x, epsilon, start, prior, draws)
                row += [mean_log_likelihood(held_out, mixtures), seconds]
            found[epsilon].append(row)
    em = np.mean(em, axis=0)
    for before, epsilon in pairwise((None, *EPSILONS)):
        ours, ours_s, other, other_s = zip(*found[epsilon], strict=True)
        step = None
        if before is not None:
            pairs = ours[0] - found[before][0][0]
            step = pairs.mean() / (pairs.std(ddof=1) / np.sqrt(len(pairs)))
        yield {
            "epsilon": epsilon,
            "ours_s": np.median(ours_s),
            "other_s": np.median(other_s),
            "ours": np.mean([v.mean() for v in ours]),
            "deviation": np.mean([v.std(ddof=1) for v in ours]),
            "without_prior": np.mean([v.mean() for v in other]),
            "best_em": em.max(),
            "one_gaussian": em[0],
            "step": step,
        }


def main() -> None:
    """Run all cases and write the table."""
    rows = []
    for data, of in pools():
        for d in HOURS:
            for n in SIZES:
                for row in judged(of, n, d):
                    shown = "; ".join(f"{k} {v:.2f}" for k, v in row.items() if v is not None and k[-2:] != "_s")
                    case = f"{data}, d = {d}, N = {n:,}, epsilon {row['epsilon']:g}"
                    print(case, shown, sep=": ", flush=True)
                    more = {"other": "sound without a prior mixture", "ratio": row["other_s"] / row["ours_s"]}
                    rows.append({"case": case, "data": data, "d": d, "n": n, **row, **more, "quality": shown})
                    rows[-1]["load"] = os.getloadavg()[0]
    with atomic_path(ROOT / "results/benchmarks/prior_mixture.parquet") as temporary:
        pd.DataFrame(rows).to_parquet(temporary)


if __name__ == "__main__":
    main()
