"""The claims of Park et al. in our words, each with the rule by which it counts as holding.

Differences of means count when they exceed two standard errors over splits, folds or releases, paired within each.
Only the paper's own methods take part in a verdict; ``sound`` stands beside them in tables and figures.
"""

from __future__ import annotations

from meterdp_papers.common.scorecard import Claim

PAPER = "Park et al. 2017"
READ_OFF_KM = 10.0  # a place counts as read off within this
HIDDEN_KM = 100.0
ALIKE_NATS = 0.1  # "performed similarly well", per record
LARGE_EPSILONS = (2.0, 4.0)
SAME_BUDGET = 1e-6  # relative difference of eps_i
RECOGNISABLE = 0.8  # mean squared cosine of EM's loadings with the span of the private ones

CLAIMS = (
    Claim(
        "park-1",
        "The place of the lone married person is read off EM's mean, but not off the private one; with 50 times the "
        "data the private means are closer to EM's (Fig. 1).",
        f"EM's mean of the married is within {READ_OFF_KM:g} km of the person and the private one, in half of the "
        f"releases, more than {HIDDEN_KM:g} km away; and in every class the mean distance of private means to EM's "
        "is smaller with 50 times the data by two standard errors",
    ),
    Claim(
        "park-2",
        "Scenario GGG has a higher test log-likelihood than LLG (Fig. 2).",
        "at every epsilon and under both zCDP and the moments accountant GGG is higher by two standard errors; does "
        "not hold if it is lower by as much somewhere, else cannot be judged",
    ),
    Claim(
        "park-3",
        "zCDP and the moments accountant give higher test log-likelihoods than linear and advanced composition "
        "(Figs 2 and 3).",
        "at every epsilon either of the first is higher than either of the others by two standard errors; does not "
        "hold if it is lower by as much somewhere, else cannot be judged",
    ),
    Claim(
        "park-4",
        "zCDP is better than the moments accountant at small epsilon and alike at large epsilon, because of the "
        "accountant's integer orders (Figs 2 and 3).",
        f"at the smallest epsilon zCDP is higher by {ALIKE_NATS:g} nats per record and two standard errors, at "
        "epsilon 2 and 4 the two differ by at most as many nats, and with real orders the accountant's eps_i equals "
        "that of zCDP at every epsilon",
    ),
    Claim(
        "park-5",
        "DPLloyd with linear composition has a larger normalised intra-cluster variance than with zCDP, and that a "
        "larger one than the proposed method (Fig. 4).",
        "both differences of means over folds exceed two standard errors; does not hold if one is reversed by as "
        "much, else cannot be judged",
    ),
    Claim(
        "park-6",
        "The factor faces are nearly as recognisable as EM's at epsilon 0.3 and noisy at 0.2 (Fig. 5).",
        f"at epsilon 0.3 the mean squared cosine of EM's loadings with the span of the private ones is at least "
        f"{RECOGNISABLE:g}, and at 0.2 it is smaller; with the noise the text states",
    ),
)
