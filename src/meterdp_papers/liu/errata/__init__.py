"""The errata of Liu, Scaglione and Peisert, "Differentially Private Distribution Release of Gaussian Mixture Models
via KL-Divergence Minimization": defects L1 to L13, each with a function that computes the numbers showing it.
"""

from __future__ import annotations

from meterdp_papers.liu.errata import algorithm, covariances, inputs, means

PAPER = "Liu, Scaglione, Peisert: release of Gaussian mixtures by KL minimisation"

DEFECTS = (
    covariances.wishart_support,
    covariances.lemma_2_conditions,
    means.parallel_composition,
    means.recalibrated_noise,
    algorithm.reachable_outputs,
    algorithm.printed_mapping,
    means.gaussian_constant,
    covariances.covariance_term,
    algorithm.alternation,
    algorithm.misprints,
    inputs.clustered_labels,
    inputs.fitted_scaling,
    means.leaving_members_only,
)
