"""What released mixtures are worth, from tables of trials on synthetic utilities: of profiles
(``tools/make_plan.py``), and of households over a whole period (``tools/make_household_plan.py``).

No record and no reading is looked at, so that what is said here, and what is refused for it, tells nothing of a
household. What counts is N mu / d, the households per hour in units of the noise, and, where they are few, N.
"""

from __future__ import annotations

import csv
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cache

from meterdp.core.provenance import shipped
from meterdp.mechanisms.interface import PublicSettings
from meterdp.privacy import gaussian

# A release is absurd if some mean hour is off by more than this factor.
FACTOR = 2.0
# Of the energy of all hours of a record, between homes.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
COLUMNS = ("prior_mixture", "hours", "records", "signal", "quantity", "error", "error_q95", "guess")
ERRORS = COLUMNS[-3:]
# The same of vectors of households, of which N mu / d is all that counts; quantiles between homes.
HOUSEHOLD_COLUMNS = ("signal", "quantity", *ERRORS)
HOUSEHOLD_QUANTILES = (0.1, 0.5, 0.9)
# How it is known, as a plan says it.
TRIED = (
    "from trials on homes of many simulated utilities; releases of the same homes may all be off in the same "
    "direction"
)
# (N, N mu / d) -> error
Trials = Mapping[tuple[int, float], float]


def tried(public: PublicSettings) -> dict[str, tuple[float, float, float]]:
    """Return by quantity the expected error of a mixture with these public settings, that which 19 of 20 stay below,
    and that of the prior mixture as a public guess, as shares of the real values.

    Never larger with more households or a larger epsilon.
    """
    sound = public.sound
    mu = sound.shares.seen_by_colluding * gaussian.mu_for(public.epsilon, public.delta)
    signal = public.records * mu * math.sqrt(1 - sound.marginal_share) / public.dimension
    table, with_prior = _table(), sound.prior_mixture is not None
    hours = min(
        {hours for prior_mixture, hours, _ in table if prior_mixture == with_prior},
        key=lambda hours: abs(math.log(hours / public.dimension)),
    )
    found = {}
    for (prior_mixture, length, quantity), trials in table.items():
        if (prior_mixture, length) == (with_prior, hours):
            found[quantity] = tuple(_between(trials[name], public.records, signal) for name in ERRORS)
    return found


@cache
def _table() -> Mapping[tuple[bool, int, str], Mapping[str, Trials]]:
    """Return the trials by prior mixture, hours and quantity; errors are the largest of as many households and as
    large a signal, or more, and a guess is as good for all."""
    table = {}
    with open(shipped("resources/plan.csv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            of = table.setdefault(
                (row["prior_mixture"] == "1", int(row["hours"]), row["quantity"]), {n: {} for n in ERRORS}
            )
            for name in ERRORS:
                of[name][int(row["records"]), float(row["signal"])] = float(row[name])
    for of in table.values():
        for name in ERRORS[:2]:
            of[name] = {(n, s): max(e for (m, t), e in of[name].items() if m >= n and t >= s) for n, s in of[name]}
        mean = sum(of["guess"].values()) / len(of["guess"])
        of["guess"] = dict.fromkeys(of["guess"], mean)
    return table


def _between(trials: Trials, records: int, signal: float) -> float:
    """Interpolate in the logarithms of N and N mu / d; outside the table the nearest trial counts."""
    every, signals = (sorted(set(axis)) for axis in zip(*trials, strict=True))
    (n0, n1, v), (s0, s1, w) = _bracket(every, records), _bracket(signals, signal)
    low, high = (trials[n0, s] + v * (trials[n1, s] - trials[n0, s]) for s in (s0, s1))
    return low + w * (high - low)


def _bracket(grid: Sequence[float], value: float) -> tuple[float, float, float]:
    """Return the two points of the grid that a value is between, and how far, of their logarithms."""
    at = min(max(bisect_right(grid, value), 1), len(grid) - 1)
    low, high = grid[at - 1], grid[at]
    share = math.log(value / low) / math.log(high / low)
    return low, high, min(max(share, 0.0), 1.0)


def tried_households(signal: float) -> dict[str, tuple[float, float, float]]:
    """Return the same of released households, by their N mu / d."""
    found = {}
    for quantity, trials in _household_table().items():
        signals = sorted(trials["error"])
        s0, s1, w = _bracket(signals, signal)
        found[quantity] = tuple(trials[name][s0] + w * (trials[name][s1] - trials[name][s0]) for name in ERRORS)
    return found


@cache
def _household_table() -> Mapping[str, Mapping[str, Mapping[float, float]]]:
    """Return the trials by quantity; errors are the largest of as large a signal or more, guesses the mean."""
    table = {}
    with open(shipped("resources/household_plan.csv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            of = table.setdefault(row["quantity"], {name: {} for name in ERRORS})
            for name in ERRORS:
                of[name][float(row["signal"])] = float(row[name])
    for of in table.values():
        for name in ERRORS[:2]:
            of[name] = {s: max(e for t, e in of[name].items() if t >= s) for s in of[name]}
        of["guess"] = dict.fromkeys(of["guess"], sum(of["guess"].values()) / len(of["guess"]))
    return table
