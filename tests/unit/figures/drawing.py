"""Draw every figure of a made-up study."""

from __future__ import annotations

import inspect
from pathlib import Path

from meterdp.catalogue import catalogue
from meterdp.figures.registry import FIGURES

MECHANISMS = ("kl_published", "sound")


def draw_all(paths: dict[str, Path], folder: Path) -> dict[str, Path]:
    """Draw every figure of the registry from the tables at ``paths``; return the figures by name."""
    drawn = {}
    for name, draw in FIGURES.items():
        tables = {t: paths[t] for t in inspect.signature(draw).parameters if t in catalogue()}
        for mechanism in MECHANISMS if name == "marginal_densities" else [None]:
            figure = name if mechanism is None else f"{name}_{mechanism}"
            options = {} if mechanism is None else {"mechanism": mechanism, "epsilon": 2.0}
            drawn[figure] = folder / f"{figure}.svg"
            draw(**tables, output=drawn[figure], **options)
    return drawn
