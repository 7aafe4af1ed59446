"""What every figure of Liu et al. shares: the setting, the mechanisms compared, and how trials become a curve.

Section V of the paper. The mechanisms are those of the registry that protect a label: families ``published`` and
``exact``, and the sound one for given labels. The sound release of households protects something else and does not
belong on the same axes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from meterdp.core.noise import NoiseSource
from meterdp.mechanisms.interface import Mechanism, PublicSettings
from meterdp.mechanisms.published.labelled import LabelledRecords
from meterdp.mechanisms.registry import MECHANISMS
from meterdp.mixture.divergence import kl_joint
from meterdp.mixture.draws import MixtureDraws
from meterdp.release.noise import StudyNoise

PROPOSED = "kl_published"
DELTA = 1e-5
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)  # the paper does not print its values
MARGINAL_EPSILON = 2.0
BOUND = 1e3
COMPARED = {name: kind for name, kind in MECHANISMS.items() if kind.sees == "labels"}


def public_settings(private: LabelledRecords, epsilon: float, eigenvalue_floor: float) -> PublicSettings:
    """Return the setting of the paper for these records.

    The bounds are so wide that no record of the paper's settings meets them; label flips need none.
    """
    n, d = private.x.shape
    return PublicSettings(
        epsilon, DELTA, private.fit.mixture.classes, d, n, -BOUND, BOUND, eigenvalue_floor=eigenvalue_floor
    )


def calibrated(name: str, private: LabelledRecords, epsilon: float, eigenvalue_floor: float) -> Mechanism:
    """Return one of :data:`COMPARED`, calibrated."""
    return COMPARED[name].calibrate(public_settings(private, epsilon, eigenvalue_floor))


def releases(
    name: str, private: LabelledRecords, epsilon: float, eigenvalue_floor: float, noise: NoiseSource, draws: int
) -> MixtureDraws:
    """Run one mechanism of :data:`COMPARED` ``draws`` times on these records."""
    return calibrated(name, private, epsilon, eigenvalue_floor).release(private, noise, draws).mixtures


def fixed_data_releases(
    figure: str,
    private: LabelledRecords,
    epsilon: float,
    eigenvalue_floor: float,
    draws: int,
    seed: int,
    given_labels: bool = True,
) -> dict[str, MixtureDraws]:
    """Return the releases of every mechanism from one data set; the same for every figure drawn from it.

    Parameters
    ----------
    figure : str
        Names the streams of noise.
    private : LabelledRecords
    epsilon, eigenvalue_floor : float
    draws : int
        Releases per mechanism.
    seed : int
        Seed of the study.
    given_labels : bool
        False where labels were found in the records: no sound release may build on those (defect L11).
    """
    return {
        name: releases(
            name,
            private,
            epsilon,
            eigenvalue_floor,
            StudyNoise(seed, "reproduce liu", figure, repr(float(epsilon)), name),
            draws,
        )
        for name, kind in COMPARED.items()
        if given_labels or kind.family != "sound"
    }


def kl_trials(
    figure: str, epsilon: float, drawn: Mapping[str, MixtureDraws], private: LabelledRecords
) -> pd.DataFrame:
    """Return one row per mechanism and release from one data set: what :func:`curve` takes."""
    return pd.concat(
        pd.DataFrame(
            {
                "figure": figure,
                "x": float(epsilon),
                "trial": np.arange(len(mixtures)),
                "mechanism": name,
                "family": COMPARED[name].family,
                "kl": kl_joint(mixtures, private.fit.mixture),
                "redrawn_count": 0,
            }
        )
        for name, mixtures in drawn.items()
    )


def curve(trials: pd.DataFrame, x_name: str, data: str, substitute: str | None) -> pd.DataFrame:
    """Summarise trials as the table ``liu_curve``.

    Parameters
    ----------
    trials : DataFrame
        Columns figure, x, trial, mechanism, family, kl, redrawn_count; every mechanism has the same trials.
    x_name : str
        What x is.
    data, substitute : str or None
        What the trials were made on, and what that stands for.
    """
    proposed = trials[trials["mechanism"] == PROPOSED].set_index(["x", "trial"])["kl"]
    at_proposed = proposed.reindex(pd.MultiIndex.from_frame(trials[["x", "trial"]])).to_numpy()
    excess = trials["kl"].to_numpy() - at_proposed
    groups = trials.assign(excess=excess, below=excess < 0).groupby(
        ["figure", "mechanism", "family", "x"], sort=False
    )
    out = groups.agg(
        excess_mean=("excess", "mean"),
        excess_se=("excess", "sem"),
        below_proposed_share=("below", "mean"),
        redrawn_count=("redrawn_count", "sum"),
    )
    return out.join(summary(groups["kl"], "kl")).reset_index().assign(x_name=x_name, data=data, substitute=substitute)


def summary(groups, name: str) -> pd.DataFrame:
    """Return mean, standard error, median, quartiles and number of values per group: columns ``<name>_mean`` etc."""
    out = groups.agg(["mean", "sem", "median", "count"])
    out.columns = [f"{name}_mean", f"{name}_se", f"{name}_median", "trials"]
    return out.assign(**{f"{name}_q25": groups.quantile(0.25), f"{name}_q75": groups.quantile(0.75)})
