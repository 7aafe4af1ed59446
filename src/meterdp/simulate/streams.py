"""Random numbers of simulated nodes: their records, their masks, the order in which they act.

All of it is made up, and a seed makes it again; whoever knows the seed can take masks off.
"""

from __future__ import annotations

import numpy as np

from meterdp.core.noise import keyed_generator


def simulated_stream(seed: int, *keys: str | int) -> np.random.Generator:
    """Return the generator of an experiment on made-up nodes; same seed and keys, same numbers.

    Parameters
    ----------
    seed : int
        Of the study.
    *keys : str or int
        What the numbers are for.
    """
    return keyed_generator(seed, *keys)
