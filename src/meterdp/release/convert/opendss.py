"""OpenDSS: one LoadShape a profile, from the columns of one CSV in kW, and a Load that follows it."""

from __future__ import annotations

from meterdp.release.convert.profiles import LoadProfiles
from meterdp.release.convert.text import csv_bytes, number

HOW = (
    "In a script, after the circuit: `Redirect loadshapes.dss`, then `Redirect loads.dss`. The loads are "
    "single-phase placeholders on the bus `homes`; give each its own bus and voltage. The first point is that "
    "of the first interval of a simulation, and shapes repeat; `UseActual=yes` makes the shapes kW."
)


def files(profiles: LoadProfiles) -> dict[str, bytes]:
    """Return the files by name."""
    power_kw = profiles.power_kw
    steps, minutes = power_kw.shape[1], number(profiles.interval_minutes)
    note = f"! {profiles.guarantee}\n! First interval: {profiles.local_start[0]}\n"
    shapes = "".join(
        f"New LoadShape.{name} npts={steps} minterval={minutes} "
        f"mult=(file=power_kw.csv, col={column}, header=yes) UseActual=yes\n"
        for column, name in enumerate(profiles.names, start=1)
    )
    loads = "".join(
        f"New Load.{name} bus1=homes.1 phases=1 kV=0.23 kW={number(peak)} pf=1 model=1 "
        f"yearly={name} daily={name} duty={name}\n"
        for name, peak in zip(profiles.names, power_kw.max(axis=1), strict=True)
    )
    return {
        "power_kw.csv": csv_bytes(profiles.names, power_kw.T.tolist()),
        "loadshapes.dss": (note + shapes).encode(),
        "loads.dss": (note + loads).encode(),
    }
