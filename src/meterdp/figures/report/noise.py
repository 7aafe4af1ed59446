"""What the report says about class-based noise: privacy curves, neighbourhoods, designs, and inverse questions."""

from __future__ import annotations

from functools import partial

import numpy as np

from meterdp.classnoise.tables import (
    DELTA_CURVES,
    DELTA_UNDER_PRIOR,
    DESIGN_COMPARISON,
    NEIGHBOURHOOD_SUMMARY,
    NOISE_ANSWERS,
)
from meterdp.figures.forecasts import SIDES
from meterdp.figures.numbers import count, plain, probability, significant
from meterdp.figures.report.grid import Grid, Tables, count_range
from meterdp.figures.style import in_order, look


def delta_grid(tables: Tables, sides: str) -> Grid | None:
    """Exact delta per design, query model and budget, one column per epsilon."""
    data = tables.get("delta_curves")
    data = None if data is None else data[data["sides"] == sides]
    if data is None or data.empty:
        return None
    epsilons = np.sort(data["epsilon"].unique())
    rows = []
    for design in in_order(data["design"]):
        part = data[data["design"] == design]
        if design == "none":  # without noise there is no budget: one row is enough
            part = part.drop_duplicates(["query_model", "epsilon"]).assign(rho=0.0)
        for (model, rho), curve in part.groupby(["query_model", "rho"]):
            at = curve.drop_duplicates("epsilon").set_index("epsilon")["delta"]
            deltas = [probability(at.get(epsilon)) for epsilon in epsilons]
            rows.append((look(design).label, model, "–" if design == "none" else plain(rho), *deltas))
    header = ("design", "query model", "ρ", *(f"ε = {plain(epsilon)}" for epsilon in epsilons))
    pairs = f"{count_range(data['pair_count'])} {'pairs' if sides == 'swap' else 'ordered pairs'}"
    return Grid(f"δ, {SIDES[sides]}: exact, for the worst of {pairs}", header, rows, words=2)


def prior_grid(tables: Tables) -> Grid | None:
    """Delta of the posterior odds at the largest epsilon, one column per prior ratio."""
    data = tables.get("delta_under_prior")
    if data is None or data.empty:
        return None
    epsilon, ratios = data["epsilon"].max(), np.sort(data["prior_ratio"].unique())
    data = data[(data["epsilon"] == epsilon) & (data["design"] != "none")]
    rows = []
    for design in in_order(data["design"]):
        for (model, rho), part in data[data["design"] == design].groupby(["query_model", "rho"]):
            at = part.set_index("prior_ratio")["delta"]
            rows.append((look(design).label, model, plain(rho), *(probability(at.get(ratio)) for ratio in ratios)))
    header = ("design", "query model", "ρ", *(f"{plain(ratio)} : 1" for ratio in ratios))
    caption = (
        f"δ at ε = {plain(epsilon)} for an analyst who, before the release, thinks one household of a pair so many "
        "times as likely as the other: the probability that the odds end above e to the power ε"
    )
    return Grid(caption, header, rows, words=2) if rows else None


def neighbourhood_grid(tables: Tables) -> Grid | None:
    """Sizes of the neighbourhoods."""
    data = tables.get("neighbourhood_summary")
    if data is None:
        return None
    rows = [
        (f"Neighbourhood {r.neighbourhood}", count(r.household_count), count(r.pair_count), count(r.households_alone))
        for r in data.sort_values("neighbourhood").itertuples()
    ]
    alone = " ".join(dict.fromkeys(f"Without a neighbour {m}." for m in data["meaning"] if m))
    header = ("neighbourhood", "households", "ordered pairs", "without a neighbour")
    return Grid(f"Households that must not be told apart. {alone}".rstrip(), header, rows)


def comparison_grid(tables: Tables) -> Grid | None:
    """Every design beside the published one at equal budgets, at the largest epsilon."""
    data = tables.get("design_comparison")
    if data is None or data.empty:
        return None
    epsilon = data["epsilon"].max()
    data = data[(data["epsilon"] == epsilon) & (data["design"] != "none")]
    if data.empty:
        return None
    rows = []
    for (model, rho), at in data.groupby(["query_model", "rho"], sort=False):
        at = at.set_index("design")
        for design in in_order(at.index):
            row = at.loc[design]
            rows.append(
                (
                    look(design).label,
                    model,
                    plain(rho),
                    significant(row["share_of_limit"]),
                    probability(row["delta"]),
                    significant(row["ratio_to_published"]),
                )
            )
    header = ("design", "query model", "ρ", "ρ / limit", f"δ at ε = {plain(epsilon)}", "δ / published δ")
    caption = (
        "Designs at equal budgets, hockey-stick δ of the worst pair; from ρ = limit on, all households of a "
        "neighbourhood can get the same released forecast"
    )
    return Grid(caption, header, rows, words=2)


def answers_grid(tables: Tables) -> Grid | None:
    """What the two inverse questions are answered with."""
    data = tables.get("noise_answers")
    if data is None or data.empty:
        return None
    rows = []
    for r in data.itertuples():
        asked = f"ε = {plain(r.asked)}, δ = {probability(r.asked_delta)}"
        if r.question == "guarantee":
            asked = f"error {plain(r.asked)} kWh, δ = {probability(r.asked_delta)}"
        found = [significant(value) for value in (r.epsilon, r.rho, r.error_kwh)]
        rows.append((look(r.design).label, r.query_model, asked, *found))
    header = ("design", "query model", "asked for", "ε", "ρ", "error the noise adds (kWh, RMS)")
    caption = (
        "The smallest error for a given guarantee, and the guarantee for a given error: class_label, one file of one "
        "release, hockey-stick δ. For others, run `meterdp ask`"
    )
    return Grid(caption, header, rows, words=3)


READS = (DELTA_CURVES, DELTA_UNDER_PRIOR, NEIGHBOURHOOD_SUMMARY, DESIGN_COMPARISON, NOISE_ANSWERS)
GRIDS = {
    **{f"delta_{sides}": partial(delta_grid, sides=sides) for sides in SIDES},
    "delta_prior": prior_grid,
    "comparison": comparison_grid,
    "answers": answers_grid,
    "neighbourhoods": neighbourhood_grid,
}
