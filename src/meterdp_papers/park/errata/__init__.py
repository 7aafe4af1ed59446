"""The errata of Park, Foulds, Chaudhuri and Welling, "DP-EM: Differentially Private Expectation Maximization".

Defects P1 to P7, each with a function that computes the numbers showing it.
"""

from __future__ import annotations

from meterdp_papers.park.errata import budgets, faces, sensitivities

PAPER = "Park, Foulds, Chaudhuri, Welling: differentially private EM"

DEFECTS = (
    sensitivities.largest_norm,
    budgets.noisy_counts,
    faces.variance_for_deviation,
    budgets.deltas_of_steps,
    sensitivities.moving_mean,
    sensitivities.two_adjacencies,
    sensitivities.shares_add_up,
)
