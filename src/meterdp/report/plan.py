"""The expected errors of releases, drawn against the number of meters for several epsilons."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from meterdp.release.plan import SIZES, Plan
from meterdp.report.style import BLUE, GREEN, GREY, ORANGE, VERMILION, canvas, line_key, panels, plain_log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS = {0.5: VERMILION, 1: ORANGE, 2: GREEN, 4: BLUE}
# Meters of a list, or of the smallest of its strata, and on a feeder.
RANGES = {"listed meters": (50, 50_000), "meters per feeder": (10, 1000)}
# A line of a title that does not reach into the next panel.
TITLE_CHARACTERS = 22
_TICKS = (10, 100, 1000, 10_000)


def draw_plans(plans: Sequence[Plan], output) -> None:
    """Draw a panel for every release: the quantity that is hardest to get, beside a public guess."""
    with canvas(output, "How far off a release is expected to be, from public numbers alone", 3.4) as figure:
        panel, below = figure.subfigures(2, 1, height_ratios=(1, 0.12))
        for axes, plan in zip(panels(panel, len(plans), len(plans), sharey=True), plans, strict=True):
            _draw(axes, plan)
        keys = [line_key(color=colour, label=f"ε = {epsilon:g}") for epsilon, colour in EPSILONS.items()]
        keys += [line_key(color=GREY, linestyle="--", label="a public guess")]
        keys += [line_key(color=GREY, linestyle=":", label="refused")]
        below.legend(handles=keys, loc="center", ncols=len(keys))


def _draw(axes: Axes, plan: Plan) -> None:
    low, high = next(sizes for counted, sizes in RANGES.items() if plan.sized.startswith(counted))
    sizes = [size for size in SIZES[::10] if low <= size <= high]
    worst = max(range(len(plan.expected)), key=lambda i: plan.expected[i].error / plan.expected[i].guess)
    for epsilon, colour in EPSILONS.items():
        planned = [plan.again(epsilon, size) for size in sizes]
        error = [100 * one.expected[worst].error for one in planned]
        refused = sum(one.too_little for one in planned)
        axes.plot(sizes[: refused + 1], error[: refused + 1], color=colour, linestyle=":")
        axes.plot(sizes[refused:], error[refused:], color=colour)
    axes.plot(sizes, [100 * one.expected[worst].guess for one in planned], color=GREY, linestyle="--")
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_log_ticks(axes.xaxis, [tick for tick in _TICKS if low <= tick <= high])
    plain_log_ticks(axes.yaxis, (1, 3, 10, 30, 100, 300))
    axes.set_xlabel(textwrap.fill(plan.sized, TITLE_CHARACTERS))
    of = textwrap.fill(plan.expected[worst].of, TITLE_CHARACTERS)
    axes.set_title(f"{plan.what}:\n{of}", fontsize=9.5)
    if axes.get_subplotspec().is_first_col():
        axes.set_ylabel("expected error, %")
