"""What the settings of a release must be before anything is charged: public settings alone, never a record."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from meterdp.errors import InputError
from meterdp.households.columns import FEWEST_DAYS
from meterdp.ingest.meter_list import read_meter_list
from meterdp.pages.numbers import significant
from meterdp.privacy.guarantee import Guarantee, PrivacyBudget
from meterdp.privacy.periods import PERIODS, Interval, covers, day_of, days_of, interval_of, overlap
from meterdp.privacy.policy import refused

SIMULATED = "simulated households"
# National means of homes reach from one kWh a day to about 50 where heating is electric.
COMMON_DAILY_KWH = (1, 100)
_PERIOD_NEEDED = "a release needs a public period: without one a single stray stamp shifts every record"
_NEEDED = {
    "export.meters": "a release needs a public list of meters: without one the number of households is private",
    "export.first_day": _PERIOD_NEEDED,
    "export.last_day": _PERIOD_NEEDED,
    "export.time_zone": "a release needs to know when a day and a budget period begin",
    "release.population": "the ledger needs a public name of the households",
    "release.budget_period": "the ledger needs to know how long a budget lasts",
}


def last_days(config: Mapping) -> int | None:
    """Return the fewest days at the end of the period that a release is about; None if all are about all of it."""
    from meterdp.groupforecast.plan import WINDOW_DAYS

    days = {"feeders": config["release"]["feeder_days"], "forecasts": WINDOW_DAYS}
    about = [days[what] for what in config["release"]["what"] if what in days]
    return min(about, default=None)


def check_settings(config: Mapping, simulated: bool) -> None:
    """Refuse a configuration from which nothing may be released, naming the first setting that does not do.

    A simulated export brings its list, its period and its name.
    """
    for refusal in refusals_of(config, simulated):
        raise refusal


def refusals_of(config: Mapping, simulated: bool) -> Iterator[InputError]:
    """Yield what :func:`check_settings` refuses, every setting that does not do."""
    export, release = config["export"], config["release"]
    if not simulated:
        for field, need in _NEEDED.items():
            section, key = field.split(".")
            if config[section][key] is None:
                yield refused(field, f"is not set: {need}", "set it, see config/README.md")
        if (export["format"], export["wide_layout"]) == ("wide_csv", "meters"):  # as reading it says, later
            problem = "cannot be used with a column per meter, where one bad cell spoils the row for all meters"
            yield refused("export.meters", problem, "export a row per reading, or per meter and day")
    for what in release["what"]:
        if what in _REFUSALS:
            yield from _REFUSALS[what](config, simulated)
    named = (export["first_day"], export["last_day"], export["time_zone"], release["budget_period"])
    if None not in named:
        try:
            touched_periods(config)
        except InputError as error:
            yield error
    if release["delta"] > release["cap_delta"]:
        problem = f"is {release['delta']:g}, larger than release.cap_delta = {release['cap_delta']:g}"
        yield refused("release.delta", problem, "use a smaller delta")


def _forecasts(config: Mapping, simulated: bool) -> Iterator[InputError]:
    beside = [what for what in config["release"]["what"] if what != "forecasts"]
    if config["release"]["forecast_protects"] == "label" and beside:
        yield refused(
            "release.forecast_protects",
            f"is 'label' together with {' and '.join(beside)}: label-only and reading-level releases cannot share a "
            "budget period",
            "choose one of them in release.what",
        )


def _feeders(config: Mapping, simulated: bool) -> Iterator[InputError]:
    export, release = config["export"], config["release"]
    if release["feeder_typical_daily_kwh"] is None and not simulated:
        yield refused(
            "release.feeder_typical_daily_kwh",
            "is not set: the bounds of feeder totals need a public level",
            "set it to what a meter uses a day according to public statistics",
        )
    most_kwh = 24 * config["profiles"]["clip_kwh_per_hour"][1]
    if (release["feeder_typical_daily_kwh"] or 0) > most_kwh:
        yield refused(
            "release.feeder_typical_daily_kwh",
            f"is {release['feeder_typical_daily_kwh']:g}, but profiles.clip_kwh_per_hour allows no meter more than "
            f"{most_kwh:g} kWh a day",
            "give the energy of a day, not of a month or a year",
        )
    if export["first_day"] and export["last_day"]:
        days = (date.fromisoformat(export["last_day"]) - date.fromisoformat(export["first_day"])).days + 1
        if days < release["feeder_days"]:
            yield refused(
                "release.feeder_days",
                f"is {release['feeder_days']}, more than the {days} days of the period",
                "use fewer days, or a longer period",
            )


def to_check(config: Mapping) -> list[str]:
    """Say what to look at before a release is charged, though nothing is refused."""
    release, said = config["release"], []
    unnamed = [f"release.{key}" for key in ("publisher", "licence") if release[key] is None]
    if "release.licence" in unnamed and config["export"]["path"] is not None:
        are = f"{' and '.join(unnamed)} {'are' if len(unnamed) > 1 else 'is'} not set"
        said.append(f"To be checked: {are}: whoever gets the files cannot tell whether they may use them")
    meters = config["export"]["meters"]
    if meters is not None and Path(meters).exists():
        said += [f"To be checked: {one}" for one in read_meter_list(meters).to_check]
    if single := _of_single_meters(meters):
        said.append(
            f"To be checked: the list of meters has a different entry for nearly every meter ({', '.join(single)}): "
            "all of it is public, so leave out addresses, account numbers and the like"
        )
    daily_kwh, (low, high) = release["feeder_typical_daily_kwh"], COMMON_DAILY_KWH
    if "feeders" not in release["what"] or daily_kwh is None or low <= daily_kwh <= high:
        return said
    return [
        *said,
        f"To be checked: release.feeder_typical_daily_kwh is {daily_kwh:g}, but homes use {low:g} to {high:g} kWh a "
        "day on average; if it is the energy of a month or a year, divide it by the number of days",
    ]


def _of_single_meters(path) -> list[str]:
    """Return the columns of a list in which most entries are of one meter alone."""
    if path is None or not Path(path).exists():
        return []
    said_of = read_meter_list(path).said_of
    return [name for name, of in said_of.items() if 2 * len(set(of.values())) > len(of)]


def _households(config: Mapping, simulated: bool) -> Iterator[InputError]:
    export = config["export"]
    if export["first_day"] and export["last_day"]:
        days = (date.fromisoformat(export["last_day"]) - date.fromisoformat(export["first_day"])).days + 1
        if days < FEWEST_DAYS:
            yield refused(
                "export.last_day",
                f"makes a period of {days} days, but households need {FEWEST_DAYS}, eight weeks",
                "use a longer period, or leave households out of release.what",
            )
    elif simulated:
        yield refused("export.first_day", "is not set: households need a period", "set first_day and last_day")


# Of the settings of each kind of release that has any to refuse.
_REFUSALS = {"forecasts": _forecasts, "feeders": _feeders, "households": _households}


def check_meters(known: Sequence[str], listed: Sequence[str], records: int) -> None:
    """Refuse records that were made without the public list, such as an earlier study's."""
    if list(known) != list(listed) or records != len(listed):
        raise refused("export.meters", "is not the list the profiles were made with", "delete results/private")


def touched_periods(config: Mapping) -> tuple[Interval, ...]:
    """Return the budget periods that the readings of a release are in, in UTC.

    Refused if a day is in none of them, or the time zone is not known.
    """
    export, named = config["export"], config["release"]["budget_period"]
    first, last, zone = export["first_day"], export["last_day"], export["time_zone"]
    try:
        days = interval_of(day_of(first), day_of(last), zone or "")
    except OverflowError:
        raise refused("export.last_day", "is the last day that dates can express", "use an earlier day") from None
    except ValueError:
        raise refused(
            "export.time_zone", "is not set", "name the time zone of the homes, such as Europe/London"
        ) from None
    try:
        periods = [interval_of(*span, zone) for span in days_of(named)]
    except (OverflowError, ValueError):
        raise refused("release.budget_period", "is not a period of time", f"write {PERIODS}") from None
    if not covers(periods, days):
        raise refused(
            "release.budget_period",
            f"does not cover all days from {first} to {last}",
            f"name the period they are in: {PERIODS}, or several of them separated by commas",
        )
    return tuple(period for period in periods if overlap(period, days))


def budget_of(guarantee: Guarantee, config: Mapping, simulated: bool) -> PrivacyBudget:
    """Return whose privacy a release spends."""
    release = config["release"]
    names = [release[key] or (SIMULATED if simulated else None) for key in ("population", "budget_period")]
    return PrivacyBudget(guarantee.unit, guarantee.adjacency, *map(public_name, names))


def public_name(name: str) -> str:
    """Return a name as the ledger knows it: capitals and blanks make no new population."""
    return " ".join(name.split()).casefold()


def plain_sentence(epsilon: float, delta: float, covers: str = "") -> str:
    """Return in plain words what differential privacy for the readings of one meter means.

    ``covers`` says after the numbers which files they are of.
    """
    # e^epsilon overflows, and as a factor it says no more.
    factor = math.exp(epsilon) if epsilon < 700 else math.inf
    return (
        "This is a mathematical guarantee, differential privacy with epsilon "
        f"{epsilon:g} and delta {delta:g}{covers}: "
        f"the probability of any set of results is at most {significant(factor)} times what it would be with other "
        f"readings of any one meter, plus {delta:g}, whatever else somebody knows."
    )
