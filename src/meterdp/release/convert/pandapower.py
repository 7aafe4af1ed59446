"""pandapower: a table for ``DFData`` and ``ConstControl``, MW by time step, and the loads its columns belong to."""

from __future__ import annotations

from meterdp.release.convert.profiles import LoadProfiles
from meterdp.release.convert.text import csv_bytes, utc_text

HOW = (
    '`p_mw = pandas.read_csv("p_mw.csv", index_col="time_step")`, then `ConstControl(net, "load", "p_mw", '
    "element_index=loads, profile_name=p_mw.columns, data_source=DFData(p_mw))`, where `loads` are the loads of your "
    "net that `loads.csv` names, and `run_timeseries(net, p_mw.index)`. `time_steps.csv` says when a step begins."
)


def files(profiles: LoadProfiles) -> dict[str, bytes]:
    """Return the files by name."""
    power_mw = profiles.power_kw / 1000
    stamps = zip(utc_text(profiles.interval_start_utc), profiles.local_start, strict=True)
    return {
        "p_mw.csv": csv_bytes(
            ("time_step", *profiles.names), [(step, *row) for step, row in enumerate(power_mw.T.tolist())]
        ),
        "loads.csv": csv_bytes(
            ("name", "p_mw", "q_mvar"),
            [(name, peak, 0.0) for name, peak in zip(profiles.names, power_mw.max(axis=1).tolist(), strict=True)],
        ),
        "time_steps.csv": csv_bytes(
            ("time_step", "interval_start_utc", "interval_start_local", "hours"),
            [(step, *stamp, profiles.interval_minutes / 60) for step, stamp in enumerate(stamps)],
        ),
    }
