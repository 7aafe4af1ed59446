"""The cells: which records, how many, how long, at which epsilon; and which of them run unless all are asked for.

The whole grid is every data set with every d, N and epsilon that it has records for. A release of a library takes
minutes, so `make benchmark` runs a part of it that has every value of each, with d = 24 and epsilon 1 in the middle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from .records import AUSTRALIAN_DAYS, SIMULATED, SWISS_DAYS, SWISS_HOMES

EPSILONS, DELTA = (0.5, 1.0, 2.0, 4.0), 1e-5
BOUNDS_KWH = (0.01, 20.0)  # an hour; those of config/config.yaml, for everybody
START_HOUR = {12: 12, 24: 0, 48: 0}
SIZES = {
    SWISS_HOMES: (400,),
    SWISS_DAYS: (1_409, 10_000),
    AUSTRALIAN_DAYS: (500, 1_409, 10_000),
    SIMULATED: (500, 1_409, 10_000, 50_000),
}
# Equal bins of log energy between the bounds, a public choice: fewer for few records, as histograms need.
FEW, BINS_OF_FEW, BINS = 1_000, 8, 16


@dataclass(frozen=True)
class Cell:
    """What everybody releases: ``n`` records of ``d`` hours of one data set at epsilon."""

    data: str
    d: int
    n: int
    epsilon: float

    @property
    def name(self) -> str:
        return f"{self.data}, d = {self.d}, N = {self.n:,}, epsilon {self.epsilon:g}"

    @property
    def key(self) -> str:
        """Its name as part of a file name."""
        return f"{self.data.replace(' ', '-')}_d{self.d}_n{self.n}_e{self.epsilon:g}"

    @property
    def bins(self) -> int:
        return BINS_OF_FEW if self.n < FEW else BINS


# In the order in which they are run.
PART = (
    Cell(SWISS_HOMES, 24, 400, 1.0),
    Cell(AUSTRALIAN_DAYS, 24, 1_409, 1.0),
    Cell(SIMULATED, 24, 10_000, 1.0),
    Cell(SWISS_HOMES, 12, 400, 0.5),
    Cell(AUSTRALIAN_DAYS, 12, 1_409, 2.0),
    Cell(SIMULATED, 12, 50_000, 1.0),
    Cell(SWISS_DAYS, 12, 1_409, 1.0),
    Cell(AUSTRALIAN_DAYS, 24, 500, 0.5),
    Cell(SWISS_DAYS, 24, 10_000, 1.0),
    Cell(SIMULATED, 12, 500, 4.0),
    Cell(SWISS_HOMES, 24, 400, 4.0),
    Cell(AUSTRALIAN_DAYS, 48, 10_000, 1.0),
    Cell(SIMULATED, 24, 1_409, 0.5),
    Cell(AUSTRALIAN_DAYS, 24, 10_000, 4.0),
    Cell(SWISS_DAYS, 48, 1_409, 2.0),
    Cell(SIMULATED, 48, 50_000, 2.0),
)


def whole() -> tuple[Cell, ...]:
    """Return every cell, those of the part first; the mean day of a Swiss home has no second day."""
    every = [
        Cell(data, d, n, epsilon)
        for data, sizes in SIZES.items()
        for d, n, epsilon in product(START_HOUR, sizes, EPSILONS)
        if not (data == SWISS_HOMES and d > 24)
    ]
    return *PART, *(cell for cell in every if cell not in PART)


def in_order(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells as tables and figures show them: by data set, then by d, N and epsilon."""
    return sorted(cells, key=lambda cell: ([*SIZES].index(cell.data), cell.d, cell.n, cell.epsilon))
