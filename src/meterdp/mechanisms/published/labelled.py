"""Labelled records and the mixture fitted to them: what mechanisms that protect a label see."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.published.sensitivities import Flips, FlipSensitivities, flip_sensitivities, mean_changes
from meterdp.mechanisms.published.wishart_cost import CovarianceCosts, covariance_costs
from meterdp.mixture.gmm import Fit
from meterdp.solvers.ellipsoid import program as sdp


@dataclass(frozen=True)
class LabelledRecords(PrivateRecords):
    """Records with class labels and the mixture fitted to them: what the published and exact families see.

    Parameters
    ----------
    x : (N, d) float64
        Valid records only.
    fit : Fit
        Mixture fitted without privacy to ``x``, and the labels it was fitted to.
    flips : {"all", "leaving"}
        Reading of (10): which difference vectors coloured noise on means has to cover.
    """

    fit: Fit
    flips: Flips = "all"

    def __post_init__(self):
        super().__post_init__()
        if len(self.fit.labels) != len(self.x):
            raise ValueError("the records and the labels of the fit do not belong together")

    @property
    def labels(self) -> np.ndarray:
        """(N,) classes 1..K."""
        return self.fit.labels

    @cached_property
    def sensitivities(self) -> FlipSensitivities:
        """Largest changes under one label flip."""
        fit = self.fit
        return flip_sensitivities(self.x, fit.labels, fit.mixture.means, fit.sample_covariances)

    @cached_property
    def differences(self) -> tuple[np.ndarray, ...]:
        """Per class the difference vectors (M, d) of (10) and (19), log kWh."""
        return tuple(
            mean_changes(self.x, self.labels, self.fit.mixture.means, k + 1, self.flips)
            for k in range(len(self.fit.counts))
        )

    @cached_property
    def covariance_costs(self) -> CovarianceCosts:
        """Per class the divergence that Wishart noise costs, as a function of its gamma."""
        return covariance_costs(self.fit.mixture.covariances)

    def shapes(self, solver: str = "own") -> tuple[sdp.SdpSolution, ...]:
        """Return per class the solution of (23) at right-hand side one, whitened by the Cholesky factor of Sigma_k.

        Solved once per solver: Gamma_k^-1 scales as 1/epsilon_k^2.
        """
        return self._solved(solver, whiten=True)

    def plain_shapes(self, solver: str = "own") -> tuple[sdp.SdpSolution, ...]:
        """Return per class the minimum-trace Gamma_k^-1 at right-hand side one, weight I in place of Sigma_k^-1."""
        return self._solved(solver, whiten=False)

    @cached_property
    def _solutions(self) -> dict[tuple[str, bool], tuple[sdp.SdpSolution, ...]]:
        return {}

    def _solved(self, solver: str, whiten: bool) -> tuple[sdp.SdpSolution, ...]:
        if (solver, whiten) not in self._solutions:
            points = self.differences
            if whiten:
                lower = np.linalg.cholesky(self.fit.mixture.covariances)
                points = [np.linalg.solve(root, v.T).T for root, v in zip(lower, points, strict=True)]
            self._solutions[solver, whiten] = tuple(sdp.solve(z, solver) for z in points)
        return self._solutions[solver, whiten]
