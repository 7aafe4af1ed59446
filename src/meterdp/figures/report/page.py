"""The study's report: one HTML file that asks for nothing outside itself and can be handed to a colleague.

Every number comes from a Parquet artefact through the parts beside this file; the template ``page.html``
holds words only. Ids and seeds cannot get in: no table with ids is accepted and the seed is taken out of the
settings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from meterdp.class_noise.query_models import RANDOMNESS
from meterdp.core.parquet import read_table
from meterdp.core.tables import Table
from meterdp.figures import numbers
from meterdp.figures.pages import picture, write_page
from meterdp.figures.registry import figure_of
from meterdp.figures.report import classes, cost, federation, first, forecasts, headline, hiding, intake, noise
from meterdp.figures.report.grid import Grid, Tables

if TYPE_CHECKING:
    import pandas as pd

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
        SVG files; names as in :mod:`meterdp.figures.registry`, with the suffix of a variant such as
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
        headline=headline.headline(tables, settings),
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
