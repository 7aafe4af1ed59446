"""The errata of Ramakrishna, Scaglione, Wu, Ravi and Peisert, "Differential Privacy for Class-based Data: A Practical
Gaussian Mechanism": defects R1 to R13, each with a function that computes the numbers showing it.
"""

from __future__ import annotations

from meterdp_papers.common.finding import Defect
from meterdp_papers.ramakrishna.errata import bounds as ramakrishna_bounds
from meterdp_papers.ramakrishna.errata import descent as ramakrishna_descent
from meterdp_papers.ramakrishna.errata import forecasts as ramakrishna_forecasts
from meterdp_papers.ramakrishna.errata import guarantees as ramakrishna_guarantees

PAPER = "Ramakrishna, Scaglione, Wu, Ravi, Peisert: a Gaussian mechanism for class-based data"

DEFECTS = (
    Defect(
        "R1",
        "Definition 2, (13), (44); Example 1, (50), section VI",
        "The budget rho is the squared error per entry in the definition and the squared error of all k entries in "
        "(50) and in the white baseline.",
        "At one rho the noise differs by a factor of k, and a delta means nothing until one knows which rho is "
        "meant.",
        "The squared error is stated per entry and in all, and `accuracy_convention` says which one rho is; the "
        "figures can be computed under either.",
        "test_R1_the_budget_is_counted_in_two_ways",
        ramakrishna_guarantees.accuracy_convention,
        note="The distance is fitted to one printed value of the white curve in Fig. 4; under the total its other "
        "printed value follows closely, so the figures seem to use the total.",
    ),
    Defect(
        "R2",
        "(49), (50)",
        "Algorithm 1 optimises a covariance without holding its trace or the order A_X^-1 >= Sigma_X; projection and "
        "rescaling then give another one.",
        "What is released has a far larger worst-case surrogate and delta than what was optimised, and sometimes no "
        "covariance at all.",
        "No guarantee is read off an optimisation: the exact curve of the noise that is added is what counts.",
        "test_R2_what_is_released_is_not_what_was_optimised",
        ramakrishna_descent.rescaled_covariance,
    ),
    Defect(
        "R3",
        "Algorithm 2, section VI-B",
        "Forecasts are released house by house, but a file that says whose it is says the label.",
        "The released pair (id, q~) has infinite loss: the attack succeeds with certainty whatever the noise.",
        "Files carry random release ids; the crosswalk to meters stays private.",
        "test_R3_a_named_file_is_the_label",
        ramakrishna_guarantees.named_file,
    ),
    Defect(
        "R4",
        "(5), section VI-B",
        "Every household of a cluster gets a file at once, while (5) compares the laws of one file.",
        "An observer of two files asks which of the two households is which, and both losses add.",
        "A joint release is charged for the swap of two labels.",
        "test_R4_a_joint_release_is_charged_for_swaps",
        ramakrishna_guarantees.joint_release,
    ),
    Defect(
        "R5",
        "Caption of Fig. 3, section VI-B",
        "At rho = 0.45 delta is printed as 0.5637 for eps = 0.8 and as 0.84 for eps = 1; 0.35 is printed for two "
        "budgets.",
        "The first two cannot both be read off one curve; the last two leave no room for the improvement with rho "
        "that the text reports.",
        "Every number comes from a table of computed curves.",
        "test_R5_printed_numbers_contradict_one_another",
        ramakrishna_bounds.printed_numbers,
        note="The caption may mean another rho, graph or data set; the text does not say.",
    ),
    Defect(
        "R6",
        "Section V-B, (61); section VI-B",
        "Section V-B takes logs and subtracts their mean over each day; section VI-B removes a weekly part before it "
        "takes logs.",
        "The two processes differ in mean and variance, and with a subtraction half of the second does not exist.",
        "Both are public settings: profiles.seasonal (day, week, smoothed) and profiles.seasonal_scale (log, kwh), "
        "which divides by the mean energy where VI-B would subtract it.",
        "test_R6_the_order_of_log_and_season_matters",
        ramakrishna_forecasts.seasonal_order,
        note="Fifteen days hold two or three readings per slot of the week.",
    ),
    Defect(
        "R7",
        "(58)-(60)",
        "a and b change places between (58) and (59), and (60) prints a convolution.",
        "The covariance (57) of one reading of the text is not that of the other, by an order of magnitude.",
        "(59) is followed, with b_0 = 1 and a free innovation variance.",
        "test_R7_two_formulas_two_processes",
        ramakrishna_forecasts.swapped_coefficients,
        note="(60) is given as far as our copy of the paper can be read.",
    ),
    Defect(
        "R8",
        "(42)",
        "The factor 2 of (36) stands under eps instead of under the surrogate.",
        "Read as a bound on delta, (42) is not the logarithm of (36) or (38) and may exceed zero. What is minimised "
        "stays the same.",
        "Nothing depends on this line.",
        "test_R8_a_factor_of_two_is_misplaced",
        ramakrishna_bounds.misplaced_factor,
    ),
    Defect(
        "R9",
        "(55), (57), Algorithm 2",
        "(57) is the covariance of the future given the past. The query is the conditional mean, whose covariance is "
        "S^fo (S^o)^-1 S^of.",
        "The law that is to protect the query is not its law: the query has rank max(p, q), so without noise there "
        "is no density and no privacy, and anyone who knows the past knows the query.",
        "Queries count as known (`query_model: deterministic`): only added noise protects.",
        "test_R9_the_query_has_another_law",
        ramakrishna_forecasts.law_of_the_query,
    ),
    Defect(
        "R10",
        "(5)-(7)",
        "(7) derives L > eps from L < -eps, and the absolute value in Definition 1 is dropped.",
        "Curves called (eps, delta)-PDP are one-sided; on a symmetric graph Definition 1 needs up to 1 + e^-eps "
        "times as much.",
        "Releases are stated as (eps, delta)-DP by the hockey-stick divergence in both directions.",
        "test_R10_definition_1_has_two_sides",
        ramakrishna_guarantees.dropped_side,
    ),
    Defect(
        "R11",
        "Corollaries 2 and 3, (35)-(38)",
        "(35) drops (tr Gamma - k)/(2s) from the logarithm of (34), of the same order in 1/s as what it keeps, and "
        "(38) is called a bound at any s.",
        "(38) can lie below the probability, and for every s it does for some pair and eps. Nothing may be "
        "guaranteed by it.",
        "Guarantees come from exact curves; Lemma 1, which holds, is the cross-check.",
        "test_R11_the_corollaries_are_no_bounds",
        ramakrishna_bounds.corollaries,
    ),
    Defect(
        "R12",
        "Lemma 2, (51)-(53), appendix C",
        "A denominator that is not positive belongs to a pair that falls with the worst one and should set no bound; "
        "(51) takes it as a bound below zero. (53) also lacks a term in its denominator and one in its numerator.",
        "The printed step is always zero: Algorithm 1 ends where it starts, at white noise. With the signs put right "
        "the Lemma is still false, since appendix C linearises a logarithm on its wrong side.",
        "No sound release runs Algorithm 1; the published one checks every step and halves it until J falls.",
        "test_R12_the_printed_step_is_zero",
        ramakrishna_descent.printed_step,
        note="The proof note docs/proofs/published_class_noise.md derives the step that is used.",
    ),
    Defect(
        "R13",
        "Section V-A, (57), (62)",
        "The privacy of a forecast is that of a process of mean zero; (62) adds the household's seasonal mean before "
        "the noise, and what is released carries it.",
        "The printed deltas come near only if the seasonal mean counts as public. It is the household's own and "
        "describes it best: with it in the query no curve of Fig. 4 leaves 1 visibly.",
        "The query is the whole forecast, seasonal mean included.",
        "test_R13_the_seasonal_mean_is_the_households_own",
        ramakrishna_forecasts.public_seasonal_mean,
        note="The readings with and without the mean stand side by side in the scorecard.",
    ),
)
