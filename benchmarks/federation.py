"""What it costs a sound release that t colluding circuits of 12 see no more than epsilon, in nats per household.

``python benchmarks/federation.py`` simulates the default export and measures, at epsilon 1, 2 and 4 and as a study
does (five folds, the default configuration), the log-likelihood of held-out households under 100 releases a fold.
Every scheme and every t has the random numbers of the release by one holder of all readings, so that losses are
paired, except for the number of rounds, which follows from the noise. One row per epsilon, scheme and t in
results/benchmarks/federation.parquet: h, the circuits that colluding ones cannot tell apart; the factor on the noise,
sqrt(12/h); and the loss against one holder, mean and standard error over folds.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache

import numpy as np
from sound import ROOT, log_likelihood, profiles
from table import write

from meterdp.core.config import complete, load_schema
from meterdp.core.noise import StudyNoise
from meterdp.evaluation.cost import FOLDS
from meterdp.federated import graph
from meterdp.federated.shared_noise import shares_for
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ALONE, Shares

CIRCUITS, EPSILONS, DRAWS, SEED = 12, (1.0, 2.0, 4.0), 100, 777
SCHEMES = {"edge_masks": (0, 1, 3, 6), "secure_sum": (0, 1, 3, 6), "federated": (0,)}


def main() -> None:
    """Run all cases and write the table."""
    config = complete({}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))
    with tempfile.TemporaryDirectory() as folder:
        records = profiles(folder)
    x, valid = records.log_kwh, records.valid
    fold_of = StudyNoise(SEED, "folds").uniform((len(x),)).argsort().argsort() % FOLDS

    @cache
    def held_out(epsilon: float, shares: Shares) -> np.ndarray:
        """Return log-likelihoods per household, (folds, draws)."""
        out = []
        for f in range(FOLDS):
            train = x[fold_of != f]
            sections = (config["mechanisms"], config["mixture"], config["profiles"])
            public = public_settings(epsilon, config["mechanisms"]["delta"], train.shape, *sections, shares=shares)
            noise = StudyNoise(SEED, "sound", f, repr(epsilon))
            released = Proven.calibrate(public).release(PrivateRecords(train), noise, DRAWS)
            out.append(log_likelihood(x[(fold_of == f) & valid], released.mixtures))
        return np.array(out)

    rows = []
    for epsilon in EPSILONS:
        alone = held_out(epsilon, ALONE)
        for scheme, colluding in SCHEMES.items():
            for t in colluding:
                shares = shares_for(scheme, graph.complete(CIRCUITS), t)
                # What t is matters through h alone.
                own = held_out(epsilon, replace(shares, colluding=0))
                lost = (alone - own).mean(axis=1)
                rows.append(
                    {
                        "epsilon": epsilon,
                        "scheme": scheme,
                        "colluding": t,
                        "honest": shares.honest,
                        "noise_factor": 1 / shares.seen_by_colluding,
                        "heldout_loglik_mean": own.mean(),
                        "lost_mean": lost.mean(),
                        "lost_se": lost.std(ddof=1) / np.sqrt(FOLDS),
                    }
                )
                print(
                    {name: value if isinstance(value, str) else round(value, 4) for name, value in rows[-1].items()}
                )
    write("federation", rows)


if __name__ == "__main__":
    main()
