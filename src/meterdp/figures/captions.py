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


def caption_of(figure: str) -> Caption:
    """Return the caption of ``figure``; a suffix after its name, such as the mechanism drawn, does not matter."""
    for name, caption in CAPTIONS.items():
        if figure == name or figure.startswith(f"{name}_"):
            return caption
    raise KeyError(f"no caption for figure '{figure}'")
