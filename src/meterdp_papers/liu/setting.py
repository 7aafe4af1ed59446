"""What every figure of Liu et al. shares: the setting, the mechanisms compared, and how trials become a curve.

Section V of the paper. The mechanisms are those of the registry that protect a label: families ``published`` and
``exact``, and the sound one for given labels. The sound release of households protects something else and does not
belong on the same axes. A mechanism is run once for every choice of a variant that concerns it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.interface import Mechanism, PublicSettings
from meterdp.mechanisms.reference.baseline import Baseline
from meterdp.mechanisms.reference.label_flip import LabelledRecords
from meterdp.mechanisms.registry import MECHANISMS
from meterdp.mixture.density import kl_joint
from meterdp.mixture.draws import MixtureDraws
from meterdp.privacy.noise import NoiseSource
from meterdp_papers.liu import tables as liu

COMPARED = {name: kind for name, kind in MECHANISMS.items() if kind.sees == "labels"}


@dataclass(frozen=True)
class Run:
    """One way to run a mechanism."""

    mechanism: str  # name in the registry
    # {"all", "leaving", "any"}, as of `LabelledRecords`
    flips: str = liu.ANY
    # {"parallel", "common", "split", "any"}, as of `Baseline`
    over_classes: str = liu.ANY

    @property
    def family(self) -> str:
        """'published', 'exact' or 'sound'."""
        return COMPARED[self.mechanism].family

    def calibrate(self, public: PublicSettings) -> Mechanism:
        """Return the mechanism for these public settings."""
        found = COMPARED[self.mechanism].calibrate(public)
        return found if self.over_classes == liu.ANY else replace(found, over_classes=self.over_classes)

    def of(self, variant: liu.Variant) -> bool:
        """Whether this belongs to a variant."""
        return variant.has(self.flips, self.over_classes)

    def records(self, private: Mapping[str, LabelledRecords]) -> LabelledRecords:
        """Return the records under the variant of (10) of this run, from :func:`read`."""
        return private["all" if self.flips == liu.ANY else self.flips]


RUNS = tuple(
    Run(name, flips, over_classes)
    for name, kind in COMPARED.items()
    for flips in (liu.FLIPS if kind.family == "published" else (liu.ANY,))
    for over_classes in (liu.OVER_CLASSES if issubclass(kind, Baseline) else (liu.ANY,))
)


def read(private: LabelledRecords) -> dict[str, LabelledRecords]:
    """Return the same records under every variant of (10)."""
    return {flips: private if flips == private.flips else replace(private, flips=flips) for flips in liu.FLIPS}


PROPOSED = "kl_published"
DELTA = 1e-5
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)  # the paper does not print its values
MARGINAL_EPSILON = 2.0
BOUND = 1e3
# The profile of Section V-C, whatever that of the study is.
HALF_DAY = {"vector": "half_day", "start_hour": 12, "hours": 12}
SIMULATED_EXPORT = "simulated export"  # how the data are named where the export is simulated


def share_of(trials: int, share: float) -> int:
    """Return how many trials a figure runs in a study with so many: its share, at least one for each of four jobs."""
    return max(min(trials, 4), round(share * trials))


def public_settings(private: LabelledRecords, epsilon: float, eigenvalue_floor: float) -> PublicSettings:
    """Return the setting of the paper for these records.

    The bounds are so wide that no record of the paper's settings meets them; label flips need none.
    """
    n, d = private.x.shape
    return PublicSettings(
        epsilon, DELTA, private.fit.mixture.classes, d, n, -BOUND, BOUND, eigenvalue_floor=eigenvalue_floor
    )


def releases(
    run: Run,
    private: Mapping[str, LabelledRecords],
    epsilon: float,
    eigenvalue_floor: float,
    noise: NoiseSource,
    draws: int,
) -> MixtureDraws:
    """Make one run ``draws`` times on records from :func:`~meterdp_papers.liu.setting.read`."""
    records = run.records(private)
    mechanism = run.calibrate(public_settings(records, epsilon, eigenvalue_floor))
    return mechanism.release(records, noise, draws).mixtures


def fixed_data_releases(
    figure: str,
    private: LabelledRecords,
    epsilon: float,
    eigenvalue_floor: float,
    draws: int,
    seed: int,
    given_labels: bool = True,
    runs: tuple[Run, ...] = RUNS,
) -> dict[Run, MixtureDraws]:
    """Return the releases of every mechanism from one data set; the same for every figure drawn from it.

    All runs of a mechanism use the same random numbers, so variants are compared without noise between them.
    Without ``given_labels`` these were found in the records: no sound release may build on them (defect L11).
    """
    records = read(private)
    return {
        run: releases(
            run,
            records,
            epsilon,
            eigenvalue_floor,
            StudyNoise(seed, "reproduce liu", figure, repr(float(epsilon)), run.mechanism),
            draws,
        )
        for run in runs
        if given_labels or run.family != "sound"
    }


def kl_trials(
    figure: str, epsilon: float, drawn: Mapping[Run, MixtureDraws], private: LabelledRecords
) -> pd.DataFrame:
    """Return one row per run and release from one data set: what :func:`curve` takes."""
    return pd.concat(
        pd.DataFrame(
            {
                "figure": figure,
                "x": float(epsilon),
                "trial": np.arange(len(mixtures)),
                "mechanism": run.mechanism,
                "family": run.family,
                "flips": run.flips,
                "over_classes": run.over_classes,
                "kl": kl_joint(mixtures, private.fit.mixture),
                "redrawn_count": 0,
            }
        )
        for run, mixtures in drawn.items()
    )


def curve(trials: pd.DataFrame, x_name: str, data: str, substitute: str | None) -> pd.DataFrame:
    """Summarise trials as the table ``liu_curve``, once for every variant.

    Trials have the columns figure, x, trial, mechanism, family, flips, over_classes, kl and redrawn_count; every
    run has the same trials. ``data`` says what they were made on, ``substitute`` what that stands for.
    """
    return pd.concat(
        curve_under(variant.rows(trials), variant.name, x_name, data, substitute) for variant in liu.VARIANTS
    )


def curve_under(trials: pd.DataFrame, variant: str, x_name: str, data: str, substitute: str | None) -> pd.DataFrame:
    """Summarise the trials of one variant, each mechanism once; arguments as of :func:`curve`."""
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
    out = out.join(summary(groups["kl"], "kl")).reset_index()
    return out.assign(reading=variant, x_name=x_name, data=data, substitute=substitute)


def summary(groups, name: str) -> pd.DataFrame:
    """Return mean, standard error, median, quartiles and number of values per group: columns ``<name>_mean`` etc."""
    out = groups.agg(["mean", "sem", "median", "count"])
    out.columns = [f"{name}_mean", f"{name}_se", f"{name}_median", "trials"]
    return out.assign(**{f"{name}_q25": groups.quantile(0.25), f"{name}_q75": groups.quantile(0.75)})
