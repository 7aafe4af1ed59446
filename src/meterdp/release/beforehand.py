"""What is expected of the releases of a configuration, before anything is charged, and which are not worth it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from meterdp.errors import InputError
from meterdp.groupforecast.kept import KeptGroups
from meterdp.ingest.meter_list import read_meter_list
from meterdp.privacy.policy import FEWEST_HOUSEHOLDS, FEWEST_IN_GROUP
from meterdp.release import worth
from meterdp.release.planned import group_public, level_in_words


def refusals(config: Mapping, simulated: bool) -> Iterator[InputError]:
    """Yield why releases of a configuration are not worth their epsilon, as far as public numbers tell.

    Parameters
    ----------
    config : mapping
        The whole configuration, of releases that the gate lets pass.
    simulated : bool
    """
    listed = _listed(config, simulated)
    if listed is not None and listed >= FEWEST_HOUSEHOLDS:
        yield from worth.refusals(config, listed)


def statements(config: Mapping, simulated: bool) -> list[str]:
    """Return a sentence for each release of which public numbers alone tell the error.

    Feeder totals come with a standard error of each feeder, in ``feeder_errors.parquet``.

    Parameters
    ----------
    config : mapping
        The whole configuration, of releases that the gate lets pass.
    simulated : bool
    """
    release, listed, said = config["release"], _listed(config, simulated), []
    if listed is None:
        return said
    if "mixture" in release["what"]:
        expected = worth.worth_of(worth.configured(config, listed), config)
        said.append(f"Mixture of {listed:,} listed meters at epsilon {release['epsilon']:g}: {expected.in_words}.")
    households = min(release["forecast_households"] or listed, listed)
    by_readings = release["forecast_protects"] == "readings" and release["forecast_groups"] != "circuit"
    if "forecasts" in release["what"] and by_readings and households >= FEWEST_IN_GROUP:
        kept = KeptGroups.calibrate(group_public(config, households, None))
        words = level_in_words(kept.public, kept.plan)
        said.append(
            f"Forecasts for {households:,} listed meters at epsilon {release['forecast_epsilon']:g}: {words}."
        )
    return said


def _listed(config: Mapping, simulated: bool) -> int | None:
    """Return the number of meters of the public list; None if there is none that can be read."""
    if simulated:
        return config["simulate"]["households"]
    try:
        return len(read_meter_list(config["export"]["meters"]).meter_ids)
    except (InputError, TypeError):
        return None
