"""Privacy curves of all noise designs of a study, by Chernoff's bound and by Monte Carlo."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from meterdp.classnoise.curves import curve_rows
from meterdp.classnoise.study import noises_of, queries_of
from meterdp.core.progress import progress
from meterdp.release.noise import StudyNoise


def study_curves(laws: pa.Table, graph: pa.Table, designs: pa.Table, class_noise: Mapping, seed: int) -> list[dict]:
    """Return the rows of the table ``delta_curves``.

    Parameters
    ----------
    laws, graph, designs : pyarrow.Table
        Tables ``forecast_laws``, ``neighbour_graph`` and ``noise_designs``.
    class_noise : mapping
        Section of the configuration.
    seed : int
        Seed of the study; all designs share the draws, which makes their comparison sharper.

    Notes
    -----
    Without any pair of neighbours (every neighbourhood has one household) there is no row.
    """
    queries = {model: queries_of(laws, graph, model) for model in class_noise["query_models"]}
    entries = next(iter(queries.values())).entries
    draws = StudyNoise(seed, "privacy curves").normal((class_noise["draws"], entries))
    epsilon = np.array(class_noise["epsilons"], dtype=float)
    rows: list[dict] = []
    for (design, model, rho), (_, noise) in progress(noises_of(designs).items(), "privacy curves"):
        rows += curve_rows(noise.released(queries[model]), epsilon, draws, design=design, query_model=model, rho=rho)
    return rows
