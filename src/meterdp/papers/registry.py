"""The figures of every reproduced paper: paper -> figure -> a function of one table and ``output``."""

from __future__ import annotations

from collections.abc import Callable

from meterdp.papers.liu.figures import LIU_FIGURES
from meterdp.papers.ramakrishna.figures import RAMAKRISHNA_FIGURES

REPRODUCTIONS: dict[str, dict[str, Callable[..., None]]] = {"liu": LIU_FIGURES, "ramakrishna": RAMAKRISHNA_FIGURES}
