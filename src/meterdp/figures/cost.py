"""What each mechanism costs: KL divergence of the released mixture to the fit, against epsilon.

The figure is Fig. 7 of Liu et al. for the export at hand. Means over draws are ruled by rare draws in small classes,
so the quartiles are drawn beside them; values that are not finite or not positive are named instead of left out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from meterdp.figures import numbers
from meterdp.figures.style import canvas, in_order, load, look, plain_log_ticks


def kl_curve(cost, output) -> None:
    """Draw KL(released || fit) over epsilon, one curve a mechanism: Liu et al., Fig. 7.

    Line and error bars are the mean and its standard error over draws, the band holds the middle half of the draws.

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
    with canvas(output, "Cost of privacy: KL divergence of the released mixture to the fit", 4.8) as figure:
        axes = figure.subplots()
        axes.set_xscale("log")
        axes.set_yscale("log")
        for mechanism in in_order(data["mechanism"]):
            rows = data[data["mechanism"] == mechanism].sort_values("epsilon")
            notes += _curve(axes, rows, mechanism)
        plain_log_ticks(axes.xaxis, epsilons)
        axes.set_xlim(epsilons[0] / 1.15, epsilons[-1] * 1.15)
        if not any(line.get_xdata().size for line in axes.lines):
            axes.set_ylim(0.1, 10)
        axes.yaxis.set_major_formatter(lambda value, _: numbers.plain(value))
        axes.set_xlabel("ε the mechanism was calibrated to (log scale)")
        axes.set_ylabel("KL divergence (nats, log scale)")
        axes.set_title(_subtitle(data), fontsize=9.5)
        figure.legend(loc="outside right upper", title="mean ± SE;\nband: middle half", alignment="left")
        if notes:
            figure.supxlabel("\n".join(notes), fontsize=9, x=0.01, ha="left")


def _curve(axes: Axes, rows: pd.DataFrame, mechanism: str) -> list[str]:
    """Draw one mechanism where its mean is finite and positive; return a note on where it is not."""
    style = look(mechanism)
    # A logarithmic axis shows positive numbers only; a mean of zero is left to the note.
    shown = rows[np.isfinite(rows["kl_mean"]) & (rows["kl_mean"] > 0)]
    band = rows[np.isfinite(rows["kl_q25"]) & np.isfinite(rows["kl_q75"]) & (rows["kl_q25"] > 0)]
    error = np.minimum(shown["kl_se"].fillna(0), 0.999 * shown["kl_mean"]), shown["kl_se"].fillna(0)
    axes.fill_between(band["epsilon"], band["kl_q25"], band["kl_q75"], color=style.colour, alpha=0.16, linewidth=0)
    axes.errorbar(
        shown["epsilon"], shown["kl_mean"], yerr=error, color=style.colour, marker=style.marker, label=style.label
    )
    hidden = rows.loc[~rows.index.isin(shown.index), ["epsilon", "kl_mean"]]
    return [_note(style.label, hidden)] if len(hidden) else []


def _note(label: str, hidden: pd.DataFrame) -> str:
    cases = (f"{numbers.significant(kl)} at ε = {numbers.plain(e)}" for e, kl in hidden.itertuples(index=False))
    return f"Not drawn: {label}, mean {', '.join(cases)}".replace(f"mean {numbers.MISSING}", "mean not a number")


def _subtitle(data: pd.DataFrame) -> str:
    deltas, draws = data["delta"].unique(), data["draw_count"].unique()
    delta = ", ".join(numbers.plain(value) for value in sorted(deltas))
    count = " to ".join(numbers.count(value) for value in sorted({draws.min(), draws.max()}))
    return f"δ = {delta}; {count} draws per point"
