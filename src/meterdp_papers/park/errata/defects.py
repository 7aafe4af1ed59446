"""The errata of Park, Foulds, Chaudhuri and Welling, "DP-EM: Differentially Private Expectation Maximization".

Defects P1 to P7, each with a function that computes the numbers showing it.
"""

from __future__ import annotations

from meterdp_papers.common.finding import Defect
from meterdp_papers.park.errata import composition, counts, faces, scaling, sensitivities

PAPER = "Park, Foulds, Chaudhuri, Welling: differentially private EM"

DEFECTS = (
    Defect(
        "P1",
        "Footnote 4, section 7",
        "Records are brought into the unit ball by the largest norm among them, which is not charged.",
        "One long record moves every other record and all means by far more than the sensitivities say, and whoever "
        "maps the result back to the original unit needs the private norm itself.",
        "Records are clipped to a ball of public radius, and the clipped ones are counted in a private table.",
        "test_P1_the_largest_norm_moves_all_records",
        scaling.largest_norm,
        note="The principal components of Figs 2 and 3 are fitted on the private records and not charged, as in "
        "[L12](#l12).",
    ),
    Defect(
        "P2",
        "(15), (18), footnotes 5 and 7",
        "The sensitivities divide by the noisy count, the statistics by the true one; a noisy count of zero is "
        "divided by as well.",
        "Where the noisy count is too large the noise is too small by the same factor. For a class smaller than the "
        "noise on its count nothing is left of the stated delta_i, and no class has a zCDP.",
        "Sums over all classes are released, whose sensitivity holds no count; division comes after the noise, by "
        "noisy counts above a public floor.",
        "test_P2_noise_by_a_noisy_count_is_too_small",
        counts.noisy_counts,
    ),
    Defect(
        "P3",
        "Section 7, Fig. 5",
        "Noise of the stated size is many times larger than any second moment of records in the unit ball.",
        "The printed faces cannot come from it. The paper's public code passes the variance where a standard "
        "deviation belongs, and divides pixels by their largest norm over pictures, so that pictures are not in the "
        "unit ball.",
        "The noise is added by one function that takes a standard deviation, and a test compares its level with the "
        "guarantee.",
        "test_P3_stated_noise_drowns_every_second_moment",
        faces.variance_for_deviation,
        note="Both pictures are in the reproduction: Fig. 5 of results/reproduce/park.",
    ),
    Defect(
        "P4",
        "Section 5, captions of Figs 2 and 3",
        "Linear and advanced composition add up all delta_i, which in Fig. 2 exceed the delta of the figure.",
        "Neither has a budget at any epsilon; curves that are drawn for them have a delta several times the printed "
        "one.",
        "Gaussian answers compose without a delta of their own.",
        "test_P4_the_deltas_of_the_steps_exceed_delta",
        composition.deltas_of_steps,
        note="The reproduction leaves these delta_i out of delta where they do not fit and says so.",
    ),
    Defect(
        "P5",
        "(12), (18), (19)",
        "(18) treats the mean in the covariance as a released constant that cancels; in (12) it is the class's own "
        "mean, which moves with the record.",
        "The covariance that (19) releases changes by up to twice the stated sensitivity.",
        "Second moments about a released centre are perturbed, whose sensitivity holds no private mean.",
        "test_P5_a_covariance_around_its_own_mean_moves_twice_as_far",
        sensitivities.moving_mean,
    ),
    Defect(
        "P6",
        "Section 7, Gowalla, Fig. 4",
        "DPLloyd's noise is scaled to d + 1, for a record that is added or removed; (15) is for one that is "
        "replaced.",
        "The two methods of Fig. 4 are private in different senses at the same epsilon: under the paper's own "
        "definition DPLloyd's noise is too small by the factor below.",
        "One adjacency, replacement of one household, for everything that is compared.",
        "test_P6_two_methods_are_private_in_different_senses",
        sensitivities.two_adjacencies,
    ),
    Defect(
        "P7",
        "Section 4.2, last paragraph; section 5",
        "Each of the K means and covariances is charged as if one record could change all of them in full.",
        "The noise is several times what the same guarantee needs, more the more classes there are. Utility, not "
        "privacy.",
        "The sums of all classes are one vector with the sensitivity of one record.",
        "test_P7_shares_of_a_record_add_up_to_one",
        sensitivities.shares_add_up,
    ),
)
