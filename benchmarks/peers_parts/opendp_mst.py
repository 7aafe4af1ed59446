"""OpenDP's MST on every set of records of a file; runs in the environment of that library.

``python opendp_mst.py GIVEN.npz WRITTEN.npz``. It imports nothing of this project. The query is the one of the
library's own example of ``MST``: a compositor under zCDP, one-way and selected two-way marginals of public cuts, then
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


def release(x: np.ndarray, edges: np.ndarray, rho: float):
    """Return the contingency table of the records under rho-zCDP."""
    hours = [f"hour_{i}" for i in range(x.shape[1])]
    context = dp.Context.compositor(
        data=pl.LazyFrame(dict(zip(hours, x.T, strict=True))),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho),
    )
    query = context.query(rho=rho).select(*hours)
    cuts = {hour: edges[1:-1].tolist() for hour in hours}
    return query.contingency_table(cuts=cuts, algorithm=dp.mbi.MST()).release()


def synthesize(table, edges: np.ndarray, rows: int) -> np.ndarray:
    """Return synthetic records.

    The library lets the outer bins reach one unit beyond the outermost cuts; here they end at the public bounds.
    """
    x = table.synthesize(rows).to_numpy()
    x = np.where(x < edges[1], edges[1] + (x - edges[1]) * (edges[1] - edges[0]), x)
    return np.where(x > edges[-2], edges[-2] + (x - edges[-2]) * (edges[-1] - edges[-2]), x)


def main(given: str, written: str) -> None:
    """Release every set and write samples, seconds and what was set."""
    with np.load(given) as file:
        sets, edges, rows = file["sets"], file["edges"], int(file["rows"])
        rho = largest_rho(float(file["epsilon"]), float(file["delta"]))
    samples, seconds = [], []
    for x in sets:
        for left in reversed(range(TRIES)):
            begin = time.perf_counter()
            try:
                table = release(x, edges, rho)
                break
            except dp.OpenDPException as error:
                # Whether eleven rounded parts of a budget add up to it depends on its last digit, not on the data.
                if "insufficient budget" not in str(error) or not left:
                    raise
                rho -= DIGITS
        samples.append(synthesize(table, edges, rows))
        seconds.append(time.perf_counter() - begin)
    settings = f"opendp {version('opendp')}, mbi {version('mbi')}, MST as it comes, rho {rho:.4f}, add_remove"
    np.savez(written, samples=np.array(samples), seconds=np.array(seconds), settings=settings)


if __name__ == "__main__":
    main(*sys.argv[1:3])
