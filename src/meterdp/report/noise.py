"""What class-based noise does to forecasts: privacy curves, neighbourhoods, designs, and inverse questions.

The curves are Fig. 4 of Ramakrishna et al. on the export at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from meterdp.class_noise.query_models import RANDOMNESS
from meterdp.class_noise.tables import (
    DELTA_CURVES,
    DELTA_UNDER_PRIOR,
    DESIGN_COMPARISON,
    NEIGHBOURHOOD_SUMMARY,
    NOISE_ANSWERS,
)
from meterdp.report.numbers import LEAST_PROBABILITY, count, plain, probability, significant
from meterdp.report.pages import FORECASTS, Grid, Tables, count_range, figure, grid_of, printed
from meterdp.report.style import canvas, in_order, legend_below, line_key, look, panels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SIDES = {
    "one": "one-sided, Pr(L > ε)",
    "two": "two-sided, Pr(|L| > ε)",
    "hockey_stick": "(ε, δ)-DP of one file",
    "swap": "(ε, δ)-DP of the files of a neighbourhood",
}
NO_PROTECTION = 0.99  # a delta beyond which the households of a pair are nearly always distinguished
_LOG_BELOW = 0.05  # a delta from which on the axis is logarithmic
_LOWEST = 1e-12
_BOUND = {"linewidth": 1.0, "alpha": 0.45}


@figure(
    DELTA_CURVES,
    category=FORECASTS,
    may_be_empty=True,
    look_for=(
        "Probability δ that the privacy loss of the worst pair of neighbours exceeds ε, for each noise design and "
        "accuracy budget ρ (Fig. 4 of Ramakrishna et al.). Lines with markers are exact, lighter ones the Chernoff "
        "bound of the paper. Look for how far below 1 the curves are: at δ near 1 the noise does not hide the "
        "worst pair."
    ),
    alternative=(
        "Curves of delta over epsilon, a column per accuracy budget and a row per query model, one colour per design."
    ),
)
def delta_curves(data: pd.DataFrame, output, sides: str = "one") -> None:
    """Draw delta over epsilon per design, a column per accuracy budget, a row per query model: Fig. 4.

    No noise has no accuracy budget and is repeated in every panel. Where no household has a neighbour there is no
    curve; the figure says so.
    """
    data = data[data["sides"] == sides]
    if data.empty:
        with canvas(output, f"Privacy curves of the released forecasts ({SIDES[sides]})", 1.6) as drawing:
            drawing.text(0.5, 0.4, "no household has a neighbour, so there is no pair to tell apart", ha="center")
        return
    models = [m for m in RANDOMNESS if m in set(data["query_model"])]
    budgets = np.sort(data.loc[data["design"] != "none", "rho"].unique())
    budgets = budgets if budgets.size else np.sort(data["rho"].unique())[:1]
    budgets, hidden = _with_protection(data, budgets)
    columns = min(len(budgets), 4)
    lines = -(-len(budgets) // columns)
    title = f"Privacy curves of the released forecasts ({SIDES[sides]})"
    with canvas(output, title, 1.3 + 2.5 * lines * len(models)) as drawing:
        bodies = np.atleast_1d(drawing.subfigures(len(models), 1))
        for body, model in zip(bodies, models, strict=True):
            heading = f"Query model {model}: {RANDOMNESS[model]}"
            body.suptitle(heading, x=0.01, ha="left", fontsize=10, weight="normal")
            rows = data[data["query_model"] == model]
            for axes, rho in zip(panels(body, len(budgets), columns, sharex=True, sharey=True), budgets, strict=True):
                _delta_panel(axes, rows, rho)
                _delta_scale(axes, data["delta"])
            body.supxlabel("ε", fontsize=10)
            body.supylabel("δ, worst pair", fontsize=10)
        if hidden.size:
            named = ", ".join(plain(rho) for rho in hidden)
            bodies[-1].supxlabel(f"ε\nNot drawn: ρ = {named}, where every δ is above {NO_PROTECTION}", fontsize=10)
        designs = [look(design) for design in in_order(data["design"])]
        handles = [line_key(color=d.colour, marker=d.marker, markersize=4) for d in designs]
        labels = [d.label for d in designs]
        if data["delta_chernoff"].notna().any():
            handles.append(line_key(color="black", **_BOUND))
            labels.append("lighter: Chernoff bound")
        legend_below(drawing, handles, labels, columns=5)


def _with_protection(data: pd.DataFrame, budgets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the budgets at which some design protects, and the others; all are drawn where none does."""
    least = data[data["design"] != "none"].groupby("rho")["delta"].min().reindex(budgets)
    hidden = (least > NO_PROTECTION).to_numpy()
    return (budgets, budgets[:0]) if hidden.all() else (budgets[~hidden], budgets[hidden])


def _delta_panel(axes: Axes, rows: pd.DataFrame, rho: float) -> None:
    for design in in_order(rows["design"]):
        style = look(design)
        curve = rows[rows["design"] == design]
        # Without noise there is no budget: whichever row there is stands in every panel.
        curve = curve[curve["rho"] == rho] if (curve["rho"] == rho).any() or design != "none" else curve
        curve = curve.drop_duplicates("epsilon").sort_values("epsilon")
        axes.plot(curve["epsilon"], curve["delta_chernoff"].astype(float), color=style.colour, **_BOUND)
        axes.plot(
            curve["epsilon"], curve["delta"], color=style.colour, marker=style.marker, markersize=4, linewidth=1.5
        )
    if rows.loc[rows["rho"].isin([rho, 0]), "delta"].min() > NO_PROTECTION:
        text = "all curves lie on top of\neach other, above 0.99"
        axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, fontsize=9)
    axes.set_title(f"ρ = {plain(rho)} (log kWh)²", fontsize=9.5)


def _delta_scale(axes: Axes, deltas: pd.Series) -> None:
    positive = deltas[deltas > 0]
    if positive.empty or positive.min() >= _LOG_BELOW:
        axes.set_ylim(-0.03, 1.05)
        return
    axes.set_yscale("log")
    axes.set_ylim(max(_LOWEST, positive.min() / 3), 2)


# --- tables ---------------------------------------------------------------------------------------------------------


@printed(DELTA_CURVES)
def delta_grid(data: pd.DataFrame, tables: Tables, sides: str) -> Grid | None:
    """Exact delta per design, query model and budget, one column per epsilon, where there is any protection."""
    data = data[data["sides"] == sides]
    if data.empty:
        return None
    epsilons = np.sort(data["epsilon"].unique())
    rows, unprotected = [], []
    for design in in_order(data["design"]):
        part = data[data["design"] == design]
        if design == "none":  # without noise there is no budget: one row is enough
            part = part.drop_duplicates(["query_model", "epsilon"]).assign(rho=0.0)
        for (model, rho), curve in part.groupby(["query_model", "rho"]):
            if curve["delta"].min() > NO_PROTECTION:
                unprotected.append((design, model, rho))
                continue
            at = dict(zip(curve["epsilon"], curve["delta"], strict=True))
            deltas = [probability(at.get(epsilon)) for epsilon in epsilons]
            rows.append((look(design).label, model, "–" if design == "none" else plain(rho), *deltas))
    header = ("design", "query model", "ρ", *(f"ε = {plain(epsilon)}" for epsilon in epsilons))
    pairs = f"{count_range(data['pair_count'])} {'pairs' if sides == 'swap' else 'ordered pairs'}"
    caption = f"δ, {SIDES[sides]}: exact, for the worst of {pairs}"
    return Grid(caption, header, rows, words=2, note=_unprotected(unprotected, "δ is above 0.99 at every ε"))


@printed(DELTA_UNDER_PRIOR)
def prior_grid(data: pd.DataFrame, tables: Tables) -> Grid | None:
    """Delta of the posterior odds at the largest epsilon, one column per prior ratio, where there is protection."""
    epsilon, ratios = data["epsilon"].max(), np.sort(data["prior_ratio"].unique())
    data = data[(data["epsilon"] == epsilon) & (data["design"] != "none")]
    rows, unprotected = [], []
    for design in in_order(data["design"]):
        for (model, rho), part in data[data["design"] == design].groupby(["query_model", "rho"]):
            at = part.set_index("prior_ratio")["delta"]
            if at.min() > NO_PROTECTION:
                unprotected.append((design, model, rho))
            else:
                rows.append((look(design).label, model, plain(rho), *(probability(at.get(r)) for r in ratios)))
    header = ("design", "query model", "ρ", *(f"{plain(ratio)} : 1" for ratio in ratios))
    caption = (
        f"δ at ε = {plain(epsilon)} for an analyst who, before the release, thinks one household of a pair so many "
        "times as likely as the other: the probability that the odds end above e to the power ε"
    )
    note = _unprotected(unprotected, "δ is above 0.99 for every such analyst")
    return Grid(caption, header, rows, words=2, note=note) if rows or note else None


def _unprotected(found: list[tuple[str, str, float]], why: str) -> str:
    """Name the (design, query model, budget) without a row: those of one budget and model together."""
    if not found:
        return ""
    budgets: dict[tuple[str, str], list[float]] = {}
    for design, model, rho in found:
        budgets.setdefault((design, model), []).append(rho)
    designs: dict[tuple[str, tuple], list[str]] = {}
    for (design, model), rhos in budgets.items():
        designs.setdefault((model, tuple(sorted(rhos))), []).append(design)
    models: dict[tuple[tuple, tuple], list[str]] = {}
    for (model, rhos), names in designs.items():
        models.setdefault((tuple(names), rhos), []).append(model)
    cases = [
        " and ".join(look(name).label for name in names)
        + ("" if rhos == (0.0,) else f" at ρ = {', '.join(plain(rho) for rho in rhos)}")
        + f" ({', '.join(of)})"
        for (names, rhos), of in models.items()
    ]
    return f"Not listed, because {why}, so that the worst pair is distinguished: {'; '.join(cases)}."


@printed(NEIGHBOURHOOD_SUMMARY)
def neighbourhood_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """Sizes of the neighbourhoods."""
    columns = {
        "neighbourhood": lambda r: f"Neighbourhood {r.neighbourhood}",
        "households": lambda r: count(r.household_count),
        "ordered pairs": lambda r: count(r.pair_count),
        "without a neighbour": lambda r: count(r.households_alone),
    }
    alone = " ".join(dict.fromkeys(f"Without a neighbour {m}." for m in data["meaning"] if m))
    caption = f"Households that must not be distinguished. {alone}".rstrip()
    return grid_of(caption, data.sort_values("neighbourhood"), columns)


@printed(DESIGN_COMPARISON)
def comparison_grid(data: pd.DataFrame, tables: Tables) -> Grid | None:
    """Every design beside the published one at equal budgets, at the largest epsilon."""
    epsilon = data["epsilon"].max()
    data = data[(data["epsilon"] == epsilon) & (data["design"] != "none")]
    if data.empty:
        return None
    rows, unprotected = [], []
    for (model, rho), at in data.groupby(["query_model", "rho"], sort=False):
        at = at.set_index("design")
        for design in in_order(at.index):
            row = at.loc[design]
            if row["delta"] > NO_PROTECTION:
                unprotected.append((design, model, rho))
                continue
            delta, ratio = probability(row["delta"]), row["ratio_to_published"]
            against = probability(ratio) if ratio < LEAST_PROBABILITY else significant(ratio)
            rows.append((look(design).label, model, plain(rho), significant(row["share_of_limit"]), delta, against))
    header = ("design", "query model", "ρ", "ρ / limit", f"δ at ε = {plain(epsilon)}", "δ / published δ")
    caption = (
        "Designs at equal budgets, hockey-stick δ of the worst pair; from ρ = limit on, all households of a "
        "neighbourhood can get the same released forecast"
    )
    note = _unprotected(unprotected, f"δ is above 0.99 at ε = {plain(epsilon)}")
    return Grid(caption, header, rows, words=2, note=note)


@printed(NOISE_ANSWERS)
def answers_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """What the two inverse questions are answered with."""

    def asked(r) -> str:
        what = f"error {plain(r.asked)} kWh" if r.question == "guarantee" else f"ε = {plain(r.asked)}"
        return f"{what}, δ = {plain(r.asked_delta)}"

    columns = {
        "design": lambda r: look(r.design).label,
        "query model": lambda r: r.query_model,
        "asked for": asked,
        "ε": lambda r: significant(r.epsilon),
        "ρ": lambda r: significant(r.rho),
        "error the noise adds (kWh, RMS)": lambda r: significant(r.error_kwh),
    }
    caption = (
        "The smallest error for a given guarantee, and the guarantee for a given error: class_label, one file of one "
        "release, hockey-stick δ. For others, run `meterdp ask`"
    )
    return grid_of(caption, data, columns, words=3)


GRIDS = {
    **{f"delta_{sides}": partial(delta_grid, sides=sides) for sides in SIDES},
    "delta_prior": prior_grid,
    "comparison": comparison_grid,
    "answers": answers_grid,
    "neighbourhoods": neighbourhood_grid,
}


def delta_sentence(tables: Tables, settings: Mapping) -> str | None:
    """How well the released forecasts hide which household of a pair they belong to."""
    curves = tables.get("delta_curves")
    if curves is None:
        return None
    rows = curves[curves["query_model"] == "deterministic"]
    rows = rows[rows["design"] == settings.get("file_design", in_order(curves["design"])[-1])]
    rows = rows[rows["rho"] == settings.get("rhos", [rows["rho"].max()])[0]]
    if rows.empty:
        return None
    rows = rows[rows["sides"] == ("two" if "two" in set(rows["sides"]) else "one")]
    row = rows.loc[rows["epsilon"].idxmax()]
    sides = "in either direction " if row["sides"] == "two" else ""
    verdict = ": that pair is not protected" if row["delta"] > NO_PROTECTION else " (1 means no protection)"
    return (
        f"In forecasts released with the {look(row['design']).label} at ρ = {plain(row['rho'])}, the privacy loss of "
        f"the worst pair of neighbours exceeds ε = {plain(row['epsilon'])} {sides}with a probability of up to "
        f"{probability(row['delta'])} if only the added noise counts{verdict}."
    )
