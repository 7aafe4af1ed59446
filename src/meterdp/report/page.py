"""The study's report: one HTML file that asks for nothing outside itself and can be shown to a colleague.

Every number comes from a Parquet artefact through the topics beside this file; the template ``page.html`` holds text
only. Ids and seeds cannot get in: no table with ids is accepted and the seed is taken out of the settings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath

from meterdp.class_noise.query_models import RANDOMNESS
from meterdp.core.config import figure_epsilon
from meterdp.core.parquet import read_table
from meterdp.core.tables import Table
from meterdp.report import cost, forecasts, hiding, intake, noise, periods
from meterdp.report.first import first_page
from meterdp.pages.numbers import plain
from meterdp.report.pages import Tables, picture, write_page
from meterdp.report.registry import GRIDS, TABLES, figure_of

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

    ``inputs`` are any of :data:`meterdp.report.registry.TABLES` by name; what is missing is named as not part of the
    study. ``figures`` are SVG files by name, with the suffix of a variant such as ``marginal_densities_sound``. The
    ``settings`` are the whole configuration, of which the seed, the title and local folders are not shown. Tables of
    the study in ``files`` are listed with where they are.

    A ValueError names a table that the report does not read, a KeyError a figure that is not in the registry.
    """
    if unknown := set(inputs) - set(TABLES):
        raise ValueError(f"the report does not read {', '.join(sorted(unknown))}")
    tables = {name: read_table(path, TABLES[name]).to_pandas() for name, path in inputs.items()}
    tables = {name: data for name, data in tables.items() if not data.empty}
    write_page(
        TEMPLATE,
        output,
        title=title,
        synthetic=synthetic,
        first=first_page(tables, settings, synthetic),
        headline=headline(tables, settings),
        smallest_class=int(tables["class_table"]["household_count"].min()) if "class_table" in tables else None,
        forecast_sentence=forecasts.fits_sentence(tables),
        hiding_sentence=hiding.hiding_sentence(tables),
        families=cost.cost_families(tables),
        held_out="cost" in tables and cost.was_held_out(tables["cost"]),
        hours=intake.hours_sentence(tables),
        period=intake.period_sentence(settings),
        period_homes=periods.said(tables, settings, asked="household_scores" in inputs),
        grids={name: write(tables) for name, write in GRIDS.items()},
        pictures={
            name: picture(path, figure_of(name), name.startswith("marginal_") and name not in OPEN_MARGINALS)
            for name, path in figures.items()
        },
        has_marginals=any(name.startswith("marginal_densities") for name in figures),
        query_models=RANDOMNESS,
        files=_files(files, figures),
        settings=list(_shown(settings)),
    )


def headline(tables: Tables, settings: Mapping) -> list[str]:
    """Return the key results as sentences, one or more for each part of the study that was run."""
    sentences = [
        intake.intake_sentence(tables),
        *cost.cost_sentences(tables, figure_epsilon(settings["mechanisms"]) if "mechanisms" in settings else None),
        forecasts.forecast_sentence(tables),
        noise.delta_sentence(tables, settings.get("class_noise", {})),
    ]
    # No line break between a number and its error or its percent sign.
    return [s.replace(" ± ", "\u00a0±\u00a0").replace(" %", "\u00a0%") for s in sentences if s]


def _files(tables: Iterable[Table], figures: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return (path relative to the results folder, what it holds, audience) of every artefact, sorted by path."""
    rows = [(table.file, table.description, table.audience) for table in tables]
    rows += [(f"study/figures/{name}.svg", f"Figure: {name.replace('_', ' ')}.", "study") for name in figures]
    return sorted(rows)


def _shown(settings: Mapping, prefix: str = ""):
    """Yield (dotted key, value as text) of every setting that may be shown."""
    for key, value in settings.items():
        if key in HIDDEN_SETTINGS:
            continue
        if isinstance(value, Mapping):
            yield from _shown(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", _as_text(value, is_path=key in PATHS)


def _as_text(value, is_path: bool = False) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return plain(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(f"({_as_text(i)})" if isinstance(i, list) else _as_text(i) or "(empty)" for i in value)
    return PurePath(str(value)).name if is_path else str(value)
