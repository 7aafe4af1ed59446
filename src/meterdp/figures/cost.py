"""What each mechanism costs: log-likelihood lost and KL divergence of the released mixture, against epsilon.

The figure is Fig. 7 of Liu et al. for the export at hand. Means over draws are ruled by rare draws in small classes,
so the quartiles are drawn beside them; values that are not finite or not positive are named instead of left out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from meterdp.figures import numbers
from meterdp.figures.style import canvas, in_order, load, look, plain_log_ticks

# Measure of a panel: title, columns of the mean, of its standard error and of the quartiles.
_PANELS = (
    ("Log-likelihood lost per household: one measure for all", "loglik_gap_mean", "loglik_gap_se", None),
    ("KL divergence to the fit; dashed: to the fit under its own classes", "kl_mean", "kl_se", ("kl_q25", "kl_q75")),
)


def kl_curve(cost, output) -> None:
    """Draw log-likelihood lost and KL(released || reference) over epsilon, one curve a mechanism: Liu et al., Fig. 7.

    Line and error bars are the mean and its standard error over draws, the band of the divergence holds the middle
    half of the draws. A mechanism measured against its own classes is dashed: its divergence is not comparable.

    Parameters
    ----------
    cost : path-like
        Table ``cost``.
    output : path-like
        SVG to write.
    """
    data = load(cost, "cost")
    epsilons = np.sort(data["epsilon"].unique())
    notes = []
    with canvas(output, "Cost of privacy against ε", 7.6) as figure:
        grid = figure.subplots(2, 1, sharex=True)
        for axes, (title, mean, error, band) in zip(grid, _PANELS, strict=True):
            axes.set_xscale("log")
            axes.set_yscale("log")
            for mechanism in in_order(data["mechanism"]):
                rows = data[data["mechanism"] == mechanism].sort_values("epsilon")
                notes += _curve(axes, rows, mechanism, mean, error, band)
            if not any(line.get_xdata().size for line in axes.lines):
                axes.set_ylim(0.1, 10)
            axes.yaxis.set_major_formatter(lambda value, _: numbers.plain(value))
            axes.set_ylabel("nats (log scale)")
            axes.set_title(title)
        plain_log_ticks(grid[1].xaxis, epsilons)
        grid[1].set_xlim(epsilons[0] / 1.15, epsilons[-1] * 1.15)
        grid[1].set_xlabel("ε the mechanism was calibrated to (log scale)")
        handles, labels = grid[1].get_legend_handles_labels()
        words = f"{_subtitle(data)};\nmean ± SE; band: middle half of draws"
        figure.legend(handles, labels, loc="outside right upper", title=words, alignment="left")
        if notes:
            figure.supxlabel("\n".join(dict.fromkeys(notes)), fontsize=9, x=0.01, ha="left")


def _curve(axes: Axes, rows: pd.DataFrame, mechanism: str, mean: str, error: str, band) -> list[str]:
    """Draw one mechanism where its mean is finite and positive; return a note on where it is not."""
    style = look(mechanism)
    # A logarithmic axis shows positive numbers only; a mean of zero is left to the note.
    shown = rows[np.isfinite(rows[mean]) & (rows[mean] > 0)]
    if band is not None:
        low, high = band
        inside = rows[np.isfinite(rows[low]) & np.isfinite(rows[high]) & (rows[low] > 0)]
        axes.fill_between(inside["epsilon"], inside[low], inside[high], color=style.colour, alpha=0.16, linewidth=0)
    se = shown[error].fillna(0)
    dashed = band is not None and (rows["kl_reference"] == "own_classes").any()
    axes.errorbar(
        shown["epsilon"],
        shown[mean],
        yerr=(np.minimum(se, 0.999 * shown[mean]), se),
        color=style.colour,
        marker=style.marker,
        linestyle="--" if dashed else "-",
        label=style.label,
    )
    hidden = rows.loc[~rows.index.isin(shown.index), ["epsilon", mean]]
    return [_note(style.label, hidden)] if len(hidden) else []


def _note(label: str, hidden: pd.DataFrame) -> str:
    cases = (f"{numbers.significant(kl)} at ε = {numbers.plain(e)}" for e, kl in hidden.itertuples(index=False))
    return f"Not drawn: {label}, mean {', '.join(cases)}".replace(f"mean {numbers.MISSING}", "mean not a number")


def _subtitle(data: pd.DataFrame) -> str:
    deltas, draws = data["delta"].unique(), data["draw_count"].unique()
    delta = ", ".join(numbers.plain(value) for value in sorted(deltas))
    count = " to ".join(numbers.count(value) for value in sorted({draws.min(), draws.max()}))
    return f"δ = {delta}; {count} draws per point"
