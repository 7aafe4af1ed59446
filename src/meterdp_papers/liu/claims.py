"""The claims of Liu et al. in our words, each with the rule by which it counts as holding.

"Close" and "much lower" mean 0.1 wherever a quantity lies between 0 and 1; differences of means count when they
exceed two standard errors. Only the paper's own mechanisms (family ``published``) take part in a verdict.
"""

from __future__ import annotations

from meterdp_papers.common.scorecard import Claim

PAPER = "Liu et al. 2025"
CLOSE = 0.1
MUCH_LESS = 0.5  # "much less sensitive": at most half the growth factor
LINEAR = 1.2  # largest exponent still called linear
BOUND_RECORDS, BOUND_CLASSES = 3.5, 6.0  # Remark 2
NEAR_BOUND = 1.0  # an upper bound that measured exponents stay further below can be neither shown nor refuted
LARGE_CLASSES = 4
NORMALITY_LEVEL = 0.01
ELLIPSOID, ELLIPSOID_MARGIN = 0.9, 0.05
SMALL_CLASS_FACTOR = 5

_LOWEST = (
    "at every epsilon kl_published has a lower mean than every published baseline by two standard errors of the "
    "difference over trials; does not hold if one is higher by as much, else cannot be judged"
)
_TREND = (
    "for every published mechanism no step goes the other way, and first and last mean differ, by two standard errors"
)
CLAIMS = (
    Claim("liu-1", "The proposed mechanism has the lowest KL divergence at every epsilon (Fig. 1).", _LOWEST),
    Claim("liu-2", "KL divergence falls as the number of records N grows (Fig. 2).", _TREND),
    Claim(
        "liu-3",
        "KL divergence rises with the number of classes K, and the proposed mechanism is much less sensitive to K "
        "than the baselines (Fig. 3).",
        "every published mechanism's mean rises from the smallest to the largest K by two standard errors, and that "
        "of kl_published by at most half the factor of every baseline",
    ),
    Claim("liu-4", "Every mechanism deteriorates as the dimension d grows (Fig. 4).", _TREND),
    Claim("liu-5", "Iris: the proposed mechanism has the lower KL divergence at every epsilon (Fig. 5).", _LOWEST),
    Claim(
        "liu-6",
        "Iris: marginals of the proposed mechanism are closer to the histogram than the baselines' (Fig. 6).",
        "in every class the mean total variation distance to the histogram is below every published baseline's by "
        "two standard errors",
    ),
    Claim(
        "liu-7",
        "Load profiles: the proposed mechanism has the lower KL divergence at every epsilon (Fig. 7).",
        _LOWEST,
    ),
    Claim(
        "liu-8",
        "Load profiles: released marginals are close to the fit in classes 1 to 4 and diverge from it in some hours "
        "of classes 5 and 6, which are small (Fig. 8).",
        f"mean total variation distance to the fit, averaged over hours, at most {CLOSE} in each of the four largest "
        f"classes, and above {CLOSE} in some hour of every other class",
    ),
    Claim("liu-9", "MNIST: the proposed mechanism has the lower KL divergence at every epsilon (Fig. 9).", _LOWEST),
    Claim(
        "liu-10",
        "MNIST: accuracy is close to the non-private classifier's, that of the baselines much lower (Fig. 10).",
        f"at every epsilon the mean accuracy of kl_published is within {CLOSE} of the fit's and every published "
        f"baseline's at least {CLOSE} below kl_published",
    ),
    Claim(
        "liu-11",
        "Algorithm 1 converges; an interior-point solver needs work of order N^3.5 K^6 for (23), which a solver made "
        "for it solves with work linear in N.",
        "every run stops and its objective never rises, and with two standard errors the exponent of the work our "
        f"solver counts is at most {LINEAR} and those of the interior-point solver are below the stated ones by at "
        f"most {NEAR_BOUND}; does not hold if one of the first is untrue or an exponent is surely exceeded, else "
        "cannot be judged",
    ),
    Claim(
        "liu-12",
        "Logarithms of load profiles are fitted well by a Gaussian mixture.",
        f"in no class of at least {SMALL_CLASS_FACTOR} d households the share inside the fitted 90 % ellipsoid is "
        f"off by {ELLIPSOID_MARGIN}, or Mardia's tests reject at 1 % over all classes; "
        "a simulated export cannot judge it",
    ),
)
