"""What each figure shows and what to look for: the one source of captions and alternative texts.

The report prints them, and ``workflow/report/<figure>.rst`` holds the same words for Snakemake's own report (a test
keeps the two alike).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Caption:
    """Caption of one figure.

    Parameters
    ----------
    look_for : str
        One or two sentences: what is drawn and what to look for.
    alternative : str
        What somebody who cannot see the figure should know is drawn.
    """

    look_for: str
    alternative: str


CAPTIONS = {
    "intake": Caption(
        "Rows, households and readings that a rule left out or touched, by reason. Look for a bar that is "
        "longer than you would expect of this export: it usually means a wrong setting or a fault in the "
        "meters, not a property of the households.",
        "Horizontal bars: how many rows, households and readings each rule left out or touched.",
    ),
    "class_profiles": Caption(
        "Geometric mean profile of each class with a band of one standard deviation of log energy; grey lines "
        "are the other classes. Look for classes that differ in level only or in the hour of their peak, and "
        "for small classes, which cost the most to protect.",
        "One panel per class: mean energy over the hours of the profile, with a band, on a log scale in kWh.",
    ),
    "kl_curve": Caption(
        "Above, the log-likelihood lost per household the mechanism has not seen, against the mixture of the study "
        "without privacy: lower is better, and below zero the release describes new households better than that "
        "mixture; a thin dotted line is against a mixture of as many classes as released. Below, the KL divergence "
        "of the released mixture (Fig. 7 of Liu et al.), whose reference differs as its title says. Compare "
        "mechanisms above, and remember that broken lines have no valid guarantee. A mean far above its band is "
        "ruled by a few bad draws, most often in the smallest class.",
        "Two panels over epsilon, one curve per mechanism, solid where a guarantee is proven and broken where none "
        "holds: log-likelihood lost per held-out household, linear around zero, and KL divergence on a log scale.",
    ),
    "marginal_densities": Caption(
        "Histogram (grey), fit without privacy (red) and one released mixture for every hour and class (Fig. "
        "8 of Liu et al.); what is taller than twice the fit is cut off. Look for classes in which the "
        "release departs from the fit: small classes do so first. A sound release finds its own classes, of its own "
        "number: its histograms and fits are those of all households, each shared between the released classes by "
        "how likely it comes from them.",
        "A grid of small panels, hours down and classes across: histogram, fitted density and released density.",
    ),
    "fidelity": Caption(
        "Profiles sampled from each released mixture, beside real households: the hours, the peak, the energy and "
        "what the profiles are good for (Examples 1 to 3 of Liu et al.). Look for points in the grey area: they are "
        "no worse than other real households, taken from a random half. The mixtures have seen the households "
        "they are judged on, and the published family starts from the classes of the fit, which nothing "
        "protects; in the panels of the density and the classes the real households are two fits, to a half each.",
        "A grid of dot plots on log scales, one panel a measure and one row a source: real households, the fit and "
        "every mechanism, with a grey area where other real households lie.",
    ),
    "delta_curves": Caption(
        "Probability δ that the privacy loss between the worst pair of neighbours exceeds ε, per noise design "
        "and accuracy budget ρ (Fig. 4 of Ramakrishna et al.). Marked lines are exact, the lighter ones the Chernoff "
        "bound of the paper. Look for how far below 1 the curves are: at δ near 1 the noise does not hide the "
        "worst pair.",
        "Curves of delta over epsilon, a column per accuracy budget and a row per query model, one colour per "
        "design.",
    ),
    "forecast_examples": Caption(
        "Three example households before and after noise (Fig. 3 of Ramakrishna et al.): the day before, what "
        "happened, the forecast and its released version. Look for whether the released forecast still "
        "follows the shape of the day, and remember that the noise is multiplied when logs are taken back to "
        "kWh.",
        "Three rows of line plots in kWh: history, truth, forecast and released forecast of an example household.",
    ),
    "forecast_errors": Caption(
        "Normalised squared error of each forecast against held-out readings, with its standard error over "
        "households; the dashed line is the ARMA forecast. Look for whether ARMA beats the naive forecasts at "
        "all, and how much of that the noise gives back.",
        "Points with error bars: error of the ARMA, naive and released forecasts, in log energy and in kWh.",
    ),
}

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


def caption_of(figure: str) -> Caption:
    """Return the caption of ``figure``; a suffix after its name, such as the mechanism drawn, does not matter."""
    for name, caption in CAPTIONS.items():
        if figure == name or figure.startswith(f"{name}_"):
            return caption
    raise KeyError(f"no caption for figure '{figure}'")
