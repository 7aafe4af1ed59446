"""Public data sets of the papers: where each lies below ``data_dir``, its checksum, and what stands for it.

The registry is ``resources/datasets.yaml``. A file is read only if its SHA-256 is the registered one, so a figure
never says MNIST of anything else; without the file the named substitute is used and named in every table.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import yaml

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
    substitute: str | None = None  # description of what is used in its place


def registry(path) -> dict[str, Dataset]:
    """Read the registry of data sets, by name."""
    entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return {name: Dataset(name, **entry) for name, entry in entries.items()}


def locate(dataset: Dataset, data_dir) -> Path | None:
    """Return the file of a data set below ``data_dir``, or None where there is none and the substitute is used.

    Raises
    ------
    InputError
        If the folder does not exist, or the file is there and its checksum is not the registered one.
    """
    if data_dir is None:
        return None
    folder = Path(data_dir)
    if not folder.is_dir():
        raise InputError(
            "is not a folder",
            file=folder,
            field="data_dir",
            hint="give the folder of the public data sets, or null",
        )
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
