"""What is expected of the releases of a configuration, for people, before anything is charged."""

from __future__ import annotations

from collections.abc import Mapping

from meterdp.groupforecast.kept import KeptGroups
from meterdp.release.gate import FEWEST_IN_GROUP, listed_meters
from meterdp.release.planned import group_public, level_in_words
from meterdp.release.worth import configured, worth_of


def statements(config: Mapping, simulated: bool) -> list[str]:
    """Return a sentence for each release of which public numbers alone tell the error.

    Feeder totals come with a standard error of each feeder, in ``feeder_errors.parquet``.

    Parameters
    ----------
    config : mapping
        The whole configuration, of releases that the gate lets pass.
    simulated : bool
    """
    release, listed, said = config["release"], listed_meters(config, simulated), []
    if listed is None:
        return said
    if "mixture" in release["what"]:
        worth = worth_of(configured(config, listed), config)
        said.append(f"Mixture of {listed:,} listed meters at epsilon {release['epsilon']:g}: {worth.in_words}.")
    households = min(release["forecast_households"] or listed, listed)
    by_readings = release["forecast_protects"] == "readings" and release["forecast_groups"] != "circuit"
    if "forecasts" in release["what"] and by_readings and households >= FEWEST_IN_GROUP:
        kept = KeptGroups.calibrate(group_public(config, households, None))
        words = level_in_words(kept.public, kept.plan)
        said.append(
            f"Forecasts for {households:,} listed meters at epsilon {release['forecast_epsilon']:g}: {words}."
        )
    return said
