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
        "Log-likelihood lost per household (above) and KL divergence of the released mixture (below, Fig. 7 "
        "of Liu et al.); lower is better. Compare mechanisms above; a dashed curve below is measured to the "
        "fit under the mechanism's own classes and must not be compared with the solid ones. A mean far above"
        " its band is ruled by a few bad draws, most often in the smallest class.",
        "Two panels over epsilon on log scales, one curve per mechanism: log-likelihood lost per household, and KL "
        "divergence with a band for the middle half of draws.",
    ),
    "marginal_densities": Caption(
        "Histogram (grey), fit without privacy (red) and one released mixture for every hour and class (Fig. "
        "8 of Liu et al.); what is taller than twice the fit is cut off. Look for classes in which the "
        "release departs from the fit: small classes do so first. A sound release finds its own classes: its "
        "histograms and fits are those of the households that most likely come from each released class.",
        "A grid of small panels, hours down and classes across: histogram, fitted density and released density.",
    ),
    "delta_curves": Caption(
        "Probability δ that the privacy loss between the worst pair of neighbours exceeds ε, per noise design "
        "and accuracy budget ρ (Fig. 4 of Ramakrishna et al.). Look for how far below 1 the curves are: at δ "
        "near 1 the noise does not hide the worst pair; points above their line by more than their error "
        "would mean a mistake.",
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
