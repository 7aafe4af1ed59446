"""The data sets of Park et al. (Section 7): records in their own unit, and brought into the unit ball in two ways.

The paper divides by the largest norm among the private records, which one record can change for all others (defect
P1). The alternative divides by a public radius and shortens what is longer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.parquet as pq

from meterdp.core.noise import fixed_uniforms
from meterdp.mechanisms.dpem.mechanism import to_unit_ball
from meterdp_papers.common import datasets
from meterdp_papers.common.datasets import Dataset, locate
from meterdp_papers.park import tables as park

LARGEST_NORM, PUBLIC_RADIUS = "scaled by the largest norm", "clipped to a public radius"
SCALINGS = (LARGEST_NORM, PUBLIC_RADIUS)
LIFE_SCIENCES_COLUMNS = [f"pc{j}" for j in range(1, 11)]
GREY_LEVELS = 255.0


@dataclass(frozen=True)
class Records:
    """One data set."""

    x: np.ndarray  # (N, d), in the unit of the source
    # norm up to which a record is kept as it is, in the same unit; not a function of the records
    public_radius: float
    source: dict[str, str | None]  # columns ``data`` and ``substitute``

    def in_unit_ball(self, scaling: str = LARGEST_NORM) -> np.ndarray:
        """Return the records (N, d) in the unit ball, by one of :data:`SCALINGS`."""
        radius = self.largest_norm if scaling == LARGEST_NORM else self.public_radius
        return to_unit_ball(self.x, radius)

    @property
    def largest_norm(self) -> float:
        """The private number that the paper divides by."""
        return float(np.linalg.norm(self.x, axis=1).max())


def records_of(figure: str, entries: Mapping[str, Dataset], data_dir, trials: int) -> Records:
    """Return the records of fig2 to fig5; in a trial run, with fewer trials than splits, a part of them."""
    records = {
        "fig2": lambda: stroke(
            entries["stroke"], *(() if trials >= park.SPLITS else (park.TRIAL_ONE_IN, park.TRIAL_COMPONENTS))
        ),
        "fig3": lambda: life_sciences(entries["lifesci"], data_dir),
        "fig4": lambda: check_ins(entries["gowalla"], data_dir),
        "fig5": lambda: faces(entries["olivetti"], data_dir),
    }[figure]()
    if trials >= park.SPLITS:
        return records
    if figure == "fig5":
        side = datasets.FACE_SIDE
        x = records.x.reshape(-1, side, side)[:, :: park.TRIAL_PIXEL_STEP, :: park.TRIAL_PIXEL_STEP].reshape(
            len(records.x), -1
        )
        words = f"{x.shape[1]} pixels"
    else:
        order = np.argsort(fixed_uniforms("reproduce park, trial", (len(records.x),)))
        x = records.x[np.sort(order[: park.TRIAL_RECORDS * trials])]
        words = f"{len(x):,} records"
    return replace(records, x=x, source=records.source | {"data": f"{records.source['data']}; {words} in this trial"})


def stroke(entry: Dataset, one_in: int = 1, components: int = datasets.STROKE_COMPONENTS) -> Records:
    """Return what stands for the private Stroke data (50,345, 100), or for one record in so many and fewer axes."""
    # A round number of our own: what is known of a hospital's codes before looking at its patients would give one.
    words = f"simulated patients, {components} principal components"
    return _records(datasets.stroke(one_in, components), 8.0, words, entry)


def life_sciences(entry: Dataset, data_dir) -> Records:
    """Return the compounds (26,733, 10), or what stands for them."""

    def read(path) -> np.ndarray:
        table = pq.read_table(path, columns=LIFE_SCIENCES_COLUMNS)
        return np.column_stack([table[name].to_numpy() for name in LIFE_SCIENCES_COLUMNS]).astype(float)

    # Nothing public bounds a principal component; a round number of our own.
    return _read(entry, data_dir, read, "Life Sciences ds1.10", datasets.life_sciences, "simulated compounds", 16.0)


def check_ins(entry: Dataset, data_dir) -> Records:
    """Return longitude and latitude of check-ins in degrees, 255,140 real ones or 1,256,384 simulated ones."""

    def read(path) -> np.ndarray:
        table = pq.read_table(path, columns=["lon", "lat"])
        return np.column_stack([table["lon"].to_numpy(), table["lat"].to_numpy()]).astype(float)

    globe = float(np.hypot(180, 90))
    found = _read(entry, data_dir, read, "Gowalla", datasets.check_ins, "simulated check-ins", globe)
    if found.source["substitute"] is None:
        found.source["data"] += f"; pairs of a user and a venue out of the paper's {datasets.CHECK_INS:,} check-ins"
    return found


def faces(entry: Dataset, data_dir) -> Records:
    """Return pictures with pixels from 0 to 1, a face a row (400, 4,096)."""

    def read(path) -> np.ndarray:
        with np.load(path) as arrays:
            pictures = arrays["images"]
        return pictures.reshape(len(pictures), -1) / GREY_LEVELS

    white = float(datasets.FACE_SIDE)  # norm of an all-white picture
    return _read(entry, data_dir, read, "Olivetti faces", datasets.faces, "simulated faces", white)


def _read(
    entry: Dataset,
    data_dir,
    read: Callable[..., np.ndarray],
    name: str,
    simulate: Callable[[], np.ndarray],
    simulated: str,
    public_radius: float,
) -> Records:
    path = locate(entry, data_dir)
    if path is None:
        return _records(simulate(), public_radius, simulated, entry)
    return _records(read(path), public_radius, name)


def _records(x: np.ndarray, public_radius: float, name: str, stands_for: Dataset | None = None) -> Records:
    data = f"{name}, {len(x):,} records, d = {x.shape[1]:,}"
    words = stands_for and f"stands for {stands_for.title.split(',')[0]}: {stands_for.substitute}"
    return Records(x, public_radius, {"data": data, "substitute": words})
