"""The errata of Ramakrishna, Scaglione, Wu, Ravi and Peisert, "Differential Privacy for Class-based Data: A Practical
Gaussian Mechanism": defects R1 to R13, each with a function that computes the numbers showing it.
"""

from __future__ import annotations

from meterdp_papers.ramakrishna.errata import bounds, descent, forecasts, guarantees

PAPER = "Ramakrishna, Scaglione, Wu, Ravi, Peisert: a Gaussian mechanism for class-based data"

DEFECTS = (
    guarantees.accuracy_convention,
    descent.rescaled_covariance,
    guarantees.named_file,
    guarantees.joint_release,
    bounds.printed_numbers,
    forecasts.seasonal_order,
    forecasts.swapped_coefficients,
    bounds.misplaced_factor,
    forecasts.law_of_the_query,
    guarantees.dropped_side,
    bounds.corollaries,
    descent.printed_step,
    forecasts.public_seasonal_mean,
)
