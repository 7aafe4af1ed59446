"""What can be released: one entry each, from which rules, checks and file lists follow; light, as plans read it.

What releases it is a module of its name beside this one, listed in :mod:`meterdp.release.asked`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from meterdp.core.tables import Table
from meterdp.errors import InputError
from meterdp.privacy.policy import refused
from meterdp.release.tables import (
    RELEASED_FEEDER_ERRORS,
    RELEASED_FEEDERS,
    RELEASED_FORECAST,
    RELEASED_MIXTURE,
    RELEASED_PROFILES,
)

MANIFEST, README = "manifest.json", "README.md"
# Beside them in every folder: what it says of itself to archives (RO-Crate) and to the registry of deployments. No
# outputs of a rule, because a ledger publishes what an earlier version stored without them.
CRATE, ENTRY = "ro-crate-metadata.json", "registry_entry.yaml"


@dataclass(frozen=True)
class Kind:
    """One kind of release.

    ``tables`` are those of its Parquet files, ``other_files`` beside them; every folder has a manifest and a page as
    well. ``for_each_household`` if a household has files of its own, under a random name. ``refusals`` are of its
    settings, from (config, simulated).
    """

    tables: tuple[Table, ...]
    refusals: Callable[[Mapping, bool], Iterator[InputError]]
    other_files: tuple[str, ...] = ()
    for_each_household: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """Files of its folder, those of single households left out."""
        tables = () if self.for_each_household else tuple(t.file_name.rpartition("/")[2] for t in self.tables)
        return (*tables, *self.other_files, MANIFEST, README)


def refusals(config: Mapping, simulated: bool) -> Iterator[InputError]:
    """Yield what is refused of the settings of all that a configuration asks to release."""
    for what in config["release"]["what"]:
        yield from KINDS[what].refusals(config, simulated)


def _mixture(config: Mapping, simulated: bool) -> Iterator[InputError]:
    if config["mechanisms"]["sound"]["adjacency"] != "replace_one":
        yield refused(
            "mechanisms.sound.adjacency",
            "is add_remove: with a public list of meters who is in it is no secret",
            "set it to replace_one",
        )
    if config["federation"]["by"] is not None and config["federation"]["scheme"] == "subspace":
        yield refused(
            "federation.scheme",
            "is 'subspace', whose masks are no whole numbers, so that sums between circuits are not exact",
            "set it to edge_masks",
        )


def _forecasts(config: Mapping, simulated: bool) -> Iterator[InputError]:
    beside = [what for what in config["release"]["what"] if what != "forecasts"]
    if config["release"]["forecast_protects"] == "label" and beside:
        yield refused(
            "release.forecast_protects",
            f"is 'label' beside {' and '.join(beside)}: label-only and reading-level releases cannot share a budget "
            "period",
            "choose one of them, by release.what",
        )


def _feeders(config: Mapping, simulated: bool) -> Iterator[InputError]:
    from datetime import date

    export, release = config["export"], config["release"]
    if release["feeder_typical_daily_kwh"] is None and not simulated:
        yield refused(
            "release.feeder_typical_daily_kwh",
            "is not set: the bounds of feeder totals need a public level",
            "set it to what a meter uses a day by public statistics",
        )
    if export["first_day"] and export["last_day"]:
        days = (date.fromisoformat(export["last_day"]) - date.fromisoformat(export["first_day"])).days + 1
        if days < release["feeder_days"]:
            yield refused(
                "release.feeder_days",
                f"is {release['feeder_days']}, more than the {days} days of the period",
                "use fewer days, or a longer period",
            )


KINDS: Mapping[str, Kind] = {
    "mixture": Kind((RELEASED_MIXTURE, RELEASED_PROFILES), _mixture, ("mixture.json",)),
    "forecasts": Kind((RELEASED_FORECAST,), _forecasts, for_each_household=True),
    "feeders": Kind((RELEASED_FEEDERS, RELEASED_FEEDER_ERRORS), _feeders, ("feeders.csv",)),
}
