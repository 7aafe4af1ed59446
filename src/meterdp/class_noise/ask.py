"""Ask a finished study what noise costs (``meterdp ask``).

The smallest error at which a design keeps (epsilon, delta), or the guarantee it keeps at an error. Reads the study's
private tables on this machine and gives one line per design and query model; class_label privacy, one file of one
release, as far as the query model holds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml

from meterdp.class_noise.inverse import Answer, askers
from meterdp.class_noise.query_models import Budget, ClassQueries, Noise, NoiseDesign
from meterdp.class_noise.study import studied
from meterdp.class_noise.tables import NEIGHBOUR_GRAPH
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.errors import InputError
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS

# Seconds between two lines of progress.
EVERY_S = 5.0


def ask(
    results, epsilon: float | None, error_kwh: float | None, delta: float, design: str | None = None
) -> Iterator[str]:
    """Yield the answers as lines of text, each as soon as it is found, after a header; progress to standard error.

    Parameters
    ----------
    results : path-like
        Folder of a finished study.
    epsilon, error_kwh : float or None
        Exactly one of the two: what is asked for.
    delta : float
        Delta of the guarantee.
    design : str, optional
        One design instead of all of the study.

    Raises
    ------
    InputError
        If the folder holds no study, or what is asked for makes no sense.
    """
    private, recipe = Path(results) / "private", Path(results) / "study/config.yaml"
    for needed in (recipe, private / "forecast_distributions.parquet", private / "neighbour_graph.parquet"):
        if not needed.is_file():
            raise InputError("does not exist", file=needed, hint="run the study first, or give its folder: --results")
    config = yaml.safe_load(recipe.read_text())
    settings = studied(config["class_noise"]) | (
        {} if design is None else {"designs": [design], "stochastic_designs": [design]}
    )
    distributions = read_table(private / "forecast_distributions.parquet", FORECAST_DISTRIBUTIONS)
    graph = read_table(private / "neighbour_graph.parquet", NEIGHBOUR_GRAPH)
    scale = LogScale.of_interval(config["profiles"], config["export"]["interval_minutes"])
    found = askers(distributions, graph, settings, scale)
    if not found:
        raise InputError(
            "names no noise design with a pair of neighbours to protect",
            file=recipe,
            field="class_noise.designs",
            hint="choose a design other than 'none', and neighbourhoods of more than one household",
        )
    yield f"{'design':<12}{'query model':<15}{'epsilon':>10}{'delta':>11}{'rho':>11}{'error, kWh':>12}"
    for number, ((name, model), asker) in enumerate(found.items(), start=1):
        reporting = replace(asker, design=_telling(asker.design, f"{number}/{len(found)} {name}, {model}"))
        answer = (
            reporting.guarantee(error_kwh, delta) if epsilon is None else reporting.smallest_error(epsilon, delta)
        )
        yield f"{name:<12}{model:<15}{_words(answer)}"


def _telling(design: NoiseDesign, label: str) -> NoiseDesign:
    """Return the design, saying on standard error every few seconds how many budgets it has been run at."""
    start = last = time.monotonic()
    count = 0

    def counted(queries: ClassQueries, budget: Budget) -> Noise:
        nonlocal last, count
        count += 1
        if time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            print(f"{label}: budget {count} ({last - start:.0f} s)", file=sys.stderr, flush=True)
        return design(queries, budget)

    return counted


def _words(answer: Answer) -> str:
    if not np.isfinite(answer.rho):
        return f"{answer.epsilon:>10.3g}  no budget that was tried will do"
    epsilon = f"{answer.epsilon:.3g}" if np.isfinite(answer.epsilon) else "none"
    return f"{epsilon:>10}{answer.delta:>11.2g}{answer.rho:>11.4g}{answer.error_kwh:>12.3g}"
