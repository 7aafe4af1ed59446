"""What privacy costs, for readers who think in kWh: with and without, beside what a layman would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meterdp.evaluation.tables import (
    COST,
    FIDELITY,
    GROUP_FORECAST_ERRORS,
    HIDE_AMONG,
    HIDE_AMONG_YARDSTICKS,
)
from meterdp.households.tables import HOUSEHOLD_SCORES, SIMULATED_YEAR
from meterdp.report.hiding import ERROR
from meterdp.report.intake import hours_text
from meterdp.report.numbers import count, counted, differs, plain, significant
from meterdp.report.pages import Tables
from meterdp.report.periods import errors_of, together

if TYPE_CHECKING:
    import pandas as pd


READS = (COST, FIDELITY, HOUSEHOLD_SCORES, GROUP_FORECAST_ERRORS, HIDE_AMONG, HIDE_AMONG_YARDSTICKS)
NO_DIFFERENCE = "no difference found"
SAYS_LITTLE = 0.5  # of the energy: an error beyond leaves little of what was asked
HARDLY_BETTER = 0.97  # of the error of a public guess: above, a forecast says little more
SIMILAR = 10  # customers to be hidden among, if the study tried so many


@dataclass(frozen=True)
class Price:
    """One thing a release can give, and by how much it is off without and with privacy."""

    what: str
    without: str
    protected: str
    beside: str  # what to compare it with
    words: str = ""  # the same as a sentence, empty where the row says it


def prices(tables: Tables, settings: Mapping) -> list[Price]:
    """Return the rows of the table, for as much of the study as was run."""
    rows = (
        _average_use(tables, settings),
        _synthetic(tables),
        _homes_together(tables, settings),
        _forecast(tables, settings),
        _hidden_among(tables),
    )
    return [row for row in rows if row is not None]


def _nearest(rows: pd.DataFrame, epsilon: float | None) -> pd.DataFrame:
    """Return the rows at that epsilon, or at the tried one nearest to it; without one the middle of those tried."""
    tried = sorted(rows["epsilon"].unique())
    chosen = tried[len(tried) // 2] if epsilon is None else min(tried, key=lambda e: abs(e - epsilon))
    return rows[rows["epsilon"] == chosen]


def _average_use(tables: Tables, settings: Mapping) -> Price | None:
    cost = tables.get("cost")
    cost = None if cost is None else cost[cost["family"] == "sound"]
    if cost is None or cost.empty:
        return None
    row = _nearest(cost, settings.get("release", {}).get("epsilon")).sort_values("mechanism").iloc[0]
    when = hours_text(tables, settings)
    energy, error, fit = row["mean_energy_kwh"], row["energy_error_kwh_mean"], row["energy_error_kwh_fit"]
    there = f"{' in these hours' if when else ''}{_within(error, energy)}"
    return Price(
        f"What the average customer uses in an hour{when and f' {when}'}: {significant(energy)} kWh",
        f"off by {_kwh(fit)}{_share(fit, energy)}",
        f"ε = {plain(row['epsilon'])}: off by {_kwh(error)}{_share(error, energy)}; of 20 releases 19 by less than "
        f"{_kwh(row['energy_error_kwh_q95'])}",
        _halves(tables, energy),
        f"A release of the patterns at ε = {plain(row['epsilon'])} gives the use of the average customer"
        f"{there}; without privacy the patterns give it{_within(fit, energy)}."
        + (
            " At this ε the released mixture says little about how much so few customers use."
            if error > SAYS_LITTLE * abs(energy)
            else ""
        ),
    )


def _halves(tables: Tables, energy: float) -> str:
    """Say how far two halves of the same customers lie apart."""
    real = _of_fidelity(tables, "real")
    if real is None or energy <= 0:
        return ""
    return f"one half of the customers against the other: ± {_kwh(real['se'] * energy)}"


def _of_fidelity(tables: Tables, source: str) -> pd.Series | None:
    fidelity = tables.get("fidelity")
    if fidelity is None:
        return None
    rows = fidelity[(fidelity["measure"] == "energy_mean_relative") & (fidelity["source"] == source)]
    return None if rows.empty else rows.iloc[0]


def _synthetic(tables: Tables) -> Price | None:
    cost, sound = tables.get("cost"), _of_fidelity(tables, "sound")
    if sound is None or cost is None or cost["mean_energy_kwh"].iloc[0] <= 0:
        return None
    hours = len(tables["profile_hours"]) if "profile_hours" in tables else 1
    energy = hours * cost["mean_energy_kwh"].iloc[0]
    fit = _of_fidelity(tables, "fit")
    over = f" over {counted(hours, 'hour')}" if hours > 1 else ""
    return Price(
        f"What synthetic customers use{over}; real ones use {significant(energy)} kWh",
        "" if fit is None else _more_or_less(fit, energy),
        f"ε = {plain(sound['epsilon'])}: {_more_or_less(sound, energy)}",
        _halves(tables, energy),
    )


def _more_or_less(row: pd.Series, energy: float) -> str:
    """Say by how much synthetic customers use more or less, or that no difference was found."""
    size = f"{_kwh(abs(row['value']) * energy)} {'more' if row['value'] > 0 else 'less'}"
    if differs(row["value"], row["se"]):
        return f"{size}{_share(abs(row['value']), 1.0)}"
    return f"{NO_DIFFERENCE} ({size}, ± {_kwh(row['se'] * energy)})"


def _homes_together(tables: Tables, settings: Mapping) -> Price | None:
    scores = tables.get(HOUSEHOLD_SCORES.name)
    if scores is None or scores.empty:
        return None
    size, rows = together(scores)
    if rows.empty:
        return None
    own, released, floor = errors_of(rows)
    wanted = settings.get("release", {}).get("household_epsilon") or max(released)
    epsilon = min(released, key=lambda e: abs(e - wanted))
    where = "a simulated year" if scores["period"].iloc[0] == SIMULATED_YEAR else "the whole period"
    return Price(
        f"Highest load of {counted(size, 'home')} together in {where}: {significant(rows['real'].iloc[0])} kW a home",
        f"off by {own}",
        f"ε = {plain(epsilon)}: off by {released[epsilon]}",
        f"one half of the homes against the other: {floor}",
    )


def _forecast(tables: Tables, settings: Mapping) -> Price | None:
    errors = tables.get("group_forecast_errors")
    if errors is None:
        return None
    release = settings.get("release", {})
    released = errors[errors["epsilon"].notna()]
    chosen = released[released["groups"] == release.get("forecast_groups")]
    released, at = (released if chosen.empty else chosen), errors.set_index("method")["mae_kwh"]
    if released.empty or "own_mean" not in at:
        return None
    rows = _nearest(released, release.get("forecast_epsilon"))
    scaled, files = (rows[rows["method"] == method].iloc[0] for method in ("scaled", "group"))
    own, guess = at["own_mean"], at["own_level_public_shape"]
    ratio = scaled["mae_kwh"] / own
    beside = (
        f"a public shape and the customer’s own level: {_kwh(guess)}; the released file, which knows no level: "
        f"{_kwh(files['mae_kwh'])}; one public number for everybody: {_kwh(at['public_level'])}"
    )
    return Price(
        "Forecast of one customer, an hour at a time",
        f"misses by {_kwh(own)}",
        f"ε = {plain(scaled['epsilon'])}: the released shape and the customer’s own level miss by "
        f"{_kwh(scaled['mae_kwh'])}, {significant(ratio, 2)} times as much",
        beside,
        f"The released shape of a week (ε = {plain(scaled['epsilon'])}), times a customer’s own level, misses by "
        f"{significant(ratio, 2)} times as much as the customer’s own past"
        + (
            f", about as much as a public shape ({significant(guess / own, 2)} times)."
            if scaled["mae_kwh"] > HARDLY_BETTER * guess
            else f"; a public shape by {significant(guess / own, 2)} times."
        ),
    )


def _hidden_among(tables: Tables) -> Price | None:
    hidden, marks = tables.get("hide_among"), tables.get("hide_among_yardsticks")
    hidden = None if hidden is None else hidden.dropna(subset=[ERROR])
    if hidden is None or hidden.empty or marks is None:
        return None
    size = min(hidden["size"].unique(), key=lambda k: abs(k - SIMILAR))
    least = hidden.loc[hidden["size"] == size, ERROR].min()
    typical = marks.set_index("yardstick")["median_kwh"]
    return Price(
        f"Forecast of the median customer that hides which of {count(size)} similar ones it is for, and nothing else",
        f"misses by {_kwh(typical['forecast_error'])}",
        f"the forecast is moved by another {_kwh(least)}",
        f"the customer uses {_kwh(typical['energy'])} in that time",
    )


def _kwh(energy: float) -> str:
    return f"{significant(energy, 2)} kWh"


def _share(error: float, energy: float) -> str:
    return f" ({_percent(error / energy)})" if energy > 0 else ""


def _within(error: float, energy: float) -> str:
    return f" to within {_percent(error / energy)}" if energy > 0 else f" to within {_kwh(error)}"


def _percent(share: float) -> str:
    return f"{significant(100 * share, 2)} %"
