"""``meterdp ask``: what noise costs the forecasts of a finished study."""

from __future__ import annotations

import argparse

from meterdp.cli import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    question = parser.add_mutually_exclusive_group(required=True)
    question.add_argument("--epsilon", type=float, help="find the smallest error at this epsilon")
    question.add_argument("--error-kwh", type=float, help="find the guarantee at this error per interval, kWh")
    parser.add_argument("--delta", type=float, default=1e-5, help="delta of the guarantee (1e-5)")
    parser.add_argument("--design", help="only this noise design; by default all of the study")
    parser.add_argument("--results", metavar="FOLDER", default="results", help="results_dir of the study (results)")


def _ask(arguments: argparse.Namespace) -> int:
    """Print one line per design and query model, each as soon as it is found."""
    from meterdp.class_noise.inverse import ask
    from meterdp.class_noise.query_models import MODEL_WORDS

    for line in ask(arguments.results, arguments.epsilon, arguments.error_kwh, arguments.delta, arguments.design):
        print(line, flush=True)
    print("(epsilon, delta)-DP for class_label within the neighbourhoods of the study, for one file of one release.")
    print("\n".join(f"{model}: {words}" for model, words in MODEL_WORDS.items()))
    return 0


COMMANDS = {
    "ask": Command(
        ("meterdp ask --epsilon 1 --delta 1e-5", "meterdp ask --error-kwh 0.05 --results results"),
        _add_arguments,
        _ask,
    )
}
