"""The errata of Li, Gundersen, Tjell, Wisniewski and Christensen, "Privacy-Preserving Distributed EM ...".

Defects D1 to D8, each with a function that computes the numbers showing it.
"""

from __future__ import annotations

from meterdp_papers.common.finding import Defect
from meterdp_papers.li.errata import consensus, exposure, update

PAPER = "Li, Gundersen, Tjell, Wisniewski, Christensen: distributed EM"

DEFECTS = (
    Defect(
        "D1",
        "(9); Algorithm 1, line 6",
        "(9) adds to a node's own dual variable where PDMM adds to its neighbour's; line 6 lets the neighbours of an "
        "active node update and not the node.",
        "As printed y diverges, or at a small c ends far from the average. With line 6 read literally all nodes "
        "agree on a number that is not the average, and none of them can tell. It is (9) that is wrong: with it "
        "corrected, line 6 gives the average, too.",
        "lambda_{i|j} <- lambda_{j|i} + c B_{i|j} (y_i - y_j); tests compare with the average, not the nodes with "
        "each other.",
        "test_D1_the_printed_update_diverges_and_the_literal_one_is_wrong",
        consensus.dual_update,
    ),
    Defect(
        "D2",
        "(3), (4)",
        "The new covariances are about the old means: they exceed those of an M-step by the square of the means' "
        "move.",
        "A step gains less likelihood than an M-step from the same mixture, so Fig. 2 is not that of EM; the "
        "mixtures at which it stands still are.",
        "Both are built. The textbook update needs the same sums, because the square of a public move is taken off "
        "after the summation.",
        "test_D2_old_means_inflate_covariances",
        update.old_means,
    ),
    Defect(
        "D3",
        "Algorithm 1, line 3",
        "The loop runs while the error is below the threshold, and the error is the distance from the unknown "
        "average.",
        "From any start farther away than the threshold nothing is run; turned round, no node can evaluate it.",
        "A public number of rounds from the graph alone, or a tolerance on what nodes see: their neighbours' y and "
        "their own last step.",
        "test_D3_the_loop_never_runs",
        consensus.reversed_condition,
    ),
    Defect(
        "D4",
        "(11), (12)",
        "(12) is an equality only for a mask without bound or in modular arithmetic, and (11) has C of node 1 for "
        "that of node 3.",
        "Beside the sum of nodes 1 and 5 node 2 holds a_1 + r: with a real r of finite spread it learns more than "
        "the right side of (12).",
        "Secure summation in whole numbers modulo 2^64 with a uniform mask, as in Lin, Clifton and Zhu.",
        "test_D4_a_real_mask_tells_more_than_the_sum",
        exposure.stated_views,
    ),
    Defect(
        "D5",
        "(10), (12), section 4.2",
        "Sums of A, B and C over few honest nodes are not a 'significant improvement': they determine the records.",
        "Two scalar records follow from one iteration, up to their order, whatever the responsibilities; in EM, "
        "where these are functions of the records and of public numbers, all three of Fig. 1 do, and more records "
        "after a few iterations. The right sides of (10) and (12) are then infinite like (6).",
        "Equations and unknowns are counted from public numbers before a run starts, and the private release adds "
        "noise to the sums themselves.",
        "test_D5_sums_over_few_nodes_give_their_records",
        exposure.sums_of_few,
        note="Whose record is whose stays hidden, as sums do not change when honest nodes change places.",
    ),
    Defect(
        "D6",
        "Section 4.2.2",
        "Secure summation is compared under the passive adversary alone; on open channels it needs more.",
        "Who hears all messages of the cycle takes differences and has every node's vector; subspace perturbation, "
        "which is said to need encryption once, gives the sum over all nodes away. Neither hides that sum.",
        "Every channel between processes is encrypted and authenticated, whatever the scheme.",
        "test_D6_who_hears_the_ring_has_every_vector",
        exposure.eavesdropper,
    ),
    Defect(
        "D7",
        "(6), (11), section 5.2, Fig. 3",
        "I(X; X) of a continuous record is infinite, so information cannot be normalised by it.",
        "What the estimates are divided by grows with the logarithm of the number of trials, and the estimate for a "
        "view that determines the record is not the same as that for the record itself.",
        "Linfoot's sqrt(1 - exp(-2 I)) beside it, closed forms where they exist, and the counts of equations.",
        "test_D7_the_normaliser_grows_with_the_trials",
        exposure.self_information,
    ),
    Defect(
        "D8",
        "Section 4.2.1, (10)",
        "One honest neighbour is named as the condition; (10) needs all honest nodes joined, and dual noise without "
        "bound.",
        "A node with one honest neighbour between corrupt ones is hidden by that neighbour alone, and dual noise of "
        "the size of the values leaves more than the sum.",
        "Components of honest nodes are found for every set of colluding nodes of a public size, and the smallest is "
        "reported.",
        "test_D8_one_honest_neighbour_hides_among_two",
        exposure.condition_on_neighbours,
    ),
)
