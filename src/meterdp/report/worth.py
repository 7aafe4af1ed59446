"""What may be released, and how far off it would be: from public numbers alone, and as measured in this study.

The first is what ``meterdp plan`` says before anything runs. The second looks at readings, so it must not be
published, and a choice that is made by it uses the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meterdp.errors import InputError
from meterdp.evaluation.tables import COST, FIDELITY, MOST_HOUSEHOLDS
from meterdp.households.columns import LEAST_DAYS_OF_SEASONS
from meterdp.households.tables import HOUSEHOLD_SCORES, OWN, SIMULATED_YEAR
from meterdp.ingest.meter_list import USABLE
from meterdp.pages.numbers import MISSING, count, counted, differs, percent, plain, significant
from meterdp.privacy.guarantee import UNIT_OF, Guarantee, Limit
from meterdp.privacy.policy import check_release
from meterdp.profiles.tables import PROFILE_HOURS, QUALITY_SUMMARY
from meterdp.publish.kinds import KINDS
from meterdp.release.settings import SIMULATED, refusals_of
from meterdp.report.consumption import period_of, spoken_period
from meterdp.report.intake import profile_days, span_text
from meterdp.report.pages import Grid, Tables, households_by_rule

if TYPE_CHECKING:
    import pandas as pd

    from meterdp.release.plan import Plan

READS = (COST, FIDELITY, HOUSEHOLD_SCORES, PROFILE_HOURS, QUALITY_SUMMARY)
NO_DIFFERENCE = "no difference found"
# The highest load of so many homes together is shown, or of as many below as there are.
MANY_HOMES = 50


# --- by public numbers alone ----------------------------------------------------------------------------------------


def plan_grids(plans: Sequence[Plan], settings: Mapping, period: str, simulated: bool) -> list[Grid]:
    """Return a table for every epsilon among the plans: how far each quantity is expected to be off.

    Releases that the settings do not allow are left out.
    """
    plans = [plan for plan in plans if not _own_refusals(plan.what, settings, simulated)]
    return [_plan_grid([plan for plan in plans if plan.epsilon == e], settings, period) for e in _distinct(plans)]


def _own_refusals(what: str, settings: Mapping, simulated: bool) -> list[str]:
    """Return what the settings refuse of one kind of release alone."""

    def refused(*kinds: str) -> list[str]:
        release = {**settings["release"], "what": list(kinds)}
        return [str(error) for error in refusals_of({**settings, "release": release}, simulated)]

    return [words for words in refused(what) if words not in refused()]


def _distinct(rows: Iterable) -> list[float]:
    return sorted({row.epsilon for row in rows})


def _plan_grid(plans: Sequence[Plan], settings: Mapping, period: str) -> Grid:
    rows = [
        (plan.what, one.of, *(f"{100 * share:.0f} %" for share in (one.error, one.error_q95, one.guess)))
        for plan in plans
        for one in plan.expected
    ]
    asked = settings["release"]["what"]
    of_asked = [f"{plan.what.capitalize()}: {_spoken(plan.verdicts)}" for plan in plans if plan.what in asked]
    other = (plan for plan in plans if plan.what not in asked)
    return Grid(
        f"Expected error of a release at ε = {plain(plans[0].epsilon)}, {period}, from public numbers alone",
        ("release", "quantity", "on average", "1 in 20 above", "public guess"),
        rows,
        words=2,
        notes=of_asked + [f"{one.what.capitalize()} (not in release.what): {one.verdicts[0]}." for one in other],
    )


def _spoken(verdicts: Sequence[str]) -> str:
    first, *others = verdicts
    return " ".join([f"{first}.", *(f"{words[:1].upper()}{words[1:]}." for words in others)])


def usable_sentence(tables: Tables) -> str | None:
    """Say that fewer households are studied than the expected errors take for granted, if so."""
    counts = households_by_rule(tables)
    if counts is None or counts.get("kept", 0) >= USABLE * counts.sum():
        return None
    return (
        f"These errors are expected if at least {percent(USABLE)} of the listed meters have usable readings. In this "
        f"export {percent(counts.get('kept', 0) / counts.sum())} have (keep this number to yourself): a release "
        "counts the others as typical households, so it is further off. quality.max_missing_share says how many "
        "readings a household may lack; feeder totals and group forecasts judge a meter by the last days alone, "
        "those that they are about."
    )


def export_period(tables: Tables, settings: Mapping) -> str:
    """Say which days the study covers: ``20 Oct to 16 Nov 2025``."""
    first, last = (settings.get("export", {}).get(key) for key in ("first_day", "last_day"))
    if first and last:
        return spoken_period(first, last, short=True)
    load = tables.get("total_load")
    return "the whole export" if load is None else period_of(load, short=True)


# --- measured -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """By how much one quantity of a release is off in this study, without and with privacy."""

    epsilon: float
    setting: str  # of its epsilon, in the section release
    what: str
    period: str
    real: str
    without: str
    protected: str
    halves: str  # one random half of the real households against the other


def measured_grids(tables: Tables, settings: Mapping) -> list[Grid]:
    """Return a table for every epsilon at which something was measured, that of the release where it was tried."""
    rows = [*_synthetic(tables, settings), *_homes(tables, settings)]
    return [
        Grid(
            f"Error of a release at ε = {plain(epsilon)}, as measured in this study",
            (
                "quantity",
                "period",
                "real",
                "without privacy",
                f"ε = {plain(epsilon)}",
                "halves of the real households",
            ),
            [(r.what, r.period, r.real, r.without, r.protected, r.halves) for r in rows if r.epsilon == epsilon],
            words=2,
            notes=[*filter(None, (_not_tried(rows, epsilon, settings), _sampled(tables), _strata(settings)))],
        )
        for epsilon in _distinct(rows)
    ]


def _strata(settings: Mapping) -> str:
    released = settings.get("release", {})
    with_strata = "households" in released.get("what", ()) and released.get("household_strata")
    return (
        "Households are tried without strata; expect each stratum to be as far off as a list of its size."
        if with_strata
        else ""
    )


def _not_tried(rows: Sequence[Measured], epsilon: float, settings: Mapping) -> str:
    """Say what of a table was measured at another epsilon than that of its release, which the study does not try."""
    what: dict[str, list[str]] = {}
    for row in rows:
        if row.epsilon == epsilon != settings.get("release", {}).get(row.setting, epsilon):
            what.setdefault(row.setting, []).append(row.what)
    return " ".join(
        f"release.{setting} is {plain(settings['release'][setting])}; the nearest ε at which the study measured "
        f"{', '.join(measured)} is {plain(epsilon)}."
        for setting, measured in what.items()
    )


def _sampled(tables: Tables) -> str:
    """Say that costs were measured on some of the households, where there are many."""
    if "class_table" not in tables or tables["class_table"]["household_count"].sum() <= MOST_HOUSEHOLDS:
        return ""
    return (
        f"Measured on a release of {count(MOST_HOUSEHOLDS)} of the households, chosen without looking at readings. "
        "A release of all households is off by less."
    )


def nearest(rows: pd.DataFrame, epsilon: float | None) -> pd.DataFrame:
    """Return the rows at that epsilon, or at the tried one nearest to it; without one the middle of those tried."""
    tried = sorted(rows["epsilon"].dropna().unique())
    chosen = tried[len(tried) // 2] if epsilon is None else min(tried, key=lambda e: abs(e - epsilon))
    return rows[rows["epsilon"] == chosen]


def _profile_period(tables: Tables, settings: Mapping) -> str:
    hours = tables.get("profile_hours")
    if hours is None or "profiles" not in settings:
        return MISSING
    return f"{profile_days(settings)}, {span_text(hours)}, {export_period(tables, settings)}"


def _of_fidelity(tables: Tables, measure: str) -> dict[str, pd.Series]:
    """Return the rows of a measure, by their source."""
    fidelity = tables.get("fidelity")
    if fidelity is None:
        return {}
    return {row["source"]: row for _, row in fidelity[fidelity["measure"] == measure].iterrows()}


def _synthetic(tables: Tables, settings: Mapping) -> Iterator[Measured]:
    """Yield by how much synthetic profiles miss the energy of an hour, as the plan counts it, and of all hours."""
    cost, period = tables.get("cost"), _profile_period(tables, settings)
    if cost is None or cost["mean_energy_kwh"].iloc[0] <= 0:
        return
    energy = cost["mean_energy_kwh"].iloc[0]
    if "sound" in (of := _of_fidelity(tables, "energy_hours_relative")):
        without, protected, halves = (_percent(of[source]["value"]) for source in ("fit", "sound", "real"))
        what = "mean energy of an hour, profiles"
        hour = f"{significant(energy)} kWh"
        yield Measured(of["sound"]["epsilon"], "epsilon", what, period, hour, without, protected, halves)
    if "sound" in (of := _of_fidelity(tables, "energy_mean_relative")):
        hours = len(tables["profile_hours"]) if "profile_hours" in tables else 1
        yield Measured(
            of["sound"]["epsilon"],
            "epsilon",
            "mean use of synthetic profiles",
            period,
            f"{significant(hours * energy)} kWh in {counted(hours, 'hour')}",
            _more_or_less(of["fit"]),
            _more_or_less(of["sound"]),
            _percent(of["real"]["se"]),
        )


def _more_or_less(row: pd.Series) -> str:
    """Say by how much synthetic households use more or less, or that no difference was found."""
    if not differs(row["value"], row["se"]):
        return NO_DIFFERENCE
    return f"{_percent(abs(row['value']))} {'more' if row['value'] > 0 else 'less'}"


def _homes(tables: Tables, settings: Mapping) -> list[Measured]:
    scores = tables.get(HOUSEHOLD_SCORES.name)
    if scores is None:
        return []
    epsilon = nearest(scores, settings.get("release", {}).get("household_epsilon"))["epsilon"].iloc[0]
    size, peaks = together(scores)
    use, months = (scores[scores["statistic"] == of] for of in ("energy, quantiles of homes", "monthly energy"))
    wanted = {
        f"highest load of {counted(size, 'household')} together": peaks,
        "use of the median household": use[use["detail"] == "0.5"],
        "use that one household in ten exceeds": use[use["detail"] == "0.9"],
        "mean power of a month": months[months["day_count"] >= LEAST_DAYS_OF_SEASONS],
    }
    return [_home(what, rows, epsilon, tables) for what, rows in wanted.items() if len(rows)]


def _home(what: str, rows: pd.DataFrame, epsilon: float, tables: Tables) -> Measured:
    own, released = rows[rows["source"] == OWN].iloc[0], rows[rows["epsilon"] == epsilon].iloc[0]
    off = (_percent(error / 100) for error in (own["absolute_error"], released["absolute_error"], own["floor"]))
    return Measured(
        epsilon,
        "household_epsilon",
        what,
        household_period(rows.iloc[0], tables),
        f"{significant(own['real'])} {own['unit'].replace('a home', 'per household')}",
        *off,
    )


def household_period(row: pd.Series, tables: Tables) -> str:
    """Say which days the synthetic households are of: those of the export, or of a simulated year."""
    if row["period"] == SIMULATED_YEAR:
        return "a simulated year"
    load = tables.get("total_load")
    return counted(row["day_count"], "day") if load is None else period_of(load, short=True)


def together(data: pd.DataFrame) -> tuple[int, pd.DataFrame]:
    """Return of how many households the peak together is known, fifty or as many below, and its rows."""
    rows = data[(data["statistic"] == "diversified peak, homes") & data["floor"].notna() & (data["detail"] != "all")]
    size = max((int(detail) for detail in rows["detail"] if int(detail) <= MANY_HOMES), default=1)
    return size, rows[rows["detail"] == str(size)]


def attack_sentence(tables: Tables) -> str | None:
    """Say how often an attacker is right who asks whether a home is among those that were used."""
    scores = tables.get(HOUSEHOLD_SCORES.name)
    if scores is None:
        return None
    rows = scores[scores["statistic"] == "membership attack"].set_index("epsilon")["synthetic"]
    own, released = rows[rows.index.isna()].iloc[0], rows[rows.index.notna()].sort_index(ascending=False)
    at = " and ".join(f"{odds:.1f} to 1 at ε = {plain(epsilon)}" for epsilon, odds in released.items())
    return (
        "An attacker knows what a household uses and asks whether it was among those from which synthetic "
        f"households were made. The odds of being right are {own:.1f} to 1 without privacy, and against a release "
        f"{at}; for a "
        "guess they are 1 to 1."
    )


def _percent(share: float) -> str:
    return "<0.1 %" if 0 < share < 0.001 else f"{significant(100 * share, 2)} %"


# --- what may be released -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Releasable:
    """What the report says about a release."""

    folders: Sequence[tuple[str, str]]  # paths below the results folder, and what they hold
    refused: Sequence[tuple[str, str]]  # settings that the policy refuses, and why; empty where a release can be made
    sentences: Sequence[str]  # to be published with the files


def releasable(tables: Tables, settings: Mapping, simulated: bool, plans: Sequence[Plan] = ()) -> Releasable | None:
    """Return what could be released under these settings, and what refuses it, a plan included; nothing without the
    section ``release``.
    """
    release = settings.get("release")
    if not release:
        return None
    kinds = {what: KINDS[what] for what in release["what"]}
    refused = _refusals(tables, settings, simulated)
    refused += [error for plan in plans if plan.what in kinds for error in plan.refusals(settings)]
    return Releasable(
        [(f"release/{what}/", kind.holds + kind.more) for what, kind in kinds.items()],
        [(error.field, f"{error.problem}; {error.hint}.") for error in refused],
        _sentences({what: release[kind.epsilon] for what, kind in kinds.items()}, settings, simulated),
    )


def _refusals(tables: Tables, settings: Mapping, simulated: bool) -> list[InputError]:
    """What the policy says of the settings and, as far as the study knows it, of the number of households."""
    refused = list(refusals_of(settings, simulated))
    release, quality = settings["release"], tables.get("quality_summary")
    if quality is not None:
        households = int(quality.loc[quality["scope"] == "households", "item_count"].sum())
        stated = Guarantee("", "replace_one", release["epsilon"], release["delta"], "", "", "sound")
        try:
            check_release(stated, households, Limit(release["cap_epsilon"], release["cap_delta"]))
        except InputError as error:
            refused.append(error)
    return refused


def _sentences(epsilons: Mapping[str, float], settings: Mapping, simulated: bool) -> list[str]:
    """Return one sentence for all folders of the same guarantee."""
    from meterdp.release.settings import plain_sentence  # not for a plan, which reads the report's modules too

    release, export = settings["release"], settings["export"]
    who = release["population"] or (SIMULATED if simulated else "[population]")
    when = "from {} to {}".format(*(export.get(key) or "[day]" for key in ("first_day", "last_day")))
    same: dict[float, list[str]] = {}
    for what, epsilon in epsilons.items():
        if what != "forecasts" or release["forecast_protects"] == "readings":
            same.setdefault(epsilon, []).append(what)
    said = [
        f"{' and '.join(KINDS[what].holds for what in folders).capitalize()} ({who}), made from readings {when}. "
        f"{plain_sentence(epsilon, release['delta'], ', each' if len(folders) > 1 else '')} "
        "Releases about the same households add up."
        for epsilon, folders in same.items()
    ]
    if "forecasts" in epsilons and release["forecast_protects"] == "label":
        said.append(
            f"Forecasts of {who}, made from readings {when}: they hide {UNIT_OF['class_label']}, and no reading."
        )
    return said
