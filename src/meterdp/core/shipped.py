"""Files of the project that lie beside the package in a checkout and inside it once it is installed from a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def shipped(name: str) -> Path:
    """Return where a file or folder of the project is.

    Parameters
    ----------
    name : str
        Below the root of a checkout: ``workflow/schemas``, ``resources``, or what is in them. setup.py puts both into
        wheels.
    """
    inside = _PACKAGE / "shipped" / name
    return inside if inside.exists() else _PACKAGE.parents[1] / name
