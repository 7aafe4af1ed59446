"""PyPSA: a folder for ``Network.import_from_csv_folder``, one load a profile on one bus, MW at snapshots in UTC."""

from __future__ import annotations

from meterdp.release.convert.profiles import LoadProfiles
from meterdp.release.convert.text import csv_bytes, utc_text

LAYOUT = "1.2.4"  # version of PyPSA whose layout this is; later ones know how to read it

HOW = (
    '`network = pypsa.Network(); network.import_from_csv_folder("...")`. The loads are on the placeholder bus '
    "`homes`. Snapshots are the starts of the intervals in UTC; their weightings are the hours of an interval."
)


def files(profiles: LoadProfiles) -> dict[str, bytes]:
    """Return the files by name."""
    snapshots, hours = utc_text(profiles.interval_start_utc), profiles.interval_minutes / 60
    power_mw = (profiles.power_kw / 1000).T.tolist()
    return {
        "network.csv": csv_bytes(("name", "pypsa_version"), [("homes", LAYOUT)]),
        "snapshots.csv": csv_bytes(
            ("", "snapshot", "objective", "stores", "generators"),
            [(i, s, hours, hours, hours) for i, s in enumerate(snapshots)],
        ),
        "buses.csv": csv_bytes(("name", "carrier", "v_nom"), [("homes", "AC", 0.4)]),
        "carriers.csv": csv_bytes(("name",), [("AC",)]),
        "loads.csv": csv_bytes(("name", "bus"), [(name, "homes") for name in profiles.names]),
        "loads-p_set.csv": csv_bytes(("", *profiles.names), [(i, *row) for i, row in enumerate(power_mw)]),
    }
