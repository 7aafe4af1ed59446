"""Public data sets of the papers: where each lies below ``data_dir``, its checksum, and what stands for it.

The registry is ``resources/datasets.yaml``. A file is read only if its SHA-256 is the registered one, so a figure
never says MNIST of anything else; without the file the named substitute is used and named in every table.

Simulated data that stand for the data sets of Park et al. and Li et al. where these are private or not there.

Each has the number of records and dimensions of the original and is the same for every seed of a study. They are made
up; what a figure shows on them says nothing about patients, compounds, places, faces or voices.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from scipy import sparse

from meterdp.core.noise import keyed_generator
from meterdp.errors import InputError


@dataclass(frozen=True)
class Dataset:
    """One entry of the registry."""

    name: str
    title: str  # for a reader: what it is, who made it, under which terms, and which figures need it
    source: str
    licence: str
    use: str
    file: str | None = None  # path below ``data_dir``; None if it comes with a package or is private
    sha256: str | None = None  # of that file
    substitute: str | None = None  # what is used in its place


def registry(path) -> dict[str, Dataset]:
    """Read the registry of data sets, by name."""
    entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return {name: Dataset(name, **entry) for name, entry in entries.items()}


def locate(dataset: Dataset, data_dir) -> Path | None:
    """Return the file of a data set below ``data_dir``, or None where there is none and the substitute is used.

    Refused are a folder that does not exist, and a file of another checksum than the registered one.
    """
    if data_dir is None:
        return None
    folder = Path(data_dir)
    if not folder.is_dir():
        hint = "give the folder of the public data sets, or null"
        raise InputError("is not a folder", file=folder, field="data_dir", hint=hint)
    path = folder / dataset.file
    if not path.is_file():
        return None
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != dataset.sha256:
        raise InputError(
            f"is not the registered file of data set '{dataset.name}' (its SHA-256 differs)",
            file=path,
            hint=f"fetch the data set again, or remove the file to use the substitute ({dataset.substitute})",
        )
    return path


STROKE_RECORDS, STROKE_FEATURES, STROKE_COMPONENTS, STROKE_GROUPS = 50_345, 4_096, 100, 10
LIFE_SCIENCES_RECORDS, LIFE_SCIENCES_COMPONENTS, LIFE_SCIENCES_GROUPS = 26_733, 10, 3
CHECK_INS = 1_256_384
FACES, FACE_SIDE = 400, 64
RECORDINGS, VOICE_FEATURES = 195, 22
_POWER_STEPS, _SPARE_COMPONENTS = 6, 20


def _generator(name: str) -> np.random.Generator:
    return keyed_generator(0, "reproduce park", "substitute", name)


def patients() -> sparse.csr_array:
    """Return binary records of conditions (50,345, 4,096): rates as in Zipf's distribution, ten groups, heavy tails.

    Every group of patients shifts the rates of the conditions by a factor of its own; the number of entries of a
    patient is log-normal, so a few have many times as many as most.
    """
    generator = _generator("stroke")
    rates = 1 / np.arange(5, STROKE_FEATURES + 5)
    group_rates = rates * np.exp(1.5 * generator.standard_normal((STROKE_GROUPS, STROKE_FEATURES)))
    shares = generator.dirichlet(np.full(STROKE_GROUPS, 3.0))
    groups = generator.choice(STROKE_GROUPS, STROKE_RECORDS, p=shares)
    entries = np.ceil(np.exp(3 + 0.8 * generator.standard_normal(STROKE_RECORDS))).astype(int)
    rows = np.repeat(np.arange(STROKE_RECORDS), entries)
    columns = np.empty(len(rows), dtype=np.int64)
    for group, of_group in enumerate(group_rates):
        inside = groups[rows] == group
        cumulative = np.cumsum(of_group)
        drawn = generator.random(inside.sum()) * cumulative[-1]
        columns[inside] = np.searchsorted(cumulative, drawn, side="right")
    shape = (STROKE_RECORDS, STROKE_FEATURES)
    counted = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape).tocsr()
    counted.data[:] = 1.0  # a condition is there or not
    return counted


def principal_scores(x: sparse.csr_array, components: int) -> np.ndarray:
    """Return the leading principal components (N, components) of records (N, p), by subspace iteration.

    They are centred and of decreasing variance.
    """
    n, p = x.shape
    mean = x.sum(axis=0) / n
    basis = np.linalg.qr(_generator("axes").standard_normal((p, components + _SPARE_COMPONENTS)))[0]
    for _ in range(_POWER_STEPS):
        centred = x @ basis - mean @ basis
        # mean' (1' centred) vanishes, because the columns of centred sum to zero.
        basis = np.linalg.qr(x.T @ centred)[0]
    scores = x @ basis - mean @ basis
    return scores @ np.linalg.eigh(scores.T @ scores)[1][:, ::-1][:, :components]


def stroke(one_in: int = 1, components: int = STROKE_COMPONENTS) -> np.ndarray:
    """Return principal components of :func:`patients`, (50,345, components), or of one in so many of them."""
    return principal_scores(patients()[::one_in], components)


def life_sciences() -> np.ndarray:
    """Return three groups of compounds in ten components (26,733, 10); entries have tails heavier than Gaussian."""
    generator = _generator("life sciences")
    d = LIFE_SCIENCES_COMPONENTS
    spread = 2.5 * 0.92 ** np.arange(d)
    shares = np.array([0.55, 0.3, 0.15])
    groups = generator.choice(LIFE_SCIENCES_GROUPS, LIFE_SCIENCES_RECORDS, p=shares)
    means = 1.2 * spread * generator.standard_normal((LIFE_SCIENCES_GROUPS, d))
    roots = spread * generator.standard_normal((LIFE_SCIENCES_GROUPS, d, d)) / np.sqrt(d)
    x = means[groups] + np.einsum("nij,nj->ni", roots[groups], generator.standard_t(8, (len(groups), d)))
    return x


def check_ins() -> np.ndarray:
    """Return check-ins as longitude and latitude in degrees (1,256,384, 2): cities with sizes as in Zipf's
    distribution."""
    generator = _generator("check-ins")
    # West, east, south, north of five densely settled regions, and their share of the cities.
    regions = np.array(
        [[-122, -72, 28, 48], [-9, 30, 37, 60], [100, 140, 0, 40], [-75, -40, -35, 5], [115, 153, -38, -20]]
    )
    cities = 400
    region = regions[generator.choice(len(regions), cities, p=[0.45, 0.35, 0.12, 0.05, 0.03])]
    place = region[:, [0, 2]] + generator.random((cities, 2)) * (region[:, [1, 3]] - region[:, [0, 2]])
    size = 1 / np.arange(2, cities + 2)
    city = generator.choice(cities, CHECK_INS, p=size / size.sum())
    return place[city] + 0.15 * generator.standard_normal((CHECK_INS, 2))


def faces() -> np.ndarray:
    """Return smooth pictures of low rank (400, 4,096), pixels from 0 to 1: ten of each of forty synthetic heads."""
    generator = _generator("faces")
    axis = np.linspace(-1, 1, FACE_SIDE)
    down, across = np.meshgrid(axis, axis, indexing="ij")

    def blob(y: float, x: float, height: float, width: float) -> np.ndarray:
        return np.exp(-0.5 * (((down - y) / height) ** 2 + ((across - x) / width) ** 2))

    head = blob(0.0, 0.0, 0.75, 0.55)
    eyes = blob(-0.2, -0.28, 0.07, 0.13) + blob(-0.2, 0.28, 0.07, 0.13)
    parts = [
        blob(-0.9, 0.0, 0.25, 0.6),  # hair
        eyes,
        blob(-0.32, -0.28, 0.04, 0.18) + blob(-0.32, 0.28, 0.04, 0.18),  # brows
        blob(0.1, 0.0, 0.2, 0.06),  # nose
        blob(0.45, 0.0, 0.06, 0.22),  # mouth
        blob(0.7, 0.0, 0.2, 0.35),  # beard
        blob(0.0, -0.65, 0.7, 0.2) + blob(0.0, 0.65, 0.7, 0.2),  # sides
        across,  # light from the side
        down,  # light from above
        np.ones_like(down),
    ]
    looks = np.array([0.10, 0.08, 0.06, 0.05, 0.06, 0.08, 0.08, 0.06, 0.05, 0.05])
    by_person = np.repeat(generator.standard_normal((40, len(parts))), FACES // 40, axis=0)
    by_picture = generator.standard_normal((FACES, len(parts)))
    weights = looks * (0.85 * by_person + 0.5 * by_picture)
    base = 0.15 + 0.6 * head - 0.25 * eyes - 0.15 * parts[4] - 0.2 * parts[0]
    pictures = base + np.tensordot(weights, np.stack(parts), axes=1)
    return np.clip(pictures, 0, 1).reshape(FACES, -1)


def voices() -> np.ndarray:
    """Return voice recordings (195, 22): two groups, four directions that features share, scales from 1e-4 to 1e2."""
    generator = _generator("voices")
    group = generator.random(RECORDINGS) < 0.75
    shared = generator.standard_normal((RECORDINGS, 4)) * np.array([2.0, 1.2, 0.8, 0.5])
    shared[:, 0] += np.where(group, 1.5, -2.0)
    mixed = shared @ generator.standard_normal((4, VOICE_FEATURES))
    mixed += 0.6 * generator.standard_normal((RECORDINGS, VOICE_FEATURES))
    return 10.0 ** np.linspace(-4, 2, VOICE_FEATURES) * (mixed + 5.0)
