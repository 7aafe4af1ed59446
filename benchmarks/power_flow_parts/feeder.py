"""The power flow of a whole year at once, of one of pandapower's low-voltage networks with loads of constant power.

Loads draw the currents conj(S / V); the node voltages are those without load less what these currents drop across the
impedances that the loads see. Both are repeated until they agree, for all hours together: on a low-voltage network
every repetition brings about two digits. pandapower, which solves every hour by Newton's method, is the oracle.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

PYTHON = Path(sys.prefix).with_name(f"{Path(sys.prefix).name}-tools") / "bin/python"
# Of voltages, per unit, between two repetitions.
_AGREE, _MOST_REPETITIONS = 1e-10, 100


@dataclass(frozen=True)
class Feeder:
    """A network of n nodes with m loads and one transformer, per unit of ``base_kva``."""

    admittance: np.ndarray  # (n, n)
    slack: int  # the node whose voltage is given
    slack_pu: complex
    node: np.ndarray  # of pandapower's buses, in their order
    load_node: np.ndarray  # (m,)
    transformer: np.ndarray  # (2, n): currents of its sides are these times the voltages
    base_kva: float
    transformer_kva: float

    @cached_property
    def _others(self) -> np.ndarray:
        return np.delete(np.arange(len(self.admittance)), self.slack)

    @cached_property
    def _impedance(self) -> np.ndarray:
        """Voltage at every node for a current into each node, (n, n), zero at the slack."""
        found = np.zeros_like(self.admittance)
        found[np.ix_(self._others, self._others)] = np.linalg.inv(self.admittance[np.ix_(self._others, self._others)])
        return found

    @cached_property
    def _without_load(self) -> np.ndarray:
        found = -self._impedance @ self.admittance[:, self.slack] * self.slack_pu
        found[self.slack] = self.slack_pu
        return found

    def solve(self, load_kw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return voltages of pandapower's buses (T, buses), per unit, and the transformer's loading (T,), percent.

        ``load_kw`` is (T, m), of power factor one.
        """
        drop, still = self._impedance[:, self.load_node], self._without_load
        at_loads = voltage = np.broadcast_to(still[self.load_node], load_kw.shape)
        for _ in range(_MOST_REPETITIONS):
            current = np.conj(load_kw / self.base_kva / voltage)
            voltage = at_loads - current @ drop[self.load_node].T
            if np.abs(np.conj(load_kw / self.base_kva / voltage) - current).max() < _AGREE:
                break
        else:
            raise ArithmeticError("the feeder cannot carry these loads")
        voltage = still - current @ drop.T
        sides = np.abs(voltage @ self.transformer.T).max(axis=1)
        return np.abs(voltage[:, self.node]), 100 * sides * self.base_kva / self.transformer_kva


@dataclass(frozen=True)
class Found:
    """What pandapower finds for some hours."""

    voltage_pu: np.ndarray  # (hours, buses)
    loading_percent: np.ndarray  # (hours,)
    seconds: float  # of an hour
    version: str


def pandapower(network: str, load_kw: np.ndarray) -> tuple[Feeder, Found]:
    """Return a network of pandapower and what it finds for some hours of loads (hours, m)."""
    with tempfile.TemporaryDirectory() as folder:
        given, written = Path(folder) / "given.npz", Path(folder) / "written.npz"
        np.savez(given, load_kw=load_kw)
        command = [PYTHON, Path(__file__).with_name("in_pandapower.py"), network, given, written]
        subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        with np.load(written) as file:
            of = {name: file[name][()] for name in file}
    return (
        Feeder(**{name: of[name] for name in Feeder.__dataclass_fields__}),
        Found(**{name: of[name] for name in Found.__dataclass_fields__}),
    )
