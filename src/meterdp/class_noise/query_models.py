"""What every noise design sees and returns: the distributions of the queries, the budget, what is done to each
label's query.

Section IV of Ramakrishna et al.: q | X ~ N(mu_X, Sigma_X), released G_X q + m_X + eta with eta ~ N(0, C_X) and the
accuracy budget (13). The paper's designs have G_X = I and m_X = 0; `joint` uses m_X, `transport` G_X. What counts as
randomness of a query is a choice, and each means something else to a reader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from meterdp.errors import InputError

QueryModel = Literal["deterministic", "stochastic", "published"]

QUERY_MODELS: tuple[QueryModel, ...] = get_args(QueryModel)

# What counts as random, in a line.
RANDOMNESS: dict[QueryModel, str] = {
    "deterministic": "only the added noise counts",
    "stochastic": "the spread of the forecast over all pasts counts as well as the noise",
    "published": "distribution (57) of the future counts, which is not that of the forecast: no guarantee",
}
PREDICTABLE = "No protection against anyone who knows or can predict this household's readings."
# The same with what it means for the household.
MODEL_WORDS: dict[QueryModel, str] = {
    "deterministic": f"{RANDOMNESS['deterministic']}; the adversary may know every household's forecast, and so the "
    "distribution of every household's noise, which is computed from them",
    "stochastic": f"{RANDOMNESS['stochastic']}. {PREDICTABLE}",
    "published": f"{RANDOMNESS['published']}. {PREDICTABLE}",
}


AccuracyConvention = Literal["per_entry", "total"]


@dataclass(frozen=True)
class ClassQueries:
    """The queries of all H labels and which labels must be indistinguishable.

    ``mean_log_kwh`` (H, k) is mu_X; ``covariance`` (H, k, k) is Sigma_X as far as it counts as protection, (log
    kWh)^2, zero for deterministic queries; ``pairs`` (P, 2) are edges (X, X') of (1), as positions, both directions.
    """

    mean_log_kwh: np.ndarray
    covariance: np.ndarray
    pairs: np.ndarray

    @property
    def entries(self) -> int:
        """Length k of a query."""
        return self.mean_log_kwh.shape[1]


def class_queries(
    mean_log_kwh,
    distribution_covariance,
    pairs,
    query_model: QueryModel = "deterministic",
    *,
    query_mean_log_kwh=None,
    query_covariance=None,
) -> ClassQueries:
    """Return the queries of forecasts (H, k) under a query model.

    "deterministic" (section III-D): an adversary may know the past and so the forecast; only added noise protects.
    "stochastic": the forecast is random over all pasts, with the distribution of the forecast itself, which
    ``query_mean_log_kwh`` (H, k) and ``query_covariance`` (H, k, k) give. "published": distribution (57) of the
    future about each forecast, ``distribution_covariance`` (H, k, k), counts as randomness of the forecast, which it
    is not (defect R9).
    """
    if query_model not in QUERY_MODELS:
        raise InputError("is not a query model", field="query_model", hint=f"use one of {', '.join(QUERY_MODELS)}")
    mean = np.asarray(mean_log_kwh, dtype=float)
    covariance = np.asarray(distribution_covariance, dtype=float)
    if query_model == "deterministic":
        covariance = np.zeros_like(covariance)
    elif query_model == "stochastic":
        if query_mean_log_kwh is None or query_covariance is None:
            raise ValueError("the stochastic query model needs the distribution of the forecast itself")
        mean, covariance = np.asarray(query_mean_log_kwh, dtype=float), np.asarray(query_covariance, dtype=float)
    return ClassQueries(mean, covariance, np.asarray(pairs, dtype=np.int64).reshape(-1, 2))


@dataclass(frozen=True)
class Budget:
    """Accuracy budget of the noise, (log kWh)^2.

    The paper uses two conventions (defect R1). "per_entry": rho is the mean squared error per entry, Definition 2 and
    (44); the trace of the noise covariance is k rho. "total": rho is the trace itself, (50) and the white baseline.
    """

    rho: float
    accuracy_convention: AccuracyConvention = "total"

    def __post_init__(self):
        if not (np.isfinite(self.rho) and self.rho >= 0):
            raise InputError("is not a non-negative number", field="rho", hint="give the noise budget, e.g. 0.45")
        if self.accuracy_convention not in ("per_entry", "total"):
            raise InputError(
                "is not an accuracy convention", field="accuracy_convention", hint="use 'per_entry' or 'total'"
            )

    def squared_error(self, entries: int) -> float:
        """Allowed E|q~ - q|^2 of a query with ``entries`` entries; for noise of mean zero, the trace of C_X."""
        return self.rho * entries if self.accuracy_convention == "per_entry" else self.rho


@dataclass(frozen=True)
class DesignReport:
    """How a design ended, for the study; the defaults are those of a closed form.

    ``white_label_count`` counts labels that fell back to white noise because (50) is 0/0. The surrogates are J of
    (47) at white noise, where the descent ended, and after the rescaling (50). ``certified_gap`` is a certified
    relative distance from the optimum of the worst component, where a bound is known; ``sentence`` is what must be
    said wherever the design is reported.
    """

    iteration_count: int = 0
    halved_step_count: int = 0
    white_label_count: int = 0
    stop_reason: str = "closed form"
    surrogate_white: float | None = None
    surrogate_descended: float | None = None
    surrogate_released: float | None = None
    certified_gap: float | None = None
    sentence: str = ""


@dataclass(frozen=True)
class Noise:
    """What a design does to the query of every label: q~ = G_X q + m_X + eta, eta ~ N(0, C_X).

    ``covariance`` (H, k, k) is C_X, (log kWh)^2; ``shift`` (H, k) is m_X, log kWh, zero if left out; ``gain`` (H, k,
    k) is G_X, the identity if left out.
    """

    covariance: np.ndarray
    shift: np.ndarray | None = None
    gain: np.ndarray | None = None
    report: DesignReport = DesignReport()

    @property
    def is_nothing(self) -> bool:
        """Whether every query is released as it is."""
        return self.shift is None and self.gain is None and not self.covariance.any()

    def released(self, queries: ClassQueries) -> ClassQueries:
        """Return the distributions of what is released, (25)-(26), with the pairs of ``queries``."""
        return ClassQueries(self.apply(queries.mean_log_kwh), self._spread(queries.covariance), queries.pairs)

    def apply(self, query_log_kwh: np.ndarray) -> np.ndarray:
        """Return G_X q + m_X for queries (H, k): what is released, except for the noise."""
        moved = query_log_kwh if self.gain is None else np.einsum("hij,hj->hi", self.gain, query_log_kwh)
        return moved if self.shift is None else moved + self.shift

    def squared_error(self, queries: ClassQueries) -> np.ndarray:
        """Return E|q~ - q|^2 of every label (12), (log kWh)^2, (H,)."""
        moved = self.apply(queries.mean_log_kwh) - queries.mean_log_kwh
        error = np.trace(self.covariance, axis1=1, axis2=2) + np.sum(moved**2, axis=1)
        if self.gain is None:
            return error
        change = self.gain - np.eye(queries.entries)
        return error + np.einsum("hij,hjk,hik->h", change, queries.covariance, change)

    def _spread(self, covariance: np.ndarray) -> np.ndarray:
        if self.gain is None:
            return covariance + self.covariance
        return self.gain @ covariance @ np.swapaxes(self.gain, 1, 2) + self.covariance


# Queries and budget in, the noise of every label out, no randomness.
NoiseDesign = Callable[[ClassQueries, Budget], Noise]
