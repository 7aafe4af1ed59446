"""SmartNoise's MST and AIM on one set of records; runs in the environment of that library.

``python smartnoise_release.py ALGORITHM GIVEN.npz WRITTEN.npz``. It imports nothing of this project. The synthesizer
is created and fitted as the library's documentation says, its bins between public bounds, so that no budget goes into
preprocessing. Neighbours differ by one record more or less, and the number of records counts as public.
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


def main(algorithm: str, given: str, written: str) -> None:
    """Release the records and write samples, seconds and what was set."""
    with np.load(given) as file:
        x, edges, rows = file["x"], file["edges"], int(file["rows"])
        epsilon, delta = float(file["epsilon"]), float(file["delta"])
    warnings.simplefilter("ignore")
    begin = time.process_time()
    data = pd.DataFrame(x, columns=[f"hour_{i}" for i in range(x.shape[1])])
    low, high, bins = float(edges[0]), float(edges[-1]), len(edges) - 1
    transformer = TableTransformer([BinTransformer(bins=bins, lower=low, upper=high) for _ in data.columns])
    synthesizer = Synthesizer.create(algorithm.lower(), epsilon=epsilon, delta=delta)
    synthesizer.fit(data, transformer=transformer, preprocessor_eps=0.0)
    middles = synthesizer.sample(rows).to_numpy(dtype=float)
    # The library gives the middle of a bin; spread over the bin, as OpenDP's samples are, it is a better sample.
    samples = middles + np.random.default_rng().uniform(-0.5, 0.5, middles.shape) * (high - low) / bins
    seconds = time.process_time() - begin
    settings = f"smartnoise-synth {version('smartnoise-synth')}, mbi {version('mbi')}, {algorithm} as it comes"
    np.savez_compressed(written, samples=samples.astype(np.float32), seconds=seconds, settings=settings)


if __name__ == "__main__":
    main(*sys.argv[1:4])
