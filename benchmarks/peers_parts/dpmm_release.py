"""dpmm's MST, AIM and PrivBayes on one set of records; runs in the environment of that library.

``python dpmm_release.py ALGORITHM GIVEN.npz WRITTEN.npz``. It imports nothing of this project. The pipeline is that
of the library's documentation with uniform bins between public bounds, so that no budget goes into preprocessing, and
one process. It spreads values over their bin itself. Neighbours differ by one record more or less.
"""

from __future__ import annotations

import sys
import time
from importlib.metadata import version

import numpy as np
import pandas as pd
from dpmm import pipelines


def main(algorithm: str, given: str, written: str) -> None:
    """Release the records and write samples, seconds and what was set."""
    with np.load(given) as file:
        x, edges, rows = file["x"], file["edges"], int(file["rows"])
        epsilon, delta = float(file["epsilon"]), float(file["delta"])
    begin = time.process_time()
    data = pd.DataFrame(x, columns=[f"hour_{i}" for i in range(x.shape[1])])
    bounds = {"lower": float(edges[0]), "upper": float(edges[-1])}
    pipeline = getattr(pipelines, f"{algorithm}Pipeline")(
        epsilon=epsilon, delta=delta, binner_type="uniform", proc_epsilon=None, n_bins=len(edges) - 1, n_jobs=1
    )
    pipeline.fit(data, domain={column: dict(bounds) for column in data.columns})
    samples = pipeline.generate(n_records=rows)[list(data.columns)].to_numpy(dtype=float)
    seconds = time.process_time() - begin
    settings = f"dpmm {version('dpmm')}, {algorithm} as it comes"
    np.savez_compressed(written, samples=samples.astype(np.float32), seconds=seconds, settings=settings)


if __name__ == "__main__":
    main(*sys.argv[1:4])
