"""CSV as every tool reads it, and numbers that read back as the same numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def number(value: float) -> str:
    """Return the shortest text without an exponent that reads back as the same float."""
    return np.format_float_positional(value, trim="-")


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence]) -> bytes:
    """Return rows under a header; floats by :func:`number`, text as it is."""
    lines = [",".join(header)]
    lines += [",".join(number(v) if isinstance(v, float) else str(v) for v in row) for row in rows]
    return "".join(f"{line}\n" for line in lines).encode()


def utc_text(stamps: np.ndarray) -> list[str]:
    """Return stamps as ``2025-11-17 08:15:00``, UTC."""
    return [text.replace("T", " ") for text in np.datetime_as_string(np.atleast_1d(stamps), "s")]
