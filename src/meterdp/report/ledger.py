"""The ledger as a page: budget over time, every charge, and the released mixtures of different months side by side.

``meterdp ledger draw`` and every release write it. Except for lost attempts, everything on it is public; the page is
internal all the same, because no policy has checked it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.pages.html import write_page
from meterdp.privacy.charge import epsilon_of, epsilon_text
from meterdp.privacy.ledger import Ledger
from meterdp.release.show import DELTAS, Statement, most_by_period, statements
from meterdp.report.pages import figure, picture
from meterdp.report.style import BLUE, GREY, VERMILION, canvas, look, panels

TEMPLATE = Path(__file__).with_name("ledger.html")
_MONTH_COLOURS = (BLUE, VERMILION, look("sound").colour, look("arma").colour, look("white").colour, GREY)


@figure(
    category="",
    look_for=(
        "What all charges cost together, after each charge; lost attempts count. A release that would cross the "
        "dashed line is refused."
    ),
    alternative="Steps that rise with every charge, below a dashed line, one panel for each budget.",
)
def budget_over_time(statements: Sequence[Statement], output) -> None:
    """Draw the epsilon spent of each privacy budget after every charge, against its limit."""
    from matplotlib.dates import AutoDateLocator

    with canvas(output, "Privacy budget over time", 0.6 + 2.4 * len(statements)) as drawing:
        drawing.get_layout_engine().set(h_pad=0.08)  # dates of one panel stand clear of the title below
        for axes, statement in zip(panels(drawing, len(statements), 1), statements, strict=True):
            when = [datetime.fromisoformat(e.event["at_utc"]) for e in statement.entries]
            # A first release is one point in time; days around it make it a date.
            margin = max((when[-1] - when[0]) * 0.05, timedelta(days=5))
            axes.set_xlim(when[0] - margin, when[-1] + margin)
            axes.xaxis.set_major_locator(AutoDateLocator(maxticks=6))
            axes.step(
                [when[0], *when, when[-1] + margin],
                [0, *(e.total_epsilon for e in statement.entries), statement.entries[-1].total_epsilon],
                where="post",
                color=BLUE,
                marker="o",
                markevery=list(range(1, len(when) + 1)),
                label=f"spent, at delta {DELTAS[0]:g}",
            )
            limit = statement.entries[-1].event["cap"]
            axes.axhline(
                limit["epsilon"], color=VERMILION, linestyle="--", label=f"limit, at delta {limit['delta']:g}"
            )
            axes.set(
                title=statement.title,
                ylabel="epsilon",
                ylim=(0, 1.3 * max(limit["epsilon"], statement.entries[-1].total_epsilon)),
            )
            axes.legend(loc="upper left", ncols=2)


def typical_energy(mixture: Mapping) -> np.ndarray:
    """Return the typical energy per hour of a released mixture: that of its mean log energy, (d,) kWh."""
    # One released before there were other scales names none.
    scale = LogScale(**{key: mixture.get("log_scale", {}).get(key, 0.0) for key in ("offset_kwh", "scale_kwh")})
    return scale.kwh(np.asarray(mixture["weights"]) @ np.asarray(mixture["means"]))


@figure(
    category="",
    look_for=(
        "The typical energy of each released mixture: that of its mean log energy. Differences contain the noise of "
        "both; the smaller epsilon, the more noise."
    ),
    alternative="A line for each period, energy by hour of the day.",
)
def months_side_by_side(released: Sequence[tuple[str, Mapping]], output) -> None:
    """Draw the typical energy per hour of released mixtures: pairs of a period and the content of mixture.json."""
    with canvas(output, "Typical load of the released mixtures", 3.6) as drawing:
        (axes,), feeds_in = panels(drawing, 1, 1), False
        for number, (period, mixture) in enumerate(released):
            hours = np.arange(len(mixture["entries"]))
            colour = _MONTH_COLOURS[number % len(_MONTH_COLOURS)]
            line = ("-", "--", ":")[number // len(_MONTH_COLOURS) % 3]
            energy = typical_energy(mixture)
            feeds_in |= bool((energy < 0).any())
            axes.plot(hours, energy, marker="o", color=colour, linestyle=line, label=period)
        axes.set_xticks(hours, [entry[:5] for entry in mixture["entries"]])
        axes.set(ylabel="kWh per hour", xlabel="hour of the day")
        axes.set_ylim(bottom=min(0, axes.get_ylim()[0]) if feeds_in else 0)
        axes.legend(loc="best")


def write_ledger_page(ledger: Ledger, output) -> None:
    """Write the page; a ledger that cannot be trusted is refused."""
    found = statements(ledger.events(), ledger.sizes(), ledger.unfinished())
    accounts = []
    with tempfile.TemporaryDirectory() as folder:
        for number, statement in enumerate(found):
            months = _released_mixtures(ledger, statement)
            drawn = None
            if len(months) > 1:
                path = Path(folder) / f"months-{number}.svg"
                months_side_by_side.plot([(m["period"], m["mixture"]) for m in months], path)
                drawn = picture(path, months_side_by_side)
            accounts.append(
                {
                    "title": statement.title,
                    "rows": [_row(entry) for entry in statement.entries],
                    "spent": [(f"{d:g}", epsilon_text(epsilon_of(statement.total, d))) for d in DELTAS],
                    "months": months,
                    "picture": drawn,
                }
            )
        budget = Path(folder) / "budget.svg"
        if found:
            budget_over_time.plot(found, budget)
        write_page(
            TEMPLATE,
            output,
            accounts=accounts,
            budget=picture(budget, budget_over_time) if found else None,
            delta=f"{DELTAS[0]:g}",
            most=most_by_period(ledger),
            drawn_on=f"{datetime.now(UTC):%Y-%m-%d}",
            path=ledger.path,
        )


def _row(entry) -> dict:
    return {
        "day": entry.event["at_utc"][:10],
        "artefact": entry.what,
        "meters": "–" if entry.meters is None else f"{entry.meters:,}",
        "period": entry.readings,
        "epsilon": epsilon_text(entry.epsilon),
        "total": epsilon_text(entry.total_epsilon),
        "state": entry.state,
    }


def _released_mixtures(ledger: Ledger, statement: Statement) -> list[dict]:
    out = []
    for event in {entry.event["request"]: entry.event for entry in statement.entries}.values():
        files = ledger.stored(event["request"]) if event["words"]["artefact"] == "mixture" else {}
        if not files:
            continue
        mixture = json.loads(files["mixture.json"])
        export, epsilon = event["words"]["export"], event["words"]["public"]["epsilon"]
        energy = typical_energy(mixture)
        out.append(
            {
                "period": f"{export['first_day']} to {export['last_day']}, epsilon {epsilon:g}",
                "classes": len(mixture["weights"]),
                "largest": f"{max(mixture['weights']):.0%}",
                "energy": f"{energy.sum():.3g}",
                "peak": mixture["entries"][int(energy.argmax())],
                "mixture": mixture,
            }
        )
    return out
