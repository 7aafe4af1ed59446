"""What each mechanism costs against epsilon: log-likelihood of households it has not seen, and KL divergence.

The held-out gap is the one measure all mechanisms share; where no household could be held out it is that of the
households of the fit, and the text says so. The divergence is Fig. 7 of Liu et al. for the export at hand, and its
reference differs. Lines tell families apart: solid where a guarantee is proven, broken with hollow markers where none
holds. What cannot be drawn is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meterdp.evaluation.tables import COST, MOST_HOUSEHOLDS
from meterdp.mixture.patterns import too_many_classes
from meterdp.report.numbers import count, differs, percent, plain, plus_minus, significant
from meterdp.report.pages import COSTS, Grid, Tables, count_range, figure, grid_of, printed
from meterdp.report.style import GREY, canvas, in_order, line_key, look, one_three_ticks, plain_log_ticks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

LINEAR_NATS = 1.0  # the gap has a linear axis up to here and a logarithmic one beyond, on both sides of zero
MOST_NATS_AS_FACTOR = 10.0  # beyond, "more than 22,000 times less likely" says as much to a reader
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
_REFERENCES = {"fit": "the fit", "own_classes": "a fit to its own classes"}


def was_held_out(cost: pd.DataFrame) -> bool:
    """Whether the study had enough households to hold some out."""
    return bool(cost["heldout_gap_mean"].notna().any())


def _gap_columns(held_out: bool) -> tuple[str, str]:
    return ("heldout_gap_mean", "heldout_gap_se") if held_out else ("loglik_gap_mean", "loglik_gap_se")


@figure(
    COST,
    category=COSTS,
    look_for=(
        "Above: how much worse each release describes new households than the study’s mixture without privacy does "
        "(log-likelihood lost per household). Lower is better, and below zero the release is the better of the two; "
        "a thin dotted line compares with a mixture of as many classes as released. Below: the KL divergence of the "
        "released mixture (Fig. 7 of Liu et al.), whose reference differs as its title says. Compare mechanisms in "
        "the upper panel, and remember that broken lines have no valid guarantee. A mean far above its band is due "
        "to a few bad draws, most often in the smallest class."
    ),
    alternative=(
        "Two panels over epsilon, one curve per mechanism, solid where a guarantee is proven and broken where none "
        "holds: log-likelihood lost per held-out household, linear around zero, and KL divergence on a log scale."
    ),
)
def kl_curve(data: pd.DataFrame, output) -> None:
    """Draw the held-out log-likelihood gap and KL(released || reference) over epsilon, one curve a mechanism.

    Above mean and standard error are over folds, below over draws, where the band holds the middle half of them.
    """
    epsilons = np.sort(data["epsilon"].unique())
    names = in_order(data["mechanism"])
    with canvas(output, "Cost of privacy against ε", 8.4) as drawing:
        gap, divergence = drawing.subplots(2, 1, sharex=True)
        notes = []
        for name in names:
            rows = data[data["mechanism"] == name].sort_values("epsilon")
            notes += _gap_curve(gap, rows, held_out=was_held_out(data))
            notes += _divergence_curve(divergence, rows)
        _gap_axis(gap, was_held_out(data))
        _divergence_axis(divergence, data)
        plain_log_ticks(divergence.xaxis, epsilons)
        divergence.set_xlim(epsilons[0] / 1.15, epsilons[-1] * 1.15)
        divergence.set_xlabel("ε the mechanism was calibrated to (log scale)")
        _legend(drawing, data, names)
        if notes:
            drawing.supxlabel("\n".join(dict.fromkeys(notes)), fontsize=9, x=0.01, ha="left")


def _differs(rows: pd.DataFrame) -> bool:
    """Whether a release has another number of classes than the mixture of the study: then its two gaps differ."""
    same = rows["heldout_gap_same_k_mean"]
    return bool((same.notna() & (same != rows["heldout_gap_mean"])).any())


# --- log-likelihood -------------------------------------------------------------------------------------------------


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


def _gap_axis(axes: Axes, held_out: bool) -> None:
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
    words = {"fontsize": 8, "color": GREY, "ha": "left", "va": "bottom", "transform": axes.transAxes}
    axes.text(0.01, 0.015, "better than the study’s mixture", **words)
    axes.set_ylabel(f"nats per household\n(linear up to ±{plain(LINEAR_NATS)}, then log)")
    whose = "households held out" if held_out else "households of the fit (too few to hold any out)"
    axes.set_title(f"Log-likelihood lost against the study’s mixture,\n{whose}")


def gap_ticks(low: float, high: float) -> list[float]:
    """Return ticks of an axis that is linear up to ``LINEAR_NATS`` on both sides of zero."""
    top = int(np.ceil(np.log10(max(-low, high, LINEAR_NATS))))
    step = 1 + max(top - 1, 0) // (_MOST_TICKS - 3)
    powers = [LINEAR_NATS * 10.0**p for p in range(0, top + 1, step)]
    ticks = {0.0, *powers, *(-p for p in powers)} | ({0.5, -0.5} if top <= 2 else set())
    return sorted(t for t in ticks if low <= t <= high)


# --- divergence -----------------------------------------------------------------------------------------------------


def _divergence_curve(axes: Axes, rows: pd.DataFrame) -> list[str]:
    """Draw one mechanism's divergence where its mean is finite and positive; return a note on where it is not."""
    # A logarithmic axis shows positive numbers only; a mean of zero is left to the note.
    shown = rows[np.isfinite(rows["kl_mean"]) & (rows["kl_mean"] > 0)]
    inside = rows[np.isfinite(rows["kl_q25"]) & np.isfinite(rows["kl_q75"]) & (rows["kl_q25"] > 0)]
    colour = look(rows["mechanism"].iloc[0]).colour
    axes.fill_between(inside["epsilon"], inside["kl_q25"], inside["kl_q75"], color=colour, alpha=0.14, linewidth=0)
    error = shown["kl_se"].fillna(0)
    _line(axes, shown, "kl_mean", (np.minimum(error, 0.999 * shown["kl_mean"]), error))
    return _notes(rows, shown, "kl_mean")


def _divergence_axis(axes: Axes, data: pd.DataFrame) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim() if any(line.get_xdata().size for line in axes.lines) else (0.1, 10)
    axes.set_ylim(low, max(high, 30 * low))
    ticks = one_three_ticks(*axes.get_ylim())
    plain_log_ticks(axes.yaxis, ticks if len(ticks) <= _MOST_TICKS else [t for t in ticks if np.log10(t) % 1 == 0])
    axes.set_ylabel("nats (log scale)")
    own = in_order(data.loc[data["kl_reference"] == "own_classes", "mechanism"])
    title = "KL divergence of the released mixture to the fit"
    if own:
        labels = ", ".join(look(name).label for name in own)
        title += f";\n{labels}: to a fit to its own classes, not comparable"
    axes.set_title(title)


# --- both -----------------------------------------------------------------------------------------------------------


def _line(axes: Axes, rows: pd.DataFrame, mean: str, error) -> None:
    """Draw means with error bars in the look of the mechanism and its family."""
    if rows.empty:
        return
    style, (_, family, *_) = look(rows["mechanism"].iloc[0]), _FAMILIES[rows["family"].iloc[0]]
    axes.errorbar(rows["epsilon"], rows[mean], yerr=error, color=style.colour, marker=style.marker, **family)


def _notes(rows: pd.DataFrame, shown: pd.DataFrame, mean: str) -> list[str]:
    hidden = rows.loc[~rows.index.isin(shown.index), ["epsilon", mean]]
    if hidden.empty:
        return []
    values = ("not a number" if np.isnan(v) else significant(v) for v in hidden[mean])
    cases = ", ".join(f"{v} at ε = {plain(e)}" for v, e in zip(values, hidden["epsilon"], strict=True))
    what = "KL divergence" if mean == "kl_mean" else "log-likelihood lost"
    return [f"Not drawn: {look(rows['mechanism'].iloc[0]).label}, {what}, mean {cases}"]


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
        labels.append("against a mixture of as\nmany classes as released")
    words = f"{_subtitle(data)};\nmean ± SE; band: middle half of draws"
    place = {"loc": "outside right upper", "alignment": "left", "handlelength": 2.6}
    legend = drawing.legend(handles, labels, title=words, **place)
    for row in headings:
        legend.get_texts()[row].set_fontweight("bold")
        legend.get_texts()[row].set_x(-34)  # over the column of the handles


def _subtitle(data: pd.DataFrame) -> str:
    delta = ", ".join(plain(value) for value in sorted(data["delta"].unique()))
    return f"δ = {delta}; {count_range(data['draw_count'])} draws per point"


# --- sentences ------------------------------------------------------------------------------------------------------


def count_classes(number: int) -> str:
    """Write a number of classes."""
    return f"{count(number)} class{'' if number == 1 else 'es'}"


def cost_sentences(tables: Tables, preferred: float | None) -> list[str]:
    """Say how well the release with a proof, then the other families, describe households at ``preferred`` epsilon.

    Without that epsilon in the table the middle one is taken.
    """
    cost = tables.get("cost")
    if cost is None:
        return []
    epsilons = np.sort(cost["epsilon"].unique())
    epsilon = preferred if preferred in epsilons else epsilons[len(epsilons) // 2]
    held_out = was_held_out(cost)
    mean, error = _gap_columns(held_out)
    rows = cost[cost["epsilon"] == epsilon].copy()
    rows[mean] = rows[mean].fillna(np.inf)
    best = rows.loc[rows.groupby("family")[mean].idxmin()].set_index("family")
    who = "new households" if held_out else "the households of the fit (too few to hold any out)"
    study = f"the study’s own mixture ({_study(tables)})"
    sentences = []
    if "sound" in best.index:
        row = best.loc["sound"]
        sentences.append(
            f"At ε = {plain(epsilon)}, {_compared('the release with a proof', who, study, row[mean], row[error])}"
            f"{_same_classes(row, tables)} This is the {look(row['mechanism']).label}, with "
            f"{count_classes(row['classes'])}; neighbouring data sets differ in {row['unit']}."
        )
    others = [
        f"{_by(best.loc[family, mean], best.loc[family, error])} "
        f"({look(best.loc[family, 'mechanism']).label}, the best of the family ‘{family}’)"
        for family in ("exact", "published")
        if family in best.index
    ]
    if others:
        lead = "By the same measure" if sentences else f"At ε = {plain(epsilon)} and against {study}"
        sentences.append(f"{lead}, mechanisms whose guarantee does not hold describe {who} {' and '.join(others)}.")
    if sentences and "class_table" in tables and "profile_hours" in tables:
        sizes = tables["class_table"]["household_count"].to_numpy()
        if sizes.sum() > MOST_HOUSEHOLDS:
            sentences.append(
                f"Costs are those of a release of {count(MOST_HOUSEHOLDS)} of the households, chosen without looking "
                "at readings: one of all costs less."
            )
        if too_many_classes(sizes, len(tables["profile_hours"])):
            sentences.append(
                "The study’s own mixture has too many classes for so few households: that something describes "
                "households better than it does says little."
            )
    return sentences


def _verdict(gap: float) -> str:
    return "worse" if gap >= 0 else "better"


def _compared(release: str, who: str, study: str, gap: float, error: float) -> str:
    """Say how well a release describes households against the mixture of the study."""
    if not differs(gap, error):
        return (
            f"no difference is found between {release} and {study} in how well they describe {who} "
            f"({plus_minus(gap, error)} nats each)."
        )
    by = f"{plus_minus(abs(gap), error)} nats each{_likely(gap)}"
    return f"{release} describes {who} {_verdict(gap)} than {study}, by {by}."


def _by(gap: float, error: float) -> str:
    if not differs(gap, error):
        return f"no differently, by {plus_minus(gap, error)} nats each"
    return f"{_verdict(gap)} by {plus_minus(abs(gap), error)} nats each"


def _likely(gap: float) -> str:
    """Say what a gap in nats means for the likelihood of a household; beyond a point only that it is more."""
    if not np.isfinite(gap):
        return ""
    less = "less" if gap >= 0 else "more"
    if abs(gap) > MOST_NATS_AS_FACTOR:
        return f" (more than {significant(np.exp(MOST_NATS_AS_FACTOR), 2)} times {less} likely)"
    return f" (e^{significant(abs(gap))} = {significant(np.exp(abs(gap)), 2)} times {less} likely)"


def _study(tables: Tables) -> str:
    classes = f"{count_classes(len(tables['class_table']))}, " if "class_table" in tables else ""
    return f"{classes}no privacy"


def _same_classes(row: pd.Series, tables: Tables) -> str:
    gap = row["heldout_gap_same_k_mean"]
    same = "class_table" in tables and len(tables["class_table"]) == row["classes"]
    if same or not np.isfinite(gap):
        return ""
    without = f"a mixture of {count_classes(row['classes'])} without privacy"
    return f" Against {without} it describes them {_verdict(gap)} by {significant(abs(gap))} nats."


# --- tables ---------------------------------------------------------------------------------------------------------


@printed(COST)
def mechanism_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """What each mechanism promises, or would promise if its proof held."""
    rows = []
    for mechanism in in_order(data["mechanism"]):
        part = data[data["mechanism"] == mechanism]
        first = part.iloc[0]
        delta = ", ".join(plain(value) for value in sorted(part["delta"].unique()))
        _, _, described, guarantee = _FAMILIES[first["family"]]
        text = (look(mechanism).label, f"{first['family']}: {described}", guarantee, first["unit"])
        ends = (delta, count_range(part["classes"]), count_range(part["draw_count"]))
        rows.append((*text, first["adjacency"], _REFERENCES[first["kl_reference"]], *ends))
    text = ("mechanism", "family", "guarantee", "what one neighbour changes", "adjacency", "KL compares with")
    return Grid("Mechanisms compared", (*text, "δ", "classes", "draws"), rows, words=len(text))


@printed(COST)
def gap_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """Log-likelihood lost per household, a row a mechanism and a column an epsilon."""
    held_out = was_held_out(data)
    mean, error = _gap_columns(held_out)
    epsilons = np.sort(data["epsilon"].unique())
    rows = []
    for mechanism in in_order(data["mechanism"]):
        part = data[data["mechanism"] == mechanism].set_index("epsilon").reindex(epsilons)
        label, guarantee = look(mechanism).label, _FAMILIES[part["family"].dropna().iloc[0]][-1]
        rows.append((label, guarantee, *map(plus_minus, part[mean], part[error])))
        if held_out and _differs(part):
            classes = count_range(part["classes"].dropna().astype(int))
            same = map(significant, part["heldout_gap_same_k_mean"])
            rows.append((f"{label}, against {classes} classes", guarantee, *same))
    whose = "households held out, mean ± SE over five folds" if held_out else "households of the fit, mean ± SE"
    caption = (
        f"Log-likelihood lost per household against the study’s mixture ({_study(tables)}), in nats: {whose}; within "
        "two SE of 0 there is no difference"
    )
    return Grid(caption, ("mechanism", "guarantee", *(f"ε = {plain(e)}" for e in epsilons)), rows, words=2)


@printed(COST)
def cost_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """Every other measure of each mechanism at each epsilon."""
    order = in_order(data["mechanism"])
    data = data.assign(place=data["mechanism"].map(order.index)).sort_values(["place", "epsilon"])
    columns = {
        "mechanism": lambda r: look(r.mechanism).label,
        "ε": lambda r: plain(r.epsilon),
        "classes": lambda r: count(r.classes),
        "held-out log-likelihood": lambda r: significant(r.heldout_loglik_mean),
        "lost on the households of the fit": lambda r: plus_minus(r.loglik_gap_mean, r.loglik_gap_se),
        "KL, mean ± SE": lambda r: plus_minus(r.kl_mean, r.kl_se),
        "KL, median": lambda r: significant(r.kl_median),
        "KL mean, small classes": lambda r: significant(r.kl_small_classes_mean),
        "draws projected": lambda r: percent(r.projected_share),
    }
    return grid_of("Further measures of each mechanism, in nats per household", data, columns)


def cost_families(tables: Tables) -> list[str]:
    """Families the study compared, in a fixed order."""
    if "cost" not in tables:
        return []
    return [family for family in ("published", "exact", "sound") if family in set(tables["cost"]["family"])]


GRIDS = {"mechanisms": mechanism_grid, "gap": gap_grid, "cost": cost_grid}
