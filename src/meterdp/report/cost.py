"""What each mechanism costs against epsilon: the log-likelihood that households lose which it has not seen.

It is the one measure that all mechanisms share. If there are too few households to hold any out, it is measured on
those of the fit, and the text says so. Solid lines have a proven guarantee; broken lines with hollow markers have
none. What cannot be drawn is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meterdp.evaluation.tables import COST
from meterdp.pages.numbers import plain, plus_minus, significant
from meterdp.report.pages import WITHOUT_GUARANTEE, Grid, Tables, count_range, figure
from meterdp.report.style import GREY, canvas, in_order, line_key, look, plain_log_ticks, show_points
from meterdp.report.worth import nearest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

LINEAR_NATS = 1.0  # the gap has a linear axis up to here and a logarithmic one beyond, on both sides of zero
_MOST_TICKS = 9
_SAME_LINE = {"linewidth": 1, "linestyle": ":", "marker": "_"}  # against a mixture of as many classes as released
_HOLLOW = {"linewidth": 1.3, "markerfacecolor": "white"}
# Family -> heading in the legend, what its lines look like, its description and its guarantee in the tables.
_FAMILIES = {
    "sound": ("with a proof", {"linestyle": "-", "linewidth": 2.4}, "with a proof", "proven"),
    "exact": (
        "no valid guarantee: exact",
        {"linestyle": "-.", **_HOLLOW},
        "same constraint, true optimum",
        "invalid",
    ),
    "published": (
        "no valid guarantee: published",
        {"linestyle": "--", **_HOLLOW},
        "as printed in the paper",
        "invalid",
    ),
}


def was_held_out(cost: pd.DataFrame) -> bool:
    """Whether the study had enough households to hold some out."""
    return bool(cost["heldout_gap_mean"].notna().any())


def _gap_columns(held_out: bool) -> tuple[str, str]:
    return ("heldout_gap_mean", "heldout_gap_se") if held_out else ("loglik_gap_mean", "loglik_gap_se")


@figure(
    COST,
    category=WITHOUT_GUARANTEE,
    look_for=(
        "Lower is better; below zero (shaded) a release is better than the study’s mixture. Broken lines have no "
        "guarantee, so their ε is only a name. The thin dotted line compares with a mixture that has as many classes "
        "as the release."
    ),
    alternative=(
        "Curves over epsilon, one per mechanism, solid where a guarantee is proven and broken where none holds: "
        "log-likelihood lost per household, on an axis that is linear around zero."
    ),
)
def kl_curve(data: pd.DataFrame, output) -> None:
    """Draw the log-likelihood lost over epsilon, one curve a mechanism; mean and standard error are over folds."""
    epsilons = np.sort(data["epsilon"].unique())
    names = in_order(data["mechanism"])
    held_out = was_held_out(data)
    whose = "new households" if held_out else "the households it was fitted to"
    with canvas(output, f"How much worse does a release describe {whose}?", 4.6) as drawing:
        axes, notes = drawing.subplots(), []
        for name in names:
            notes += _gap_curve(axes, data[data["mechanism"] == name].sort_values("epsilon"), held_out)
        _gap_axis(axes)
        plain_log_ticks(axes.xaxis, epsilons)
        axes.set_xlim(epsilons[0] / 1.15, epsilons[-1] * 1.15)
        draws = f"{count_range(data['draw_count'])} draws a point, mean ± SE"
        axes.set_xlabel(f"ε for which the mechanism was calibrated; {draws}")
        _legend(drawing, data, names)
        if notes:
            drawing.supxlabel("\n".join(dict.fromkeys(notes)), fontsize=9, x=0.01, ha="left")


def _differs(rows: pd.DataFrame) -> bool:
    """Whether a release has another number of classes than the mixture of the study: then its two gaps differ."""
    same = rows["heldout_gap_same_k_mean"]
    return bool((same.notna() & (same != rows["heldout_gap_mean"])).any())


def _gap_curve(axes: Axes, rows: pd.DataFrame, held_out: bool) -> list[str]:
    """Draw one mechanism's loss of log-likelihood; return a note on where it is not finite."""
    mean, error = _gap_columns(held_out)
    shown = rows[np.isfinite(rows[mean])]
    _line(axes, shown, mean, shown[error].fillna(0))
    other = rows["heldout_gap_same_k_mean"]
    if held_out and _differs(rows):
        colour = look(rows["mechanism"].iloc[0]).colour
        axes.plot(rows["epsilon"], other.where(np.isfinite(other)), color=colour, **_SAME_LINE)
    return _notes(rows, shown, mean)


def _gap_axis(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=LINEAR_NATS, linscale=2.0)
    low, high = axes.dataLim.intervaly if axes.has_data() else (0.0, 1.0)
    low, high = (low, high) if np.isfinite([low, high]).all() else (0.0, 1.0)
    low, high = min(1.6 * low, -0.5), max(1.6 * high, 1.0)
    axes.set_ylim(low, high)
    ticks = gap_ticks(low, high)
    axes.set_yticks(ticks, [plain(tick) for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.axhline(0, color=GREY, linewidth=1.1, zorder=1)
    axes.axhspan(low, 0, color="#EAF4EF", linewidth=0, zorder=0)
    axes.set_ylabel(f"nats per household\n(linear up to ±{plain(LINEAR_NATS)}, then log)")


def gap_ticks(low: float, high: float) -> list[float]:
    """Return ticks of an axis that is linear up to ``LINEAR_NATS`` on both sides of zero."""
    top = int(np.ceil(np.log10(max(-low, high, LINEAR_NATS))))
    step = 1 + max(top - 1, 0) // (_MOST_TICKS - 3)
    powers = [LINEAR_NATS * 10.0**p for p in range(0, top + 1, step)]
    ticks = {0.0, *powers, *(-p for p in powers)} | ({0.5, -0.5} if top <= 2 else set())
    return sorted(t for t in ticks if low <= t <= high)


def _line(axes: Axes, rows: pd.DataFrame, mean: str, error) -> None:
    """Draw means with error bars in the look of the mechanism and its family."""
    if rows.empty:
        return
    style, (_, family, *_) = look(rows["mechanism"].iloc[0]), _FAMILIES[rows["family"].iloc[0]]
    axes.errorbar(rows["epsilon"], rows[mean], yerr=error, color=style.colour, marker=style.marker, **family)
    texts = [
        f"{style.label}, ε = {plain(epsilon)}: {plus_minus(value, off)} nats"
        for epsilon, value, off in zip(rows["epsilon"], rows[mean], error, strict=True)
    ]
    show_points(axes, rows["epsilon"], rows[mean], texts)


def _notes(rows: pd.DataFrame, shown: pd.DataFrame, mean: str) -> list[str]:
    hidden = rows.loc[~rows.index.isin(shown.index), ["epsilon", mean]]
    if hidden.empty:
        return []
    values = ("not a number" if np.isnan(v) else significant(v) for v in hidden[mean])
    cases = ", ".join(f"{v} at ε = {plain(e)}" for v, e in zip(values, hidden["epsilon"], strict=True))
    return [f"Not drawn: {look(rows['mechanism'].iloc[0]).label}, mean {cases}"]


def _legend(drawing: Drawing, data: pd.DataFrame, names: list[str]) -> None:
    """List the mechanisms under the heading of their family, the proven one first."""
    family_of = dict(zip(data["mechanism"], data["family"], strict=True))
    handles, labels, headings = [], [], []
    for family, (heading, line, *_) in _FAMILIES.items():
        members = [name for name in names if family_of[name] == family]
        if members:
            headings.append(len(labels))
            handles.append(line_key())
            labels.append(heading)
        for name in members:
            style = look(name)
            handles.append(line_key(color=style.colour, marker=style.marker, **line))
            labels.append(style.label)
    if _differs(data):
        handles.append(line_key(color=GREY, **_SAME_LINE))
        labels.append("against a mixture of as\nmany classes as the release")
    place = {"loc": "outside right center", "alignment": "left", "handlelength": 2.6}
    legend = drawing.legend(handles, labels, **place)
    for row in headings:
        legend.get_texts()[row].set_fontweight("bold")
        legend.get_texts()[row].set_x(-34)  # over the column of the handles


# --- table ----------------------------------------------------------------------------------------------------------


def cost_grid(tables: Tables, epsilon: float | None, period: str) -> Grid | None:
    """What every mechanism costs at one epsilon, and what its guarantee is worth."""
    data = tables.get(COST.name)
    if data is None:
        return None
    data = nearest(data, epsilon)
    mean, error = _gap_columns(was_held_out(data))
    rows = []
    for name in in_order(data["mechanism"]):
        row = data[data["mechanism"] == name].iloc[0]
        _, _, described, guarantee = _FAMILIES[row["family"]]
        unit = row["unit"].replace("the whole profile of one household", "one household’s profile")
        rows.append((look(name).label, described, guarantee, unit, plus_minus(row[mean], row[error])))
    whose = (
        "households it has not seen" if was_held_out(data) else "the households of the fit (too few to hold any out)"
    )
    header = ("mechanism", "implemented", "guarantee", "what a neighbour changes", "loss, nats ± SE")
    return Grid(
        f"Log-likelihood lost per household at ε = {plain(data['epsilon'].iloc[0])}, on {whose}; {period}",
        header,
        rows,
        words=4,
    )
