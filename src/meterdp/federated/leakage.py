"""How much an adversary's view says about the record of one node: mutual information, estimated and exact.

The estimator is the first one of Kraskov, Stögbauer and Grassberger (2004), which Li et al. use through npeet: k = 3
neighbours in the maximum norm. It is written here because the maintained package (infomeasure 0.6) breaks ties by
noise without a seed and brings two more compiled packages along, and scikit-learn's takes one column at a time.
Its bias is downwards where two quantities hang closely together: an infinite information it puts at about ln N.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma
from scipy.stats import t as student

from meterdp.errors import InputError

NEIGHBOURS = 3
# Standard deviations of a column; noise of this size breaks ties, which would be neighbours at distance zero.
JITTER = 1e-10
BATCHES = 20
_ROUNDING = 1e-12


def mutual_information(
    x: np.ndarray, view: np.ndarray, generator: np.random.Generator, neighbours: int = NEIGHBOURS
) -> float:
    """Estimate the mutual information of two continuous quantities.

    Parameters
    ----------
    x : (N, p) float64
        One row per independent trial.
    view : (N, r) float64
    generator : numpy.random.Generator
        Breaks ties.
    neighbours : int
        k.

    Returns
    -------
    float
        In nats; below zero at times, where there is none.

    Raises
    ------
    InputError
        If there are no more trials than neighbours.
    """
    if len(x) <= neighbours:
        raise InputError("has too few trials", field="trials", hint=f"use more than {neighbours}")
    x, view = _spread_out(x, generator), _spread_out(view, generator)
    joint = np.hstack([x, view])
    reach = cKDTree(joint).query(joint, k=[neighbours + 1], p=np.inf)[0][:, 0]
    strictly = np.nextafter(reach, 0)
    counts = [cKDTree(part).query_ball_point(part, strictly, p=np.inf, return_length=True) for part in (x, view)]
    # A point counts itself, which is the "+ 1" of the paper's (8).
    return float(digamma(neighbours) + digamma(len(x)) - sum(digamma(c).mean() for c in counts))


def _spread_out(part: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return columns of unit standard deviation without ties; a column that never changes says nothing and goes."""
    part = np.asarray(part, dtype=np.float64)
    std = part.std(axis=0)
    # What varies by rounding alone does not vary.
    varies = std > _ROUNDING * np.abs(part).max(axis=0, initial=0.0)
    scaled = part[:, varies] / std[varies] if varies.any() else np.zeros((len(part), 1))
    return scaled + JITTER * generator.standard_normal(scaled.shape)


@dataclass(frozen=True)
class Information:
    """An estimated mutual information, in nats.

    Parameters
    ----------
    value : float
        From all trials together.
    standard_error : float
        From batches; NaN where there are too few trials for them.
    batches : int
    """

    value: float
    standard_error: float
    batches: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval by Student's t. It covers chance, not the estimator's bias."""
        reach = student.ppf((1 + confidence) / 2, max(self.batches - 1, 1)) * self.standard_error
        return self.value - reach, self.value + reach


def estimate(
    x: np.ndarray,
    view: np.ndarray,
    generator: np.random.Generator,
    neighbours: int = NEIGHBOURS,
    batches: int = BATCHES,
) -> Information:
    """Estimate the mutual information of :func:`mutual_information` with its standard error.

    A bootstrap repeats trials, and two equal trials are each other's nearest neighbours; so the trials are cut into
    independent batches, whose variance shrinks with their size (Holmes and Nemenman 2019).
    """
    whole = mutual_information(x, view, generator, neighbours)
    if len(x) < batches * (neighbours + 1):
        return Information(whole, float("nan"), 1)
    parts = np.array_split(np.arange(len(x)), batches)
    values = [mutual_information(x[part], view[part], generator, neighbours) for part in parts]
    return Information(whole, float(np.std(values, ddof=1) / np.sqrt(batches)), batches)


def linfoot(information):
    """Return sqrt(1 - exp(-2 I)), Linfoot's informational correlation: |rho| of a normal pair, from 0 to 1."""
    return np.sqrt(-np.expm1(-2 * np.maximum(information, 0.0)))


# --- closed forms ---------------------------------------------------------------------------------------------------


def of_a_sum(group: int) -> float:
    """Return I(X_1; X_1 + ... + X_h) of h independent normal records of one variance: 1/2 ln(h/(h - 1)).

    Parameters
    ----------
    group : int
        h; the sum over one node is its record, and the information infinite.
    """
    return float("inf") if group == 1 else 0.5 * np.log(group / (group - 1))


def of_masked(laplacian: np.ndarray, mask_std: float, node: int, record_std: float = 1.0) -> float:
    """Return what corrupt nodes learn of one number of an honest node by subspace perturbation with finite masks.

    They see z_i = s_i + (masks on the edges to honest nodes), where the masks of an edge cancel between its ends: the
    covariance of z is that of s plus mask_std^2/2 times the Laplacian.

    Parameters
    ----------
    laplacian : (h, h) float64
        Of the graph of honest nodes.
    mask_std : float
        Standard deviation of a dual variable at the start.
    node : int
        Row of the node in question.
    record_std : float
        Of the independent normal numbers s.
    """
    # A determinant with and without one node; in the space of the Laplacian, where masks of any size are no trouble.
    values, vectors = np.linalg.eigh(laplacian)
    values[values < _ROUNDING * values[-1]] = 0.0
    shares = vectors[node] ** 2 / (1 + mask_std**2 / (2 * record_std**2) * values)
    left = 1 - shares.sum()
    return float("inf") if left < _ROUNDING else float(-0.5 * np.log(left))
