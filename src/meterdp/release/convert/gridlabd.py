"""GridLAB-D: a player file a profile, W at stamps in UTC, and a model in which loads play them."""

from __future__ import annotations

from meterdp.release.convert.profiles import LoadProfiles
from meterdp.release.convert.text import number, utc_text

HOW = (
    "`gridlabd loads.glm`, or take its `load` objects into a model of your own. They are single-phase placeholders "
    "at constant power on one meter, `homes`. Stamps are UTC and the clock is set so; the clock stops where the last "
    "interval ends, since a player holds its last value."
)


def files(profiles: LoadProfiles) -> dict[str, bytes]:
    """Return the files by name."""
    start = utc_text(profiles.interval_start_utc)
    power_w = profiles.power_kw * 1000
    players = {
        f"{name}.player": "".join(f"{s} UTC,{number(w)}\n" for s, w in zip(start, row, strict=True)).encode()
        for name, row in zip(profiles.names, power_w.tolist(), strict=True)
    }
    model = f"""// {profiles.guarantee}
// First interval: {profiles.local_start[0]}
clock {{
    timezone UTC0;
    starttime '{start[0]} UTC';
    stoptime '{utc_text(profiles.end_utc)[0]} UTC';
}}
module tape;
module powerflow {{
    solver_method NR;
}}
object meter {{
    name homes;
    bustype SWING;
    phases AN;
    nominal_voltage 230;
}}
"""
    for name in profiles.names:
        model += f"""object load {{
    name {name};
    parent homes;
    phases AN;
    nominal_voltage 230;
    object player {{
        property constant_power_A.real;
        file {name}.player;
    }};
}}
"""
    return {"loads.glm": model.encode(), **players}
