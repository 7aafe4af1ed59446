"""Ask a finished study what noise costs: ``python -m meterdp.classnoise.ask --epsilon 1 --delta 1e-5``.

Give ``--epsilon`` for the smallest error at which a design keeps (epsilon, delta), or ``--error-kwh`` for the
guarantee it keeps at that error. Reads the study's private tables on this machine and prints one line per design and
query model; class_label privacy, one file of one release, as far as the query model holds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml

from meterdp.classnoise.designs.interface import Budget, ClassQueries, Noise, NoiseDesign
from meterdp.classnoise.inverse import Answer, askers
from meterdp.classnoise.query_models import MODEL_WORDS
from meterdp.classnoise.tables import NEIGHBOUR_GRAPH
from meterdp.core.errors import InputError
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_LAWS

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
    for needed in (recipe, private / "forecast_laws.parquet", private / "neighbour_graph.parquet"):
        if not needed.is_file():
            raise InputError(
                "does not exist", file=needed, remedy="run the study first, or give its folder: --results"
            )
    config = yaml.safe_load(recipe.read_text())
    settings = config["class_noise"] | (
        {} if design is None else {"designs": [design], "stochastic_designs": [design]}
    )
    laws = read_table(private / "forecast_laws.parquet", FORECAST_LAWS)
    graph = read_table(private / "neighbour_graph.parquet", NEIGHBOUR_GRAPH)
    scale = LogScale.of_interval(config["profiles"], config["export"]["interval_minutes"])
    found = askers(laws, graph, settings, scale)
    if not found:
        raise InputError(
            "names no noise design with a pair of neighbours to protect",
            file=recipe,
            field="class_noise.designs",
            remedy="choose a design other than 'none', and neighbourhoods of more than one household",
        )
    yield f"{'design':<12}{'query model':<15}{'epsilon':>10}{'delta':>11}{'rho':>11}{'error, kWh':>12}"
    for number, ((name, model), asker) in enumerate(found.items(), start=1):
        told = replace(asker, design=_telling(asker.design, f"{number}/{len(found)} {name}, {model}"))
        answer = told.guarantee(error_kwh, delta) if epsilon is None else told.smallest_error(epsilon, delta)
        yield f"{name:<12}{model:<15}{_words(answer)}"


def _telling(design: NoiseDesign, label: str) -> NoiseDesign:
    """Return the design, saying on standard error every few seconds how many budgets it has been run at."""
    start = last = time.monotonic()
    count = 0

    def told(queries: ClassQueries, budget: Budget) -> Noise:
        nonlocal last, count
        count += 1
        if time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            print(f"{label}: budget {count} ({last - start:.0f} s)", file=sys.stderr, flush=True)
        return design(queries, budget)

    return told


def _words(answer: Answer) -> str:
    if not np.isfinite(answer.rho):
        return f"{answer.epsilon:>10.3g}  no budget that was tried will do"
    epsilon = f"{answer.epsilon:.3g}" if np.isfinite(answer.epsilon) else "none"
    return f"{epsilon:>10}{answer.delta:>11.2g}{answer.rho:>11.4g}{answer.error_kwh:>12.3g}"


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, print the answers, return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m meterdp.classnoise.ask", description=__doc__.split("\n\n")[1])
    question = parser.add_mutually_exclusive_group(required=True)
    question.add_argument("--epsilon", type=float, help="ask for the smallest error at this epsilon")
    question.add_argument("--error-kwh", type=float, help="ask for the guarantee at this error per interval, kWh")
    parser.add_argument("--delta", type=float, default=1e-5, help="delta of the guarantee (1e-5)")
    parser.add_argument("--design", help="one noise design instead of all of the study")
    parser.add_argument(
        "--results", metavar="FOLDER", default="results", help="results_dir of the study that is asked (results)"
    )
    given = parser.parse_args(arguments)
    try:
        for line in ask(given.results, given.epsilon, given.error_kwh, given.delta, given.design):
            print(line, flush=True)
    except InputError as error:
        print(f"meterdp cannot go on. {error}", file=sys.stderr)
        return 1
    print("(epsilon, delta)-DP for class_label within the neighbourhoods of the study, for one file of one release.")
    print("\n".join(f"{model}: {words}" for model, words in MODEL_WORDS.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
