"""What the report says about class-based noise: privacy curves, neighbourhoods, designs, and inverse questions."""

from __future__ import annotations

from functools import partial

import numpy as np

from meterdp.class_noise.tables import (
    DELTA_CURVES,
    DELTA_UNDER_PRIOR,
    DESIGN_COMPARISON,
    NEIGHBOURHOOD_SUMMARY,
    NOISE_ANSWERS,
)
from meterdp.report.forecasts import NO_PROTECTION, SIDES
from meterdp.report.numbers import LEAST_PROBABILITY, count, plain, probability, significant
from meterdp.report.pages import Grid, Tables, count_range
from meterdp.report.style import in_order, look


def delta_grid(tables: Tables, sides: str) -> Grid | None:
    """Exact delta per design, query model and budget, one column per epsilon, where there is any protection."""
    data = tables.get("delta_curves")
    data = None if data is None else data[data["sides"] == sides]
    if data is None or data.empty:
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


def prior_grid(tables: Tables) -> Grid | None:
    """Delta of the posterior odds at the largest epsilon, one column per prior ratio, where there is protection."""
    data = tables.get("delta_under_prior")
    if data is None or data.empty:
        return None
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
    return f"Not listed, because {why}, so that the worst pair is told apart: {'; '.join(cases)}."


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


def answers_grid(tables: Tables) -> Grid | None:
    """What the two inverse questions are answered with."""
    data = tables.get("noise_answers")
    if data is None or data.empty:
        return None
    rows = []
    for r in data.itertuples():
        asked = f"ε = {plain(r.asked)}, δ = {plain(r.asked_delta)}"
        if r.question == "guarantee":
            asked = f"error {plain(r.asked)} kWh, δ = {plain(r.asked_delta)}"
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
