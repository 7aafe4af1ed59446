"""OpenDP's MST and AIM on one set of records; runs in the environment of that library.

``python opendp_release.py ALGORITHM GIVEN.npz WRITTEN.npz``. It imports nothing of this project. The query is the one
of the library's own examples: a compositor under zCDP, one-way and selected two-way marginals of public cuts, then
``synthesize``. As cuts are given for all columns, the library asks for pure zCDP: rho is the largest of four digits
that its own conversion turns into (epsilon, delta). Neighbours differ by one record more or less.
"""

from __future__ import annotations

import sys
import time
from importlib.metadata import version

import numpy as np
import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib", "idealized-numerics")  # the second for the conversion alone
DIGITS = 1e-4
TRIES = 20


def largest_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho, to four digits, for which rho-zCDP is (epsilon, delta)-DP, by the library's curve."""
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def gaussian(scale):
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale)), delta=delta)

    scale = dp.binary_search_param(gaussian, d_in=1.0, d_out=(epsilon, delta))
    return np.floor(dp.m.make_gaussian(*space, scale).map(1.0) / DIGITS) * DIGITS


def release(algorithm, x: np.ndarray, edges: np.ndarray, rho: float):
    """Return the contingency table of the records under rho-zCDP."""
    hours = [f"hour_{i}" for i in range(x.shape[1])]
    context = dp.Context.compositor(
        data=pl.LazyFrame(dict(zip(hours, x.T, strict=True))),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho),
    )
    query = context.query(rho=rho).select(*hours)
    cuts = {hour: edges[1:-1].tolist() for hour in hours}
    return query.contingency_table(cuts=cuts, algorithm=algorithm).release()


def synthesize(table, edges: np.ndarray, rows: int) -> np.ndarray:
    """Return synthetic records.

    The library lets the outer bins reach one unit beyond the outermost cuts; here they end at the public bounds.
    """
    x = table.synthesize(rows).to_numpy()
    x = np.where(x < edges[1], edges[1] + (x - edges[1]) * (edges[1] - edges[0]), x)
    return np.where(x > edges[-2], edges[-2] + (x - edges[-2]) * (edges[-1] - edges[-2]), x)


def main(algorithm: str, given: str, written: str) -> None:
    """Release the records and write samples, seconds and what was set."""
    with np.load(given) as file:
        x, edges, rows = file["x"], file["edges"], int(file["rows"])
        rho = largest_rho(float(file["epsilon"]), float(file["delta"]))
    begin = time.process_time()
    for left in reversed(range(TRIES)):
        try:
            table = release(getattr(dp.mbi, algorithm)(), x, edges, rho)
            break
        except dp.OpenDPException as error:
            # Whether eleven rounded parts of a budget add up to it depends on its last digit, not on the data.
            if "insufficient budget" not in str(error) or not left:
                raise
            rho -= DIGITS
    samples = synthesize(table, edges, rows)
    seconds = time.process_time() - begin
    settings = f"opendp {version('opendp')}, mbi {version('mbi')}, {algorithm} as it comes, rho {rho:.4f}"
    np.savez_compressed(written, samples=samples.astype(np.float32), seconds=seconds, settings=settings)


if __name__ == "__main__":
    main(*sys.argv[1:4])
