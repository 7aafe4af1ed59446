"""Compilation by numba where it is installed; the library runs the same functions without it, as plain Python."""

from __future__ import annotations

try:
    from numba import njit
except ModuleNotFoundError:

    def njit(**options):
        """Leave a function as it is."""
        return lambda function: function


__all__ = ["njit"]
