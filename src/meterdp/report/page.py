"""The study's report: one HTML file that asks for nothing outside itself and can be handed to a colleague.

Every number comes from a Parquet artefact through the parts beside this file; the template ``page.html``
holds words only. Ids and seeds cannot get in: no table with ids is accepted and the seed is taken out of the
settings.

The key results of the report as sentences, every number of them from a Parquet artefact.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from meterdp.class_noise.query_models import RANDOMNESS
from meterdp.core.parquet import read_table
from meterdp.core.tables import Table
from meterdp.report import classes as classes
from meterdp.report import cost as cost
from meterdp.report import federation, first, noise, numbers
from meterdp.report import forecasts as forecasts
from meterdp.report import hiding as hiding
from meterdp.report import intake as intake
from meterdp.report.pages import Grid, Tables, picture, write_page
from meterdp.report.registry import figure_of

if TYPE_CHECKING:
    import pandas as pd
from meterdp.forecasting.forecasters.interface import OWN
from meterdp.report.cost import cost_sentences
from meterdp.report.forecasts import NO_PROTECTION
from meterdp.report.numbers import count, differs, percent, plain, probability, significant
from meterdp.report.pages import households
from meterdp.report.style import in_order, look


def headline(tables: Tables, settings: Mapping) -> list[str]:
    """Return the key results as sentences, one per part of the study that was run."""
    sentences = [
        _headline_intake(tables),
        *cost_sentences(tables, settings.get("mechanisms", {}).get("figure_epsilon")),
        _headline_forecasts(tables.get("forecaster_comparison"), tables.get("forecast_errors")),
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


def _headline_forecasts(comparison: pd.DataFrame | None, errors: pd.DataFrame | None) -> str | None:
    """The study's forecast against the mean of the last seven days and against the best of all, in log and in kWh."""
    if comparison is None or comparison["mae"].isna().all():
        return None
    run = comparison[comparison["status"] == "run"]
    by = {scale: at.set_index("forecaster") for scale, at in run.groupby("scale")}
    own = by["kwh"].iloc[0]
    sentence = (
        f"For {households(own['household_count'])}, forecast {count(own['origin_count'])} times each, the forecast "
        f"misses by {significant(own['mae'])} kWh an interval on average"
    )
    if errors is not None:
        arma = errors[(errors["method"] == "arma") & (errors["scale"] == "kwh")].iloc[0]
        sentence += f" ({significant(arma['mae_median'])} kWh for the median household)"
    if "rolling_mean" in by["kwh"].index:
        log, kwh = (by[scale].loc["rolling_mean"] for scale in ("log_kwh", "kwh"))
        sentence += (
            f"; the mean of the last seven days misses by {significant(kwh['mae_ratio'])} times as much, "
            f"and by {significant(log['mse_ratio'])} times in squared error of log energy"
        )
    others = {scale: at["mse_ratio" if scale == "log_kwh" else "mae_ratio"].iloc[1:] for scale, at in by.items()}
    if (by["kwh"]["looks_at"].iloc[1:] == OWN).any():
        # Of those that look at the household's own readings alone, as the study's does.
        name = others["kwh"][by["kwh"]["looks_at"].iloc[1:] == OWN].idxmin()
        kwh, log = by["kwh"].loc[name], by["log_kwh"].loc[name]
        found = differs(kwh["mae_ratio"] - 1, kwh["mae_ratio_se"])
        sentence += (
            f". Of the other forecasters from a household’s own readings the best is the {kwh['label']}: "
            + ("" if found else "no difference found, ")
            + f"{significant(kwh['mae_ratio'])} times the error in kWh, {significant(log['mse_ratio'])} times the "
            "squared error in log"
        )
    return f"{sentence}."


def _headline_delta(curves: pd.DataFrame | None, settings: Mapping) -> str | None:
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


PARTS = (intake, classes, federation, cost, forecasts, noise, hiding)
TABLES: dict[str, Table] = {table.name: table for part in (*PARTS, first) for table in part.READS}
# Tables of a study whose mixture is fitted over circuits.
OF_FEDERATIONS = frozenset(table.name for table in federation.READS)
TEMPLATE = Path(__file__).with_name("page.html")
# Figures of the mechanisms a reader needs most; those of the others are folded away.
OPEN_MARGINALS = ("marginal_densities_kl_published", "marginal_densities_sound")
# A seed lets the holder subtract the noise of a study; the others say where on whose machine it ran.
HIDDEN_SETTINGS = frozenset({"seed", "results_dir", "title"})
# Settings of which only the last part is shown: folders may name people.
PATHS = frozenset({"path", "graph"})


def build_report(
    inputs: Mapping[str, os.PathLike | str],
    figures: Mapping[str, os.PathLike | str],
    output,
    *,
    title: str,
    synthetic: bool,
    settings: Mapping,
    files: Iterable[Table] = (),
) -> None:
    """Write the report of a study as one self-contained HTML file.

    Parameters
    ----------
    inputs : mapping of table name to path
        Any of :data:`TABLES`; what is missing is named as not part of the study.
    figures : mapping of figure name to path
        SVG files; names as in :mod:`meterdp.report.registry`, with the suffix of a variant such as
        ``marginal_densities_sound``.
    output : path-like
        HTML file to write.
    title : str
        Title of the study.
    synthetic : bool
        Whether the export was simulated.
    settings : mapping
        The whole configuration; the seed, the title and local folders are not shown.
    files : iterable of Table, optional
        Tables of the study, to list where they are.

    Raises
    ------
    InputError
        If a file is not an instance of its table.
    ValueError
        If a table is not one the report reads.
    KeyError
        If a figure is not in the registry.
    """
    if unknown := set(inputs) - set(TABLES):
        raise ValueError(f"the report does not read {', '.join(sorted(unknown))}")
    tables = _read(inputs)
    write_page(
        TEMPLATE,
        output,
        title=title,
        synthetic=synthetic,
        first=first.first_page(tables, settings, synthetic),
        headline=headline(tables, settings),
        smallest_class=int(tables["class_table"]["household_count"].min()) if "class_table" in tables else None,
        forecast_sentence=forecasts.forecast_sentence(tables),
        hiding_sentence=hiding.hiding_sentence(tables),
        families=cost.cost_families(tables),
        held_out="cost" in tables and cost.was_held_out(tables["cost"]),
        hours=intake.hours_sentence(tables),
        period=intake.period_sentence(settings),
        grids=_grids(tables),
        pictures={name: picture(path, figure_of(name), _folded(name)) for name, path in figures.items()},
        has_marginals=any(name.startswith("marginal_densities") for name in figures),
        query_models=RANDOMNESS,
        files=_files(files, figures),
        settings=list(_flat(settings)),
    )


def _read(inputs: Mapping) -> dict[str, pd.DataFrame]:
    """Read every table that has rows."""
    tables = {name: read_table(path, TABLES[name]).to_pandas() for name, path in inputs.items()}
    return {name: data for name, data in tables.items() if not data.empty}


def _grids(tables: Tables) -> dict[str, Grid | None]:
    return {name: write(tables) for part in PARTS for name, write in part.GRIDS.items()}


def _folded(figure: str) -> bool:
    """Whether a figure is folded away: the marginals of mechanisms that a reader needs less."""
    return figure.startswith("marginal_densities_") and figure not in OPEN_MARGINALS


# --- files ----------------------------------------------------------------------------------------------------------


def _files(tables: Iterable[Table], figures: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return (path relative to the results folder, what it holds, audience) of every artefact, sorted by path."""
    rows = [(table.file, table.description, table.audience) for table in tables]
    rows += [(f"study/figures/{name}.svg", f"Figure: {name.replace('_', ' ')}.", "study") for name in figures]
    return sorted(rows)


# --- settings -------------------------------------------------------------------------------------------------------


def _flat(settings: Mapping, prefix: str = ""):
    """Yield (dotted key, value in words) of every setting that may be shown."""
    for key, value in settings.items():
        if key in HIDDEN_SETTINGS:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", _in_words(value, is_path=key in PATHS)


def _in_words(value, is_path: bool = False) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return numbers.plain(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(f"({_in_words(i)})" if isinstance(i, list) else _in_words(i) or "(empty)" for i in value)
    return PurePath(str(value)).name if is_path else str(value)
