"""The study's report: one HTML file that asks for nothing outside itself and can be handed to a colleague.

Every number comes from a Parquet artefact through :mod:`meterdp.figures.report.contents`; the template ``page.html``
holds words only. Ids and seeds cannot get in: no table with ids is accepted and the seed is taken out of the
settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

import pandas as pd

from meterdp.catalogue import catalogue
from meterdp.core.parquet import read_table
from meterdp.figures import numbers
from meterdp.figures.captions import caption_of
from meterdp.figures.forecasts import QUERY_MODELS, SIDES
from meterdp.figures.pages import picture, write_page
from meterdp.figures.report import contents, cost_words, noise_contents

TABLES = (
    "ingest_report",
    "quality_summary",
    "class_table",
    "normality",
    "profile_hours",
    "cost",
    "arma_summary",
    "gaussian_summary",
    "forecast_errors",
    "forecast_intervals",
    "delta_curves",
    "delta_under_prior",
    "design_comparison",
    "noise_answers",
    "group_forecast_errors",
    "neighbourhood_summary",
)
# Figures of the mechanisms a reader needs most; those of the others are folded away.
TEMPLATE = Path(__file__).with_name("page.html")
OPEN_MARGINALS = ("marginal_densities_kl_published", "marginal_densities_sound")
# A seed lets the holder subtract the noise of a study; the others say where on whose machine it ran.
HIDDEN_SETTINGS = frozenset({"seed", "results_dir", "title"})


def build_report(
    inputs: Mapping[str, os.PathLike | str],
    figures: Mapping[str, os.PathLike | str],
    output,
    *,
    title: str,
    synthetic: bool,
    settings: Mapping,
    artefacts: Mapping[str, str] | None = None,
    results_dir=None,
) -> None:
    """Write the report of a study as one self-contained HTML file.

    Parameters
    ----------
    inputs : mapping of table name to path
        Any of :data:`TABLES`; what is missing is named as not part of the study.
    figures : mapping of figure name to path
        SVG files; names as in :data:`meterdp.figures.captions.CAPTIONS`, with an optional suffix such as
        ``marginal_densities_sound``.
    output : path-like
        HTML file to write.
    title : str
        Title of the study.
    synthetic : bool
        Whether the export was simulated.
    settings : mapping
        The whole configuration; the seed, the title and local folders are not shown.
    artefacts : mapping of path to table name, optional
        Further files of the study to list, relative to the results folder.
    results_dir : path-like, optional
        Results folder, by default the folder that holds inputs, figures and output.

    Raises
    ------
    InputError
        If a file is not an instance of its table.
    ValueError
        If a table is not one the report reads or a figure has no caption.
    """
    if unknown := set(inputs) - set(TABLES):
        raise ValueError(f"the report does not read {', '.join(sorted(unknown))}")
    tables = _read(inputs)
    root = results_dir if results_dir is not None else _common_folder(inputs, figures, output)
    write_page(
        TEMPLATE,
        output,
        title=title,
        synthetic=synthetic,
        headline=contents.headline(tables, settings),
        smallest_class=int(tables["class_table"]["household_count"].min()) if "class_table" in tables else None,
        forecast_sentence=contents.forecast_sentence(tables),
        families=cost_words.cost_families(tables),
        held_out="cost" in tables and cost_words.was_held_out(tables["cost"]),
        hours=contents.hours_sentence(tables),
        period=contents.period_sentence(settings),
        grids=_grids(tables),
        pictures={name: picture(path, caption_of(name), _folded(name)) for name, path in figures.items()},
        has_marginals=any(name.startswith("marginal_densities") for name in figures),
        query_models=QUERY_MODELS,
        files=_files(inputs, figures, artefacts or {}, root),
        settings=list(_flat(settings)),
    )


def _read(inputs: Mapping) -> dict[str, pd.DataFrame]:
    """Read every table that has rows."""
    declared = catalogue()
    tables = {name: read_table(path, declared[name]).to_pandas() for name, path in inputs.items()}
    return {name: data for name, data in tables.items() if not data.empty}


def _grids(tables: contents.Tables) -> dict[str, contents.Grid | None]:
    return {
        "ingest": contents.ingest_grid(tables),
        "households": contents.quality_grid(tables, "households"),
        "readings": contents.quality_grid(tables, "readings"),
        "classes": contents.class_grid(tables),
        "normality": contents.normality_grid(tables),
        "mechanisms": cost_words.mechanism_grid(tables),
        "gap": cost_words.gap_grid(tables),
        "cost": cost_words.cost_grid(tables),
        "arma": contents.arma_grid(tables),
        "gaussian": contents.gaussian_grid(tables),
        "errors": contents.errors_grid(tables),
        "intervals": contents.interval_grid(tables),
        **{f"delta_{sides}": contents.delta_grid(tables, sides) for sides in SIDES},
        "delta_prior": contents.prior_grid(tables),
        "comparison": noise_contents.comparison_grid(tables),
        "answers": noise_contents.answers_grid(tables),
        "group_forecast": noise_contents.group_grid(tables),
        "neighbourhoods": contents.neighbourhood_grid(tables),
    }


def _folded(figure: str) -> bool:
    """Whether a figure is folded away: the marginals of mechanisms that a reader needs less."""
    return figure.startswith("marginal_densities_") and figure not in OPEN_MARGINALS


# --- files ----------------------------------------------------------------------------------------------------------


def _common_folder(inputs: Mapping, figures: Mapping, output) -> str:
    return os.path.commonpath([Path(p).resolve().parent for p in (*inputs.values(), *figures.values(), output)])


def _files(inputs: Mapping, figures: Mapping, artefacts: Mapping, root) -> list[tuple[str, str, str]]:
    """Return (path relative to the results folder, what it holds, audience) of every artefact, sorted by path."""
    declared = catalogue()
    named = {_relative(path, root): table for table, path in inputs.items()} | dict(artefacts)
    rows = [(path, declared[t].description, declared[t].audience) for path, t in named.items()]
    rows += [(_relative(path, root), f"Figure: {name.replace('_', ' ')}.", "study") for name, path in figures.items()]
    return sorted(rows)


def _relative(path, root) -> str:
    return PurePath(os.path.relpath(Path(path).resolve(), Path(root).resolve())).as_posix()


# --- settings -------------------------------------------------------------------------------------------------------


def _flat(settings: Mapping, prefix: str = ""):
    """Yield (dotted key, value in words) of every setting that may be shown."""
    for key, value in settings.items():
        if key in HIDDEN_SETTINGS:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", _in_words(value, is_path=key == "path")


def _in_words(value, is_path: bool = False) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return numbers.plain(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_in_words(item) or "(empty)" for item in value)
    return PurePath(str(value)).name if is_path else str(value)  # folders may name people
