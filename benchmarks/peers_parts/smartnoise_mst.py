"""SmartNoise's MST on every set of records of a file; runs in the environment of that library.

``python smartnoise_mst.py GIVEN.npz WRITTEN.npz``. It imports nothing of this project. The synthesizer is created and
fitted as the library's documentation says, its bins between public bounds, so that no budget goes into preprocessing.
Neighbours differ by one record more or less, and the number of records counts as public.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib.metadata import version

import numpy as np
import pandas as pd
from snsynth import Synthesizer
from snsynth.transform import BinTransformer, TableTransformer


def main(given: str, written: str) -> None:
    """Release every set and write samples, seconds and what was set."""
    with np.load(given) as file:
        sets, edges, rows = file["sets"], file["edges"], int(file["rows"])
        epsilon, delta = float(file["epsilon"]), float(file["delta"])
    warnings.simplefilter("ignore")
    samples, seconds, spread = [], [], np.random.default_rng()
    for x in sets:
        begin = time.perf_counter()
        data = pd.DataFrame(x, columns=[f"hour_{i}" for i in range(x.shape[1])])
        low, high, bins = float(edges[0]), float(edges[-1]), len(edges) - 1
        transformer = TableTransformer([BinTransformer(bins=bins, lower=low, upper=high) for _ in data.columns])
        synthesizer = Synthesizer.create("mst", epsilon=epsilon, delta=delta)
        synthesizer.fit(data, transformer=transformer, preprocessor_eps=0.0)
        middles = synthesizer.sample(rows).to_numpy(dtype=float)
        # The library gives the middle of a bin; spread over the bin, as OpenDP's samples are, it is a better sample.
        samples.append(middles + spread.uniform(-0.5, 0.5, middles.shape) * (high - low) / bins)
        seconds.append(time.perf_counter() - begin)
    settings = f"smartnoise-synth {version('smartnoise-synth')}, mbi {version('mbi')}, MST as it comes, add_remove"
    np.savez(written, samples=np.array(samples), seconds=np.array(seconds), settings=settings)


if __name__ == "__main__":
    main(*sys.argv[1:3])
