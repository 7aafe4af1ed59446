"""``meterdp plan``: how good a release would be, from public numbers alone and before anything is released."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from meterdp.cli import Command, configurations, refuse_configuration, take_configurations
from meterdp.core.choices import names_in
from meterdp.errors import InputError

if TYPE_CHECKING:
    from meterdp.ingest.meter_list import MeterList
    from meterdp.release.plan import Plan

# Of a number of meters alone.
METERS_PER_FEEDER = 100
MONTHS = 12


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "meters",
        nargs="*",
        help="number of meters, or a file that lists them; by default the configuration's list",
    )
    take_configurations(parser, "configuration(s) of a study, later ones on top", default=[])
    parser.add_argument("--epsilon", type=float, help="epsilon of each release, instead of the configuration's")
    parser.add_argument(
        "--what",
        nargs="+",
        choices=names_in("publish.kinds.KINDS"),
        help="kinds of release; by default the configuration's, or all",
    )
    parser.add_argument(
        "--feeders",
        type=int,
        metavar="F",
        help=f"number of feeders; by default the list's, or one per {METERS_PER_FEEDER} meters",
    )
    parser.add_argument("--figure", type=Path, metavar="FILE", help="SVG to draw, with errors for other sizes, too")


def _plan(arguments: argparse.Namespace) -> int:
    """Print what every release is expected to be worth, and draw it if that is asked for."""
    from meterdp.release.asked import plans, size_of_list
    from meterdp.release.plan import lines

    config, simulated = _settings(arguments)
    sizes = [_size(text, arguments.feeders) for text in arguments.meters]
    if not sizes:
        size = size_of_list(config, simulated)
        if size is None:
            raise InputError("no number of meters is given", hint="write e.g. meterdp plan 1409, or name a list")
        sizes = [size]
    for number, size in enumerate(sizes):
        planned = plans(config, *size)
        if arguments.what or arguments.config:
            _refuse_without_feeders(config, *size)
        if not planned:
            why, hint = _no_plan(size[0])
            raise InputError(why, field="meters", hint=hint)
        print("\n".join([""] * (number > 0) + [*lines(planned), *_costs(planned, config["release"]["delta"])]))
        if arguments.figure is not None and number == 0:
            from meterdp.report.plan import draw_plans

            draw_plans(planned, arguments.figure)
    return 0


def _costs(planned: Sequence[Plan], delta: float) -> Iterator[str]:
    """Say what releasing all of it costs, once and every month for a year."""
    from meterdp.privacy.charge import LESS_THAN_THE_SUM, epsilon_text
    from meterdp.privacy.gaussian import epsilon_for, mu_for

    def cost(plans: Sequence[Plan], times: int) -> tuple[str, str]:
        mu = math.hypot(*(mu_for(plan.epsilon, delta) for plan in plans))
        *others, last = (plan.what for plan in plans)
        what = f"{', '.join(others)} and {last}" if others else last
        return what, epsilon_text(epsilon_for(math.sqrt(times) * mu, delta))

    if len(planned) > 1:
        what, epsilon = cost(planned, 1)
        yield f"Releasing {what} about the same meters costs together epsilon {epsilon} ({LESS_THAN_THE_SUM})."
    # A release of households is of a longer period.
    if monthly := [plan for plan in planned if plan.what != "households"]:
        what, epsilon = cost(monthly, MONTHS)
        yield f"Releasing {what} about the same meters every month for a year costs epsilon {epsilon} in total."


def _no_plan(meters: int) -> tuple[str, str]:
    """Say why there is no plan, and what to do."""
    from meterdp.privacy.policy import FEWEST_HOUSEHOLDS

    if meters < FEWEST_HOUSEHOLDS:
        why = f"are {meters:,}, but a release needs at least {FEWEST_HOUSEHOLDS}"
        return why, "list more; for fewer homes, ask everybody for consent and publish plain sums"
    return "allow no plan of what is asked for", "feeder totals need a list of meters that names the feeders"


def _refuse_without_feeders(config: Mapping, meters: int, feeders: int, listed: MeterList | None) -> None:
    """Say which column a list needs whose feeders are asked for."""
    from meterdp.feeders.listed import Feeders
    from meterdp.privacy.policy import FEWEST_HOUSEHOLDS

    if listed is not None and meters >= FEWEST_HOUSEHOLDS and "feeders" in config["release"]["what"]:
        Feeders.of_meter_list(listed)


def _settings(arguments: argparse.Namespace) -> tuple[Mapping, bool]:
    """Return the complete configuration, and whether its export is simulated: not where meters are named."""
    from meterdp.core.config import complete
    from meterdp.publish.kinds import KINDS
    from meterdp.simulate.parameters import describe_simulated

    config = complete(*configurations(arguments.config))
    simulated = config["export"]["path"] is None and not arguments.meters
    if simulated:
        describe_simulated(config)
    release = config["release"]
    if arguments.what or not arguments.config:
        release["what"] = arguments.what or list(KINDS)
    if arguments.epsilon is not None:
        if not arguments.epsilon > 0:
            raise InputError("is not positive", field="--epsilon", hint="write e.g. --epsilon 1")
        release |= {kind.epsilon: arguments.epsilon for kind in KINDS.values()}
    return config, simulated


def _size(text: str, feeders: int | None) -> tuple[int, int, MeterList | None]:
    """Return how many meters and feeders a number or a list of meters means, and the list if it is one."""
    from meterdp.ingest.meter_list import read_meter_list
    from meterdp.release.asked import counted

    refuse_configuration(text)
    try:
        meters, own, listed = int(text.replace(",", "")), None, None
    except ValueError:
        meters, own, listed = counted(read_meter_list(text))
    if feeders is not None and not 0 < feeders <= meters:
        raise InputError("is not from 1 to the number of meters", field="--feeders", hint="write another number")
    return meters, feeders or own or max(1, round(meters / METERS_PER_FEEDER)), listed


COMMANDS = {
    "plan": Command(
        (
            "meterdp plan 98 1409 50000",
            "meterdp plan 1409 --epsilon 0.5 --what mixture --figure plan.svg",
            "meterdp plan --config my.yaml",
        ),
        _add_arguments,
        _plan,
    )
}
