"""Draw every figure of a made-up study."""

from __future__ import annotations

from pathlib import Path

from meterdp.report.registry import FIGURES

SETTINGS = {"mechanisms": {"variants": ["kl_published", "sound"], "figure_epsilon": 2.0}}


def draw_all(paths: dict[str, Path], folder: Path) -> dict[str, Path]:
    """Draw every figure of the registry from the tables at ``paths``; return the figures by name."""
    drawn = {}
    for figure in FIGURES:
        for name, options in figure.drawings(SETTINGS).items():
            drawn[name] = folder / f"{name}.svg"
            figure.draw(**{table.name: paths[table.name] for table in figure.tables}, output=drawn[name], **options)
    return drawn
