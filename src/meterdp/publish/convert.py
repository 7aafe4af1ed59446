"""Released profiles as other tools want them: a folder with their files, the manifest of the release, and a page.

What is converted is what was released: the checksums of the manifest are compared, bytes are read once, and names are
those of the release (random ids of forecast files, numbers of synthetic profiles). Each tool is one function and a
line in ``TOOLS``; CSV files hold numbers that read back as the same numbers.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.core.job import progress
from meterdp.core.stamps import local_text
from meterdp.errors import InputError
from meterdp.profiles.vector import is_working_day
from meterdp.publish.kinds import KINDS, is_of_a_household
from meterdp.publish.received import MANIFEST, RELEASED, checked, expected_error, read_manifest
from meterdp.publish.tables import RELEASED_PROFILES


@dataclass(frozen=True)
class LoadProfiles:
    """Load profiles of equal length."""

    names: tuple[str, ...]  # (n,), of letters, digits and _; they begin with a letter, as tools demand
    energy_kwh: np.ndarray  # (n, T), within the public bounds of the release
    interval_start_utc: np.ndarray  # (T,) datetime64[s], evenly spaced
    interval_minutes: int
    time_zone: str  # where the households live
    dated: str  # where the stamps come from
    guarantee: str  # the sentence of the release
    manifest: Mapping  # its text fit for a page
    manifest_as_it_was: bytes

    @property
    def power_kw(self) -> np.ndarray:
        """Mean power of each interval, (n, T), kW."""
        return self.energy_kwh * (60 / self.interval_minutes)

    @property
    def end_utc(self) -> np.datetime64:
        return self.interval_start_utc[-1] + np.timedelta64(self.interval_minutes, "m")

    @property
    def local_start(self) -> list[str]:
        """Starts of the intervals as local ISO 8601 text with the offset from UTC, (T,)."""
        return local_text(self.interval_start_utc, self.time_zone)


def read_release(folder, day: date | None = None) -> LoadProfiles:
    """Read the synthetic profiles or the forecasts of a released folder, such as ``results/release/mixture``.

    Synthetic profiles have hours but no day; they begin on ``day``, or else on that the release says they are of
    (``profiles.date``), or on the first of its period. Forecasts have their own stamps. Refused if the folder is no
    release, is marked not for release, or differs from its manifest; or if ``day`` does not fit.
    """
    folder = Path(folder)
    raw, manifest = read_manifest(folder)
    try:
        return _profiles_of(folder, raw, manifest, day)
    except (
        OSError,
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
    ):  # words and files of whoever made the folder
        raise InputError(
            f"holds files that do not go with its {MANIFEST}", file=folder, hint="copy the released folder again"
        ) from None


def _profiles_of(folder: Path, raw: bytes, manifest: Mapping, day: date | None) -> LoadProfiles:
    digests = manifest["sha256"]
    if Path(RELEASED_PROFILES.file_name).name in digests:
        return _synthetic(folder, raw, manifest, day)
    if day is not None and "time" in manifest:
        raise InputError("holds forecasts, whose day is known", file=folder, hint="leave --date out")
    beside = {Path(table.file_name).name for table in KINDS["forecasts"].sometimes}
    names = sorted(name for name in digests if name.endswith(".parquet") and name not in beside)
    # Names end up in scripts, so none but those a release gives are taken.
    if not names or not all(map(is_of_a_household, names)):
        raise InputError("holds neither synthetic profiles nor forecasts", file=folder, hint=RELEASED)
    return _forecasts(folder, raw, names, manifest)


def _read(folder: Path, name: str, manifest: Mapping):
    data, guarantee = checked(folder, name, manifest)
    return pq.read_table(pa.BufferReader(data)), guarantee


def _synthetic(folder: Path, raw: bytes, manifest: Mapping, day: date | None) -> LoadProfiles:
    rows, guarantee = _read(folder, Path(RELEASED_PROFILES.file_name).name, manifest)
    public, period = manifest["public_parameters"], manifest["period"]
    numbers = rows["profile"].to_pylist()
    width = len(str(max(numbers)))
    rules, zone = public["profiles"], public["export"]["time_zone"]
    dated = "was asked for with --date"
    if day is None:
        own = rules["date"] != "auto"
        day = date.fromisoformat(rules["date"] if own else period[0])
        dated = "is the one the release says they are of" if own else "is the first of the period of the release"
        if rules.get("vector") == "typical_day":
            day = next(d for n in range(7) if is_working_day(d := day + timedelta(n)))
            dated = "is the first working day from the period of the release on"
    energy_kwh = np.array(rows["energy_kwh"].to_pylist())
    return _profiles(
        tuple(f"profile_{number:0{width}d}" for number in numbers),
        energy_kwh,
        hours_of_day(day, rules["start_hour"], energy_kwh.shape[1], zone),
        60,
        zone,
        f"synthetic profiles have hours but no day; the day {dated}",
        guarantee,
        manifest,
        raw,
        least_kwh=rules["clip_kwh_per_hour"][0],
    )


def _forecasts(folder: Path, raw: bytes, names: list[str], manifest: Mapping) -> LoadProfiles:
    energy_kwh, stated = [], manifest["time"]
    for name in progress(names, "forecasts"):
        rows, guarantee = _read(folder, name, manifest)
        # Files that hide whom they belong to have one number, a group forecast its mean.
        column = "released_kwh" if "released_kwh" in rows.column_names else "expected_kwh"
        energy_kwh.append(rows[column].to_numpy())
    # The same in every file of a folder.
    start = rows["interval_start_utc"].cast("int64").to_numpy().astype("datetime64[us]").astype("datetime64[s]")
    return _profiles(
        tuple(f"home_{name.removesuffix('.parquet')}" for name in names),
        np.array(energy_kwh),
        start,
        stated["interval_minutes"],
        stated["zone"],
        "the intervals forecast",
        guarantee,
        manifest,
        raw,
        least_kwh=manifest["clipped_to_kwh"][0],
    )


def _profiles(names, energy_kwh, start, minutes, *words, least_kwh: float) -> LoadProfiles:
    """Check what every tool relies on."""
    if not (np.isfinite(energy_kwh).all() and (energy_kwh >= least_kwh).all()):
        raise ValueError("a released file holds an energy that is below its public bound or not finite")
    profiles = LoadProfiles(names, energy_kwh, start, minutes, *words)
    even = (np.diff(start) == np.timedelta64(minutes, "m")).all() and minutes > 0
    if energy_kwh.shape != (len(names), len(profiles.local_start)) or not even:
        raise ValueError("the stamps of a released file are not those of its energies")
    return profiles


def hours_of_day(day: date, start_hour: int, hours: int, time_zone: str) -> np.ndarray:
    """Return the UTC starts of consecutive local hours from ``start_hour`` of a day on, (hours,) datetime64[s].

    Refused if the clock changes within these hours: then an hour of the day is missing or comes twice.
    """
    zone = ZoneInfo(time_zone)
    first = datetime.combine(day, time(), zone) + timedelta(hours=start_hour)  # of the wall clock
    wall = [first + timedelta(hours=h) for h in range(hours + 1)]
    utc = np.array([w.astimezone(UTC).replace(tzinfo=None) for w in wall], "datetime64[s]")
    if (np.diff(utc) != np.timedelta64(1, "h")).any():
        raise InputError(
            "has a clock change within the hours of the profiles", field="--date", hint="choose another day"
        )
    return utc[:-1]


def number(value: float) -> str:
    """Return the shortest text without an exponent that reads back as the same float."""
    return np.format_float_positional(value, trim="-")


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence]) -> bytes:
    """Return rows under a header; floats by :func:`number`, text as it is."""
    lines = [",".join(header)]
    lines += [",".join(number(v) if isinstance(v, float) else str(v) for v in row) for row in rows]
    return "".join(f"{line}\n" for line in lines).encode()


def utc_text(stamps: np.ndarray) -> list[str]:
    """Return stamps as ``2025-11-17 08:15:00``, UTC."""
    return [text.replace("T", " ") for text in np.datetime_as_string(np.atleast_1d(stamps), "s")]


GRIDLABD_HOW = (
    "`gridlabd loads.glm`, or take its `load` objects into a model of your own. They are single-phase placeholders "
    "at constant power on one meter, `homes`. Stamps are UTC and the clock is set so; the clock stops where the last "
    "interval ends, since a player holds its last value."
)


def gridlabd_files(profiles: LoadProfiles) -> dict[str, bytes]:
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


OPENDSS_HOW = (
    "In a script, after the circuit: `Redirect loadshapes.dss`, then `Redirect loads.dss`. The loads are "
    "single-phase placeholders on the bus `homes`; give each its own bus and voltage. The first point is that "
    "of the first interval of a simulation, and shapes repeat; `UseActual=yes` makes the shapes kW."
)


def opendss_files(profiles: LoadProfiles) -> dict[str, bytes]:
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


PANDAPOWER_HOW = (
    '`p_mw = pandas.read_csv("p_mw.csv", index_col="time_step")`, then `ConstControl(net, "load", "p_mw", '
    "element_index=loads, profile_name=p_mw.columns, data_source=DFData(p_mw))`, where `loads` are the loads of your "
    "net that `loads.csv` names, and `run_timeseries(net, p_mw.index)`. `time_steps.csv` says when a step begins."
)


def pandapower_files(profiles: LoadProfiles) -> dict[str, bytes]:
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


LAYOUT = "1.2.4"  # version of PyPSA whose layout this is; later ones know how to read it

PYPSA_HOW = (
    '`network = pypsa.Network(); network.import_from_csv_folder("...")`. The loads are on the placeholder bus '
    "`homes`. Snapshots are the starts of the intervals in UTC; their weightings are the hours of an interval."
)


def pypsa_files(profiles: LoadProfiles) -> dict[str, bytes]:
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


@dataclass(frozen=True)
class Tool:
    """One tool: what makes its files by name, and how to load them, in Markdown."""

    title: str
    files: Callable[[LoadProfiles], dict[str, bytes]]
    how: str


TOOLS = {
    "opendss": Tool("OpenDSS", opendss_files, OPENDSS_HOW),
    "pypsa": Tool("PyPSA", pypsa_files, PYPSA_HOW),
    "pandapower": Tool("pandapower", pandapower_files, PANDAPOWER_HOW),
    "gridlabd": Tool("GridLAB-D", gridlabd_files, GRIDLABD_HOW),
}


PROVENANCE = "release_manifest.json"


def converted(profiles: LoadProfiles, tool: Tool) -> dict[str, bytes]:
    """Return the files of a folder for ``tool`` by name: its own, the manifest of the release and a page."""
    manifest = profiles.manifest
    privacy, simulated = manifest["privacy"], " The households are simulated." if manifest["simulated_data"] else ""
    hides, does_not_hide = ("\n".join(f"- {s}" for s in privacy[k]) for k in ("hides", "does_not_hide"))
    count, steps = profiles.energy_kwh.shape
    error = expected_error(manifest)
    expected = f"**How far they are off:** {error}.\n\n" if error else ""
    page = f"""# Load profiles for {tool.title}

{count:,} load profiles in {steps} intervals of {profiles.interval_minutes} minutes from {profiles.local_start[0]} on
({profiles.time_zone}; {profiles.dated}).
They are the released ones in other units: the mean power of each interval is its energy over its length.{simulated}

{tool.how}

{expected}**What protects the households:** {profiles.guarantee}.

What is protected:
{hides}

What it does not hide:
{does_not_hide}

`{PROVENANCE}` is the manifest of the release these files were made from, as it was released; making them took
nothing else and costs no privacy.
"""
    return {**tool.files(profiles), PROVENANCE: profiles.manifest_as_it_was, "README.md": page.encode()}


def write_folder(files: Mapping[str, bytes], folder) -> None:
    """Write a folder that appears whole or not at all, where nothing is yet."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("is there already", file=folder, hint="name a folder that is empty or not there")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as staging:
            whole = Path(staging) / "whole"
            whole.mkdir()
            for name, data in files.items():
                (whole / name).write_bytes(data)
            os.replace(whole, folder)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror or type(error).__name__})",
            file=folder,
            hint="free disk space or correct the permissions and run again",
        ) from None
