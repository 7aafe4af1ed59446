"""Captions of the figures of reproduced papers."""

from __future__ import annotations

from meterdp.figures.captions import Caption

_CURVE = (
    "Mean with its standard error on the left, median with the middle half of the trials on the right; log scales."
)

_CURVES = "Two panels of curves on log scales, one curve per mechanism: mean, and median with a band."

# Figures of reproduced papers, by paper and figure.
REPRODUCTION_CAPTIONS = {
    "liu": {
        "fig1": Caption(
            "KL divergence of the released mixture against ε, a fresh mixture and data set in every trial, the same "
            f"for all mechanisms. {_CURVE} Look for how far the mean lies above the median: it is ruled by data sets "
            "with a very small class.",
            _CURVES,
        ),
        "fig2": Caption(
            f"The same against the number of records, ε = 1. {_CURVE} Look for whether a curve flattens: noise that "
            "does not depend on N is left.",
            _CURVES,
        ),
        "fig3": Caption(
            f"The same against the number of classes, N = 1000 and ε = 1. {_CURVE} Data sets with a class of at most "
            "d records were drawn again, more often the more classes there are, so large K shows the milder cases.",
            _CURVES,
        ),
        "fig4": Caption(
            f"The same against the dimension, N = 1000, K = 5 and ε = 1. {_CURVE} Look for mechanisms that overtake "
            "each other as d grows.",
            _CURVES,
        ),
        "fig5": Caption(f"KL divergence against ε on Iris, 50 records a class. {_CURVE}", _CURVES),
        "fig6": Caption(
            "Marginal density of Iris' first feature per class: histogram, fit, the first release (thin, as the "
            "paper shows one) and the pointwise mean over all releases (thick); what is taller than twice the "
            "fit is cut off. Look for how little one release says about the mechanism.",
            "A grid of densities, a row per mechanism and a column per class of Iris.",
        ),
        "fig7": Caption(
            f"KL divergence against ε on load profiles, K-means classes. {_CURVE} The paper's houses are private; "
            "the data drawn are named in the figure.",
            _CURVES,
        ),
        "fig8": Caption(
            "Marginal densities of load profiles per class and hour: histogram, fit, one release of the published "
            "mechanism (thin) and the mean over all releases (thick). Look for the classes in which a thick curve "
            "leaves the dashed one: noise that does not average out, most of all in small classes.",
            "A grid of densities, a row per hour and a column per class.",
        ),
        "fig9": Caption(
            f"KL divergence against ε on handwritten digits. {_CURVE} Look for a curve that does not fall with ε: "
            "the published Wishart noise stops shrinking once (22) is at its first value.",
            _CURVES,
        ),
        "fig10": Caption(
            "Share of test images classified correctly by maximum likelihood under the released mixture; the dotted "
            "line is the fit without privacy.",
            "Curves of accuracy over epsilon, one per mechanism, with a dotted line for the fit.",
        ),
    },
    "ramakrishna": {
        "fig1": Caption(
            "Contours around 30, 60 and 90 % of the probability of four synthetic classes: means on a line, "
            "covariances Wishart with two degrees of freedom. Look for needles: a class that is thin in one "
            "direction is nearly always told apart from the others unless noise fills it.",
            "Ellipses of four classes in a plane, their centres on a line.",
        ),
        "fig2": Caption(
            "Exact δ against ε on the set of Fig. 1 (above) and averaged over many sets (below), with ρ as the "
            "squared error of both entries together. The paper has no noise, white noise and its own design; the "
            "joint and transport designs are ours, at the same ρ, run on fewer sets. Transport adds no noise: it "
            "protects nobody whose query can be predicted.",
            "A grid of curves of delta over epsilon, a column per accuracy budget, one colour per design.",
        ),
        "fig3": Caption(
            "Three houses before and after the paper’s noise, ρ = 0.45 in all: the day before, what happened, the "
            "forecast and its released version. Look for how little that noise moves a forecast; Fig. 4 says what "
            "it hides.",
            "Three rows of line plots in kWh: history, truth, forecast and released forecast of a house.",
        ),
        "fig4": Caption(
            "Exact δ against ε for the worst pair of neighbours: no noise, white noise and the paper’s design. Look "
            "for a curve below 1: where there is none, the noise hides nothing of the worst pair, whatever counts as "
            "randomness of the query.",
            "A grid of curves of delta over epsilon, a column per accuracy budget and a row per query model.",
        ),
    },
}
