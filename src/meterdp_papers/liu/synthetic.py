"""Figs 1 to 4 of Liu et al. (Section V-A): KL divergence on synthetic mixtures, a fresh one in every trial.

pi ~ Dirichlet(1), means uniform on [-10, 10]^d, covariances ~ Wishart(I, d + 1 degrees of freedom); K = 5, d = 3,
N = 1000, epsilon = 1 unless varied. Random numbers are keyed by (figure, abscissa, trial): results do not depend on
how the trials are split into jobs. In Fig. 1 one data set serves every epsilon.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from meterdp.core.noise import StudyNoise
from meterdp.core.progress import progress
from meterdp.mechanisms.published.labelled import LabelledRecords
from meterdp.mixture.divergence import kl_joint
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import fit_labels
from meterdp.mixture.sampling import sample
from meterdp.privacy.noise import NoiseSource
from meterdp_papers.liu.setting import EPSILONS, VARIANTS, curve, read, releases

MEAN_BOUND = 10.0
DATA = "synthetic Gaussian mixtures, a fresh one in every trial"


@dataclass(frozen=True)
class Setting:
    """One point of a figure: K classes, dimension d, N records, privacy parameter."""

    classes: int = 5
    dimension: int = 3
    records: int = 1000
    epsilon: float = 1.0


@dataclass(frozen=True)
class Sweep:
    """What a figure varies and over which values; the paper prints none of them."""

    varied: str
    values: tuple[float, ...]

    def setting(self, x: float) -> Setting:
        """Return the setting at abscissa ``x``."""
        return replace(Setting(), **{self.varied: x if self.varied == "epsilon" else int(x)})


SWEEPS = {
    "fig1": Sweep("epsilon", EPSILONS),
    "fig2": Sweep("records", (500, 1000, 2000, 4000, 8000)),
    "fig3": Sweep("classes", (2, 5, 10, 15, 20)),
    "fig4": Sweep("dimension", (2, 3, 5, 8, 10)),
}


def draw_mixture(setting: Setting, noise: NoiseSource) -> Mixture:
    """Draw the true mixture of one trial."""
    k, d = setting.classes, setting.dimension
    exponential = -np.log1p(-noise.uniform((k,)))  # normalised: Dirichlet with all parameters one
    means = MEAN_BOUND * (2 * noise.uniform((k, d)) - 1)
    columns = noise.normal((k, d, d + 1))
    return Mixture(exponential / exponential.sum(), means, columns @ np.swapaxes(columns, 1, 2))


def draw_data_set(setting: Setting, noise: NoiseSource, eigenvalue_floor: float) -> tuple[LabelledRecords, int]:
    """Draw mixtures and records until every class has more than d records, and fit them by (2a)-(2c).

    Returns how many were discarded, too: with N_k <= d the covariance (2c) is singular and the divergence infinite.
    """
    redrawn = 0
    while True:
        x, labels = sample(draw_mixture(setting, noise), setting.records, noise)
        counts = np.bincount(labels, minlength=setting.classes + 1)[1:]
        if (counts > setting.dimension).all():
            return LabelledRecords(x, fit_labels(x, labels, eigenvalue_floor)), redrawn
        redrawn += 1


def run_trials(figure: str, trials: Iterable[int], eigenvalue_floor: float, seed: int) -> pd.DataFrame:
    """Run every mechanism once per trial and abscissa of fig1 to fig4: columns of ``liu_trials``."""
    sweep = SWEEPS[figure]
    rows = []
    for trial in progress(list(trials), f"{figure}, trials"):
        for x in sweep.values:
            setting = sweep.setting(x)
            # Fig. 1 is paired over epsilon: same data set, and (23) is solved once for all of them.
            if sweep.varied != "epsilon" or x == sweep.values[0]:
                key = "every" if sweep.varied == "epsilon" else repr(x)
                stream = StudyNoise(seed, "reproduce liu", figure, "data", key, trial)
                private, redrawn = draw_data_set(setting, stream, eigenvalue_floor)
                records, smallest = read(private), private.fit.counts.min()
            for variant in VARIANTS:
                # The same random numbers for every variant of a mechanism.
                noise = StudyNoise(seed, "reproduce liu", figure, variant.mechanism, repr(x), trial)
                released = releases(variant, records, setting.epsilon, eigenvalue_floor, noise, 1)
                kl = kl_joint(released, private.fit.mixture)[0]
                names = variant.mechanism, variant.family, variant.flips, variant.over_classes
                rows.append((figure, float(x), trial, *names, kl, redrawn, smallest))
    of_variant = ("mechanism", "family", "flips", "over_classes")
    names = ("figure", "x", "trial", *of_variant, "kl", "redrawn_count", "smallest_class_count")
    return pd.DataFrame(rows, columns=names)


def summarise(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of ``liu_curve`` from all trials of one figure."""
    return curve(trials, SWEEPS[trials["figure"].iloc[0]].varied, DATA, None)
