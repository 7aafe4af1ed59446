"""The key results of the report as sentences, every number of them from a Parquet artefact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from meterdp.figures.numbers import count, percent, plain, probability
from meterdp.figures.report.cost import cost_sentences
from meterdp.figures.report.grid import Tables, households
from meterdp.figures.style import in_order, look

if TYPE_CHECKING:
    import pandas as pd

NO_PROTECTION = 0.99  # a probability beyond which two households are told apart as good as always


def headline(tables: Tables, settings: Mapping) -> list[str]:
    """Return the key results as sentences, one per part of the study that was run."""
    sentences = [
        _headline_intake(tables),
        *cost_sentences(tables, settings.get("mechanisms", {}).get("figure_epsilon")),
        _headline_forecasts(tables.get("forecast_errors")),
        _headline_delta(tables.get("delta_curves"), settings.get("class_noise", {})),
    ]
    # No line break between a number and its error or its percent sign.
    return [s.replace(" ± ", "\u00a0±\u00a0").replace(" %", "\u00a0%") for s in sentences if s]


def _headline_intake(tables: Tables) -> str | None:
    quality, classes = tables.get("quality_summary"), tables.get("class_table")
    parts = []
    if quality is not None:
        counts = quality[quality["scope"] == "households"].set_index("reason")["item_count"]
        kept, total = int(counts.get("kept", 0)), int(counts.sum())
        parts.append(
            f"{count(kept)} of {households(total)} ({percent(kept / max(total, 1))}) passed the quality rules"
        )
    if classes is not None:
        sizes = classes["household_count"]
        span = households(sizes.min()) if len(sizes) == 1 else f"{count(sizes.min())} to {households(sizes.max())}"
        noun = "class" if len(sizes) == 1 else "classes"
        parts.append(f"{count(sizes.sum())} with a usable profile form {count(len(sizes))} {noun} of {span}")
    return "; ".join(parts) + "." if parts else None


def _headline_forecasts(errors: pd.DataFrame | None) -> str | None:
    if errors is None or "log_kwh" not in set(errors["scale"]):
        return None
    rows = errors[(errors["scale"] == "log_kwh") & (errors["method"] != "released")].set_index("method")
    naive = rows.drop(index="arma", errors="ignore")
    if "arma" not in rows.index or naive.empty:
        return None
    arma, best = rows.loc["arma"], naive["relative_mse"].idxmin()
    verdict = "less than" if arma["relative_mse"] < naive.loc[best, "relative_mse"] else "no less than"
    return (
        f"For {households(arma['household_count'])}, forecast {count(arma['origin_count'])} times each, the ARMA "
        f"forecast leaves {percent(arma['relative_mse'])} of the variance of held-out log energy unexplained, "
        f"{verdict} the best naive forecast ({look(best).label.removeprefix('naive: ')}: "
        f"{percent(naive.loc[best, 'relative_mse'])})."
    )


def _headline_delta(curves: pd.DataFrame | None, settings: Mapping) -> str | None:
    if curves is None:
        return None
    rows = curves[curves["query_model"] == "deterministic"]
    rows = rows[rows["design"] == settings.get("file_design", in_order(curves["design"])[-1])]
    rows = rows[rows["rho"] == settings.get("file_rho", rows["rho"].max())]
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
