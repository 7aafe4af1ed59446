"""Study-mode releases of the mixture: one mechanism over all values of epsilon, and what it costs.

The one place where noise for the mixture is drawn. Seeded; every file says "not for release".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from meterdp.core.noise import StudyNoise
from meterdp.core.progress import progress
from meterdp.evaluation.cost import cost
from meterdp.evaluation.held_out import Fold, held_out_gap, split
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.published.labelled import LabelledRecords
from meterdp.mechanisms.registry import mechanism
from meterdp.mechanisms.sound.shares import ALONE, Shares
from meterdp.mixture.gmm import FITS, Fit
from meterdp.mixture.kmeans import kmeans_labels
from meterdp.profiles.vector import Records

# Releases per fold and epsilon that the held-out log-likelihood is averaged over.
HELD_OUT_DRAWS = 20


def study_folds(records: Records, mixture: Mapping, seed: int) -> list[Fold]:
    """Return the folds that every mechanism of a study is judged on; parameters are those of :func:`vary`."""
    return split(
        records.log_kwh,
        records.valid,
        mixture["classes"],
        lambda x, k: FITS[mixture["fit"]](x, kmeans_labels(x, k, seed), mixture["eigenvalue_floor"]),
        StudyNoise(seed, "mixture", "folds"),
    )


def vary(
    name: str,
    records: Records,
    fit: Fit,
    mechanisms: Mapping,
    mixture: Mapping,
    profiles: Mapping,
    seed: int,
    folds: list[Fold] | None = None,
    shares: Shares = ALONE,
) -> tuple[dict[str, list], dict[str, list]]:
    """Run one mechanism at every epsilon of the configuration.

    Parameters
    ----------
    name : str
        Name in the registry of mechanisms.
    records : Records
        All households of the export.
    fit : Fit
        Mixture fitted without privacy.
    mechanisms, mixture, profiles : mapping
        Sections of the configuration.
    seed : int
        Seed of the study.
    folds : list of Fold, optional
        From :func:`study_folds`, which keep what was fitted to them for the next mechanism.
    shares : Shares
        Of the noise of ``sound``, where circuits make it together.

    Returns
    -------
    variant, cost : dict of column to list
        Columns of the tables ``variant`` (first draw per epsilon) and ``cost``.
    """
    labelled = LabelledRecords(records.log_kwh[records.valid], fit)
    # A sound mechanism is handed nothing that was fitted without privacy.
    private = PrivateRecords(records.log_kwh) if mechanism(name).sees == "records" else labelled
    known = mechanisms["sound"]["adjacency"] == "replace_one"
    folds = study_folds(records, mixture, seed) if folds is None else folds
    variants: dict[str, list] = {}
    costs: dict[str, list] = {}
    for epsilon in progress(mechanisms["epsilons"], f"{name}, values of epsilon"):
        public = public_settings(
            float(epsilon), mechanisms["delta"], records.log_kwh.shape, mechanisms, mixture, profiles, shares=shares
        )
        noise = StudyNoise(seed, "mixture", name, repr(float(epsilon)))
        draws = min(mechanisms["draws"], mechanism(name).most_draws or mechanisms["draws"])
        result = cost(mechanism(name).calibrate(public), private, labelled, noise, draws)
        row = result.row | held_out_gap(
            folds,
            lambda n, public=public: mechanism(name).calibrate(replace(public, records=n) if known else public),
            private is labelled,
            mixture["classes"],
            noise,
            HELD_OUT_DRAWS,
        )
        for column, values in result.variant.items():
            variants.setdefault(column, []).extend(values)
        for column, value in row.items():
            costs.setdefault(column, []).append(value)
    return variants, costs
