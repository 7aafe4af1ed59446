"""The gallery: figures of a finished study and of reproduced papers, each with its caption.

Figures of a study are not for release. Those of simulated households show nobody's readings, so they are shown; those
of a real export only if the settings of the site say so.
"""

from __future__ import annotations

import contextlib
import html
import os
import re
from collections.abc import Iterable
from pathlib import Path

from meterdp.core.parquet import metadata_of
from meterdp.report.pages import Figure
from meterdp.report.registry import FIGURES, figure_of
from meterdp_papers.registry import PAPERS

ROOT = Path(__file__).resolve().parents[2]
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_NONE = "No {what} was there when this site was built. After `{command}`, `make docs` shows its figures here."
_REAL = (
    "The study in `{folder}` is of a real export, or does not say that its households are simulated. Its figures are "
    "not for release, so they are left out here."
)


def gallery(results, real_too: bool = False) -> str:
    """Return Markdown that shows the figures below ``results``.

    Parameters
    ----------
    results : path-like
        Folder of a finished study (``study``), of a reproduction (``reproduce``), of both or of neither.
    real_too : bool
        Whether figures of a real export may be shown.
    """
    study, papers = _study(Path(results), real_too), _papers(Path(results) / "reproduce", real_too)
    return f"## A study\n\n{study}\n\n## The papers\n\n{papers}\n"


def _study(results: Path, real_too: bool) -> str:
    pictures = sorted((results / "study/figures").glob("*.svg"))
    if not pictures:
        return _NONE.format(what="finished study", command="make study")
    if not real_too and _marks(results / "study") != {"yes"}:
        return _REAL.format(folder="study")
    parts, category = [], None
    for figure, path in _in_order(pictures):
        if figure.category != category:
            category = figure.category
            parts.append(f"### {category.lstrip('0123456789 ')}")
        parts.append(_shown(figure, path))
    return "\n\n".join(parts)


def _in_order(pictures: Iterable[Path]) -> list[tuple[Figure, Path]]:
    """Return pictures with their figures, in the order of the report, without those of figures that are no more."""
    found = []
    for path in pictures:
        with contextlib.suppress(KeyError):
            found.append((figure_of(path.stem), path))
    return sorted(found, key=lambda pair: FIGURES.index(pair[0]))


def _papers(folder: Path, real_too: bool) -> str:
    parts = []
    for name, paper in PAPERS.items():
        there = [(figure, folder / name / f"{figure.name}.svg") for figure in paper.figures]
        there = [(figure, path) for figure, path in there if path.is_file()]
        if not there:
            continue
        parts.append(f"### {there[0][0].category}")
        marks = _marks(folder / name)
        if not real_too and (not marks or "no" in marks):  # what no reading entered says nothing
            parts.append(_REAL.format(folder=f"reproduce/{name}"))
        else:
            parts += [_shown(figure, path) for figure, path in there]
    return "\n\n".join(parts) or _NONE.format(what="reproduction", command="snakemake --cores 2 reproduce")


def _marks(folder: Path) -> set[str | None]:
    """Return what the tables of a folder say of their readings being synthetic: "yes", "no", or None for nothing."""
    return {metadata_of(path).get("synthetic") for path in folder.glob("*.parquet")}


def _shown(figure: Figure, path: Path) -> str:
    title = _TITLE.search(path.read_text(encoding="utf-8"))
    name = html.unescape(title[1]).strip() if title else path.stem
    uri = "/" + os.path.relpath(path, ROOT)  # Sphinx begins at the root of its sources
    caption = f"**{_plain(name)}{'' if name.endswith('?') else '.'}** {_plain(figure.look_for)}"
    return f"```{{figure}} {uri}\n:alt: {figure.alternative}\n:loading: lazy\n\n{caption}\n```"


def _plain(text: str) -> str:
    """Return text as Markdown that shows it as it is."""
    return re.sub(r"([\\`*_\[\]<>{}|$#~])", r"\\\1", text)
