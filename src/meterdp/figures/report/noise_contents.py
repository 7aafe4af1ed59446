"""Tables of the report beyond the curves of class-based noise: designs, inverse questions, the group forecast."""

from __future__ import annotations

import pandas as pd

from meterdp.figures.numbers import MISSING, count, plain, plus_minus, probability, significant
from meterdp.figures.report.cost_words import count_range
from meterdp.figures.report.grid import Grid, Tables
from meterdp.figures.style import in_order, look


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
    header = ("design", "query model", "ρ", "ρ / limit", f"δ at ε = {plain(epsilon)}", "over published")
    caption = (
        "Designs at equal budgets, hockey-stick δ of the worst pair; at ρ = limit all households of a "
        "neighbourhood can be released from one law"
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
        "The smallest error for a guarantee, and the guarantee for an error: class_label, one file of one release, "
        "hockey-stick δ. Ask for others with python -m meterdp.classnoise.ask"
    )
    return Grid(caption, header, rows, words=3)


def group_grid(tables: Tables) -> Grid | None:
    """The sound forecast against epsilon, beside forecasts that protect nobody."""
    data = tables.get("group_forecast_errors")
    if data is None:
        return None
    cells = {scale: at for scale, at in data.groupby("scale")}
    first = cells["log_kwh"].reset_index(drop=True)
    second = cells["kwh"].reset_index(drop=True)
    rows = []
    for r, kwh in zip(first.itertuples(), second.itertuples(), strict=True):
        protected = not pd.isna(r.epsilon)
        rows.append(
            (
                _METHODS.get(r.method, r.method) + (f", groups: {r.groups}" if protected else ""),
                plain(r.epsilon) if protected else "no privacy",
                count(r.group_count) if protected else MISSING,
                plus_minus(r.nmse, r.nmse_se),
                significant(r.relative_mse),
                plus_minus(kwh.nmse, kwh.nmse_se),
                significant(kwh.relative_mse),
            )
        )
    header = ("forecast", "ε", "groups", "NMSE, log", "relative, log", "NMSE, kWh", "relative, kWh")
    caption = (
        f"The sound forecast: the private mean of a household’s group, replace_one, δ = "
        f"{probability(data['delta'].max())}, one origin a release; {count_range(data['household_count'])} households"
    )
    return Grid(caption, header, rows)


_METHODS = {
    "group": "sound group forecast",
    "arma": "ARMA forecast",
    "last_value": "naive: last reading",
    "last_week": "naive: same time last week",
    "mean_of_all": "mean of all forecasts",
    "public_level": "public level",
}
