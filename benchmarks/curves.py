"""Exact privacy curves: how long all pairs of 687 households take on one core, and what other methods say.

``python benchmarks/curves.py`` writes results/benchmarks/curves.parquet, one row per case: our seconds, the other's
seconds, their ratio, and in ``quality`` how far both agree. The other is Monte Carlo with 10^7 draws, in standard
errors; Imhof's formula by scipy's ``quad``, the usual tool, which is accurate in absolute terms only; and the same
formula in 30-digit arithmetic. Nothing here runs on more than one core, and seconds are those of the processor, which
other programs on that core do not lengthen.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from types import SimpleNamespace

import mpmath
import numpy as np
from mpmath import mp
from scipy.integrate import quad
from scipy.stats import norm
from table import write

from meterdp.accounting.exact_curve import exact_tails, worst_pair
from meterdp.accounting.gaussian_loss import PairLosses, pair_losses
from meterdp.core.noise import keyed_generator

LABELS, ENTRIES, SEED = 687, 12, 1
# Degrees of freedom of the covariances and spread of the means: distributions far apart, close, and very close.
SETS = {"far apart": (14, 1.0), "close": (60, 0.5), "very close": (1000, 0.2)}
EPSILON = 1.0
DRAWS, BLOCK = 10**7, 250_000


def distributions(freedom: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Means and Wishart covariances of all labels."""
    random = keyed_generator(SEED, "benchmark", "curves", freedom)
    root = random.normal(size=(LABELS, ENTRIES, freedom)) / np.sqrt(freedom)
    return spread * random.normal(size=(LABELS, ENTRIES)), root @ np.swapaxes(root, 1, 2)


def seconds(call, *arguments) -> tuple[float, object]:
    """Return processor seconds of a call, and what it returned."""
    begin = time.process_time()
    answer = call(*arguments)
    return time.process_time() - begin, answer


def all_pairs(name: str) -> tuple[list[tuple], PairLosses]:
    """Time all ordered pairs of a set at one epsilon, gamma and nu included: all of them, and the worst only."""
    mean, covariance = distributions(*SETS[name])
    pairs = np.argwhere(~np.eye(LABELS, dtype=bool))
    formed, losses = seconds(pair_losses, mean, covariance, pairs)
    taken, tails = seconds(exact_tails, losses, [EPSILON])
    error = max(
        float(np.max(part_error / np.maximum(part, 1e-300)))
        for part, part_error in (tails.side(side) for side in ("one", "two", "hockey_stick"))
    )
    case = f"{len(pairs):,} ordered pairs, d={ENTRIES}, {name}, epsilon={EPSILON:g}"
    words = (
        f"both tails and hockey stick, largest certified relative error {error:.1e}; {formed:.1f} s to form the "
        f"pairs; largest delta {tails.hockey_stick.max():.4g}"
    )
    rows = [(f"{case}, all exact", formed + taken, "none", np.nan, np.nan, words)]
    for side in ("one", "hockey_stick"):
        alone, worst = seconds(worst_pair, losses, EPSILON, side)
        value = tails.side(side)[0][:, 0]
        words = (
            f"{worst.evaluated:,} pairs integrated; delta {worst.delta:.6g} +- {worst.error:.1g}, largest of all "
            f"{value.max():.6g}"
        )
        rows.append((f"{case}, worst only, {side}", formed + alone, "all exact", formed + taken, np.nan, words))
    return [(*row[:4], row[3] / row[1], row[5]) for row in rows], losses


def chosen(losses: PairLosses) -> list[tuple[PairLosses, float]]:
    """A few pairs, each with an epsilon, at deltas of about 0.3, 1e-2 and 1e-4; drawn from all apart from that."""
    found = []
    random = keyed_generator(SEED, "benchmark", "chosen")
    grid = np.linspace(0, 200, 2001)
    for pair in random.integers(len(losses.singular), size=2):
        one = losses.take([pair])
        upper = exact_tails(one, grid).upper[0]
        found += [
            (one, float(grid[np.argmin(np.abs(np.log(upper + 1e-300) - np.log(d)))])) for d in (0.3, 1e-2, 1e-4)
        ]
    return found


def monte_carlo(one: PairLosses, epsilon: float, stream: str) -> tuple[np.ndarray, np.ndarray]:
    """Estimate upper tail, lower tail and hockey stick with their standard errors, (3,) each."""
    random = keyed_generator(SEED, "benchmark", "draws", stream)
    square, linear = 0.5 * (one.gamma[0] - 1), np.sqrt(one.gamma[0]) * one.nu[0]
    total, squares = np.zeros(3), np.zeros(3)
    for _ in range(DRAWS // BLOCK):
        xi = random.standard_normal((BLOCK, ENTRIES))
        loss = xi**2 @ square - xi @ linear + one.constant[0]
        terms = np.stack([loss > epsilon, loss < -epsilon, np.maximum(0, -np.expm1(epsilon - loss))])
        total, squares = total + terms.sum(axis=1), squares + (terms**2.0).sum(axis=1)
    mean = total / DRAWS
    return mean, np.sqrt(np.maximum(squares / DRAWS - mean**2, mean / DRAWS) / DRAWS)


def against_monte_carlo(name: str, losses: PairLosses) -> tuple:
    """Compare a few pairs with 10^7 draws, in standard errors."""
    ours = other = 0.0
    off = []
    for case, (one, epsilon) in enumerate(chosen(losses)):
        taken, tails = seconds(exact_tails, one, [epsilon])
        lasted, (mean, error) = seconds(monte_carlo, one, epsilon, f"{name} {case}")
        exact = np.array([tails.upper[0, 0], tails.lower[0, 0], tails.hockey_stick[0, 0]])
        seen = mean * DRAWS > 25
        off += list((np.abs(mean - exact) / np.maximum(error, 1e-300))[seen])
        ours, other = ours + taken, other + lasted
    quality = (
        f"{len(off)} values seen at least 25 times: largest difference {max(off):.2f} standard errors, root mean "
        f"square {np.sqrt(np.mean(np.square(off))):.2f}; one as large is to be expected in "
        f"{1 - (2 * norm.cdf(max(off)) - 1) ** len(off):.0%} of such comparisons"
    )
    return (
        f"6 pairs and epsilons, d={ENTRIES}, {name}",
        ours,
        f"Monte Carlo, {DRAWS:,} draws",
        other,
        other / ours,
        quality,
    )


def imhof(one: PairLosses, library):
    """Return the integrand of Imhof (1961) with Pr(L > eps) = 1/2 + 1/pi int; ``library`` is math or mpmath."""
    gamma, nu = [library.mpf(x) for x in one.gamma[0]], [library.mpf(x) for x in one.nu[0]]

    def integrand(t, epsilon):
        size, phase = 0, -t * epsilon
        for g, n in zip(gamma, nu, strict=True):
            a = g - 1
            d = 1 + (a * t) ** 2
            size -= library.log(d) / 4 + g * (n * t) ** 2 / (2 * d)
            phase += (library.atan(a * t) - t * library.log(g) + n**2 * t * (1 - a * t**2) / d) / 2
        return library.exp(size) * library.sin(phase) / t

    return integrand


def by_scipy(one: PairLosses, epsilon: float) -> float:
    """Imhof's formula by scipy's quad."""
    library = SimpleNamespace(**vars(math), mpf=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns and answers all the same
        return 0.5 + quad(imhof(one, library), 0, np.inf, args=(epsilon,), limit=500)[0] / math.pi


def by_mpmath(one: PairLosses, epsilon: float) -> float:
    """Imhof's formula in 30-digit arithmetic, one wave after the other until they are below 1e-22."""
    with mpmath.workdps(30):
        integrand = imhof(one, mp)
        # Far out the phase runs as that of a loss with no linear part in any direction.
        pace = abs(float(0.5 * np.sum(np.log(one.gamma) + one.nu**2 / (one.gamma - 1)) + epsilon))
        total, low, wave = mp.mpf(0), mp.mpf(0), mp.pi / pace
        while True:
            part = mp.quad(lambda t: integrand(t, mp.mpf(epsilon)), [low, low + wave])
            total, low = total + part, low + wave
            if abs(part) < mp.mpf(10) ** -22:
                return float(mp.mpf(0.5) + total / mp.pi)


def against_imhof(name: str, losses: PairLosses) -> list[tuple]:
    """Compare with Imhof's formula at deltas from 0.1 to 1e-14."""
    one = losses.take([1])
    grid = np.linspace(0, 300, 6001)
    upper = exact_tails(one, grid).upper[0]
    epsilons = [
        float(grid[np.argmin(np.abs(np.log(upper + 1e-300) - np.log(d)))]) for d in (1e-1, 1e-5, 1e-10, 1e-14)
    ]
    ours, tails = seconds(exact_tails, one, epsilons)
    rows = []
    for other, solver in (("Imhof by scipy quad", by_scipy), ("Imhof in 30 digits, mpmath", by_mpmath)):
        taken, found = seconds(lambda solver=solver: [solver(one, epsilon) for epsilon in epsilons])
        words = "; ".join(
            f"{exact:.4e} (certified to {error / exact:.0e}), other {value:.4e}, off by {abs(value / exact - 1):.0e}"
            for exact, error, value in zip(tails.upper[0], tails.upper_error[0], found, strict=True)
        )
        rows.append((f"1 pair, 4 epsilons, d={ENTRIES}, {name}", ours, other, taken, taken / ours, words))
    return rows


def main() -> None:
    """Run all cases and write the table."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    exact_tails(PairLosses(np.full((1, 2), 2.0), np.ones((1, 2)), np.zeros(1, bool)), [1.0])  # compiles the kernels
    pair_losses(np.zeros((2, 2)), np.stack([np.eye(2), 2 * np.eye(2)]), [[0, 1]])
    worst_pair(PairLosses(np.full((1, 2), 2.0), np.ones((1, 2)), np.zeros(1, bool)), 1.0)
    rows = []
    for name in SETS:
        found, losses = all_pairs(name)
        rows += found
        rows.append(against_monte_carlo(name, losses))
    rows += against_imhof(name, losses)
    for row in rows:
        print(row, flush=True)
    write("curves", rows)


if __name__ == "__main__":
    begin = time.perf_counter()
    main()
    print(f"{time.perf_counter() - begin:.0f} s in all")
