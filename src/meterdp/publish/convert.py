"""Released profiles as other tools want them: a folder with their files, the manifest of the release, and a page.

What is converted is what was released: the checksums of the manifest are compared, bytes are read once, and names are
those of the release (random ids of households, numbers of synthetic profiles). Readings that were drawn from
released households carry the manifest of that release. Each tool is one function and a line in ``TOOLS``; CSV files
hold numbers that read back as the same numbers, those of drawn readings to a milliwatt. Files are made while they are
written, so that years of many homes need not fit into memory.
"""

from __future__ import annotations

import csv
import io
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain, count
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.core.job import progress
from meterdp.core.parquet import read_row_groups
from meterdp.core.stamps import local_text
from meterdp.core.tables import Table
from meterdp.core.weekend import Weekend
from meterdp.errors import InputError, unwritable
from meterdp.households.tables import DRAWN_READINGS
from meterdp.publish.received import (
    MANIFEST,
    RELEASED,
    before_use,
    checked,
    expected_error,
    read_manifest,
    read_passed_on,
)
from meterdp.publish.tables import (
    RELEASED_FEEDERS,
    RELEASED_FORECASTS,
    RELEASED_HOUSEHOLDS,
    RELEASED_PROFILES,
    RELEASED_READINGS,
    RELEASED_RECIPIENTS,
)

# The most readings that are drawn and converted: 2 GB of text, more than the tools read in one go.
MOST_READINGS = 200_000_000
# Intervals of a block, of which all homes are in memory at once.
_BLOCK = 512
# Month and day of days on which hardly anybody works, in countries of whose public holidays a release says nothing.
_SELDOM_WORKED = {(1, 1), (12, 24), (12, 25), (12, 26), (12, 31)}


@dataclass(frozen=True)
class Unit:
    """A unit of power: how much of it a kilowatt is, and how many decimals a milliwatt has."""

    of_kw: float
    decimals: int


W, KW, MW = Unit(1e3, 3), Unit(1.0, 6), Unit(1e-3, 9)


@dataclass(frozen=True)
class LoadProfiles:
    """Load profiles of equal length."""

    names: tuple[str, ...]  # (n,), of letters, digits and _; they begin with a letter, as tools demand
    energy_kwh: np.ndarray  # (n, T), within the public bounds of the release; may lie on disk
    interval_start_utc: np.ndarray  # (T,) datetime64[s], evenly spaced
    interval_minutes: int
    time_zone: str  # where the households live
    dated: str  # where the stamps come from
    guarantee: str  # the sentence of the release
    manifest: Mapping  # its text fit for a page
    manifest_as_it_was: bytes
    drawn: bool = False  # from released households
    circuits: tuple[str, ...] = ()  # (n,), of forecasts by circuit

    def power(self, energy_kwh: np.ndarray, unit: Unit) -> np.ndarray:
        """Return the mean power of intervals of some energy, to a milliwatt if it was drawn."""
        power = energy_kwh * (60 / self.interval_minutes) * unit.of_kw
        return np.round(power, unit.decimals) if self.drawn else power

    def power_of_homes(self, unit: Unit) -> Iterator[tuple[str, list[float]]]:
        """Yield the name and the power (T,) of every home."""
        for name, row in zip(self.names, self.energy_kwh, strict=True):
            yield name, self.power(row, unit).tolist()

    def power_of_steps(self, unit: Unit) -> Iterator[tuple[int, list[float]]]:
        """Yield the number, from 0, and the power of all homes (n,) of every interval."""
        for begin in range(0, self.energy_kwh.shape[1], _BLOCK):
            block = self.power(self.energy_kwh[:, begin : begin + _BLOCK], unit)
            yield from enumerate(block.T.tolist(), begin)

    def highest_power(self, unit: Unit) -> list[tuple[str, float]]:
        """Return the name and the highest power of every home."""
        return list(zip(self.names, self.power(self.energy_kwh.max(axis=1), unit).tolist(), strict=True))

    @property
    def end_utc(self) -> np.datetime64:
        return self.interval_start_utc[-1] + np.timedelta64(self.interval_minutes, "m")

    @property
    def local_start(self) -> list[str]:
        """Starts of the intervals as local ISO 8601 text with the offset from UTC, (T,)."""
        return local_text(self.interval_start_utc, self.time_zone)


def read_release(folder, day: date | None = None) -> LoadProfiles:
    """Read the synthetic profiles or the forecasts of a released folder, such as ``results/release/mixture``.

    Or the readings in a file that ``meterdp households draw`` wrote. Synthetic profiles have hours but no day; they
    begin on ``day``, or else on that the release says they are of (``profiles.date``), or on the first of its period;
    those of a typical working day on the first that is one, as far as is known.
    Forecasts and readings have their own stamps. Refused if the folder is no release, is marked not for release, or
    differs from its manifest; if a file does not carry one; or if ``day`` does not fit.
    """
    folder = Path(folder)
    if folder.is_file():
        return _drawn(folder, day)
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
            f"holds files that do not belong to its {MANIFEST}", file=folder, hint="copy the released folder again"
        ) from None


def _profiles_of(folder: Path, raw: bytes, manifest: Mapping, day: date | None) -> LoadProfiles:
    digests = manifest["sha256"]
    if Path(RELEASED_PROFILES.file_name).name in digests:
        return _synthetic(folder, raw, manifest, day)
    if day is not None and "time" in manifest:
        raise InputError("holds forecasts, whose day is known", file=folder, hint="leave --date out")
    if (readings := Path(RELEASED_READINGS.file_name).name) in digests:
        if day is not None:
            raise InputError("holds readings, whose days are known", file=folder, hint="leave --date out")
        _, guarantee = checked(folder, readings, manifest)
        drawn = _drawn_readings(folder / readings, RELEASED_READINGS)
        return _of_readings(folder / readings, drawn, raw, manifest, guarantee)
    if Path(RELEASED_HOUSEHOLDS.file_name).name in digests:
        hint = "draw some with `meterdp households draw`, and convert the file"
        raise InputError("holds households whose readings have not been drawn yet", file=folder, hint=hint)
    if Path(RELEASED_FEEDERS.file_name).name in digests:
        hint = "read feeders.csv or feeders.parquet as they are"
        raise InputError("holds totals of feeders, no loads of households", file=folder, hint=hint)
    if Path(RELEASED_RECIPIENTS.file_name).name in digests:
        return _forecasts(folder, raw, manifest)
    raise InputError("holds neither synthetic profiles nor forecasts", file=folder, hint=RELEASED)


def _read(folder: Path, name: str, manifest: Mapping):
    data, guarantee = checked(folder, name, manifest)
    return pq.read_table(pa.BufferReader(data)), guarantee


def _synthetic(folder: Path, raw: bytes, manifest: Mapping, day: date | None) -> LoadProfiles:
    rows, guarantee = _read(folder, Path(RELEASED_PROFILES.file_name).name, manifest)
    public, period = manifest["public_parameters"], manifest["period"]
    numbers = rows["profile"].to_pylist()
    width = len(str(max(numbers)))
    rules, zone = public["profiles"], public["export"]["time_zone"]
    asked, dated = day is not None, "was asked for with --date"
    if not asked:
        own = rules["date"] != "auto"
        day = date.fromisoformat(rules["date"] if own else period[0])
        dated = "is the one the release says they are of" if own else "is the first of the period of the release"
    if rules.get("vector") == "typical_day":
        working, found = working_day(day, Weekend.of(public["export"]), public.get("days_off"))
        if not asked:
            day, dated = working, found
        elif day != working:
            dated += ", though it is not a working day and the profiles are of working days"
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


def working_day(first: date, weekend: Weekend, days_off: Sequence[str] | None) -> tuple[date, str]:
    """Return the first day not of the weekend from a day on that is no public holiday, as far as is known, and how
    it was found.

    ``days_off`` are the public holidays that the release says there are, if any.
    """
    off = set(days_off or ())
    days = (first + timedelta(n) for n in count())
    worked = (d for d in days if d.weekday() not in weekend.days and (d.month, d.day) not in _SELDOM_WORKED)
    day = next(d for d in worked if d.isoformat() not in off)
    rule = (
        f"{weekend.working_days} of the period of the release that is not 1 January, 24 to 26 December or 31 December"
    )
    more = ", nor another public holiday it names" if off else "; other public holidays are not known"
    return day, f"is {day:%A} {day}, the first {rule}{more}"


def _forecasts(folder: Path, raw: bytes, manifest: Mapping) -> LoadProfiles:
    recipients, _ = _read(folder, Path(RELEASED_RECIPIENTS.file_name).name, manifest)
    rows, guarantee = _read(folder, Path(RELEASED_FORECASTS.file_name).name, manifest)
    stated, ids = manifest["time"], recipients["release_id"].to_pylist()
    # Names end up in scripts, so none but those a release gives are taken.
    if not all(re.fullmatch("[0-9a-f]{16}", name) for name in ids):
        raise ValueError("no random names")
    # Of forecasts that hide whom they belong to the one number there is, of a group forecast its mean.
    kwh = rows["released_kwh" if "released_kwh" in rows.column_names else "expected_kwh"].to_numpy()
    of = recipients["forecast"].to_numpy() - 1
    energy_kwh = kwh.reshape(-1, stated["steps"])[of]
    names = rows["circuit"].to_pylist()[:: stated["steps"]] if "circuit" in rows.column_names else []
    start = rows["interval_start_utc"].slice(0, stated["steps"]).cast("int64").to_numpy()
    start = start.astype("datetime64[us]").astype("datetime64[s]")
    profiles = _profiles(
        tuple(f"home_{name}" for name in ids),
        energy_kwh,
        start,
        stated["interval_minutes"],
        stated["zone"],
        "the intervals forecast",
        guarantee,
        manifest,
        raw,
        least_kwh=manifest["clipped_to_kwh"][0],
    )
    return replace(profiles, circuits=tuple(names[one] for one in of.tolist()) if len(names) > 1 else ())


def _drawn(path: Path, day: date | None) -> LoadProfiles:
    if day is not None:
        raise InputError("holds readings, whose days are known", file=path, hint="leave --date out")
    readings = _drawn_readings(path)
    return _of_readings(path, readings, *read_passed_on(path))


def _of_readings(path: Path, readings: tuple, raw: bytes, manifest: Mapping, guarantee: str) -> LoadProfiles:
    start, energy_kwh = readings
    minutes = _whole_minutes(path, start)
    try:
        zone = ZoneInfo(manifest["public_parameters"]["export"]["time_zone"]).key
    except (LookupError, TypeError, ValueError):
        raise _not_as_drawn(path, f"carries a {MANIFEST} that names no time zone") from None
    width = len(str(len(energy_kwh)))
    return LoadProfiles(
        tuple(f"household_{number:0{width}d}" for number in range(1, len(energy_kwh) + 1)),
        energy_kwh,
        start,
        minutes,
        zone,
        "the intervals drawn",
        guarantee,
        manifest,
        raw,
        drawn=True,
    )


def _drawn_readings(path: Path, table: Table = DRAWN_READINGS) -> tuple[np.ndarray, np.ndarray]:
    """Return the stamps (T,) of drawn readings and their energy (n, T), which lies on disk."""
    groups = read_row_groups(path, table)
    try:
        first, readings = next(groups), pq.read_metadata(path).num_rows
    except InputError:
        raise _not_as_drawn(path, "is not a file of drawn households") from None
    if readings > MOST_READINGS:
        raise InputError(
            f"holds {readings:,} readings, and text of more than {MOST_READINGS:,} is too large for the tools",
            file=path,
            hint="draw fewer households, or several files with different seeds",
        )
    household = first["household"].to_numpy()
    steps = int((household == household[:1]).sum())
    if steps < 2:
        raise _not_as_drawn(path, "has no two readings of a household")
    start, done = first["interval_start_utc"].to_numpy()[:steps].astype("datetime64[s]"), 0
    try:
        with tempfile.TemporaryFile() as file:
            for group in progress(chain([first], groups), f"{readings:,} readings"):
                kwh = _whole_households(path, group, start, done)
                file.write(kwh.tobytes())
                done += len(kwh)
            file.flush()
            return start, np.memmap(file, float, "r", shape=(done, steps))
    except OSError as error:
        raise InputError(
            f"cannot be read, or copied to {tempfile.gettempdir()} ({error.strerror or type(error).__name__})",
            file=path,
            hint=f"free {8 * readings / 1e9:.1f} GB there, or name another folder as TMPDIR",
        ) from None


def _whole_households(path: Path, group: pa.Table, start: np.ndarray, before: int) -> np.ndarray:
    """Return the energy of the households of a row group, (h, T); refused if they are not the next ones, whole."""
    household, stamps, kwh = (group[name].to_numpy() for name in ("household", "interval_start_utc", "energy_kwh"))
    number = before + 1 + np.arange(len(group)) // len(start)
    if len(group) % len(start) or (household != number).any():
        raise _not_as_drawn(path, "has other intervals for some households")
    if (stamps.reshape(-1, len(start)).astype("datetime64[s]") != start).any():
        raise _not_as_drawn(path, "has other intervals for some households")
    if not np.isfinite(kwh).all():
        raise _not_as_drawn(path, "has an energy that is not finite")
    return kwh.reshape(-1, len(start))


def _whole_minutes(path: Path, start: np.ndarray) -> int:
    """Return the minutes between all starts; refused if they differ or are no whole number."""
    apart = np.diff(start)
    minutes = int(apart[0] / np.timedelta64(1, "m"))
    if minutes < 1 or (apart != np.timedelta64(minutes, "m")).any():
        raise _not_as_drawn(path, "does not have one regular interval")
    return minutes


def _not_as_drawn(path: Path, problem: str) -> InputError:
    return InputError(problem, file=path, hint="convert the file as `meterdp households draw` wrote it")


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
    text = repr(value)  # three times as fast
    return np.format_float_positional(value, trim="-") if "e" in text else text.removesuffix(".0")


def text_lines(lines: Iterable[str]) -> Iterator[bytes]:
    return (f"{line}\n".encode() for line in lines)


def csv_lines(header: Sequence[str], rows: Iterable[Sequence]) -> Iterator[bytes]:
    """Yield rows under a header; floats by :func:`number`, text as it is."""
    cells = (",".join(number(v) if isinstance(v, float) else str(v) for v in row) for row in rows)
    return text_lines(chain([",".join(header)], cells))


def utc_text(stamps: np.ndarray) -> list[str]:
    """Return stamps as ``2025-11-17 08:15:00``, UTC."""
    return [text.replace("T", " ") for text in np.datetime_as_string(np.atleast_1d(stamps), "s")]


# Names and contents of files, made while they are written.
Files = Iterator[tuple[str, Iterable[bytes]]]


GRIDLABD_HOW = (
    "`gridlabd loads.glm`, or take its `load` objects into a model of your own. They are single-phase placeholders "
    "at constant power on one meter, `homes`. Stamps are UTC and the clock is set so; the clock stops where the last "
    "interval ends, since a player holds its last value."
)


def gridlabd_files(profiles: LoadProfiles) -> Files:
    start = utc_text(profiles.interval_start_utc)
    for name, power_w in profiles.power_of_homes(W):
        lines = (f"{s} UTC,{number(w)}" for s, w in zip(start, power_w, strict=True))
        yield f"{name}.player", text_lines(lines)
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
    yield "loads.glm", [model.encode()]


OPENDSS_HOW = (
    "In a script, after the circuit: `Redirect loadshapes.dss`, then `Redirect loads.dss`. The loads are "
    "single-phase placeholders on the bus `homes`; give each its own bus and voltage. The first point is that "
    "of the first interval of a simulation, and shapes repeat; `UseActual=yes` makes the shapes kW."
)


def opendss_files(profiles: LoadProfiles) -> Files:
    """A file for each shape: of a file of all shapes, OpenDSS would read the whole for every one of them.

    Years of 200 homes are read in 1 s; it was 136 s.
    """
    for name, power_kw in profiles.power_of_homes(KW):
        yield f"{name}.csv", text_lines(map(number, power_kw))
    steps, minutes = profiles.energy_kwh.shape[1], number(profiles.interval_minutes)
    note = f"! {profiles.guarantee}\n! First interval: {profiles.local_start[0]}\n"
    shapes = "".join(
        f"New LoadShape.{name} npts={steps} minterval={minutes} mult=(file={name}.csv) UseActual=yes\n"
        for name in profiles.names
    )
    loads = "".join(
        f"New Load.{name} bus1=homes.1 phases=1 kV=0.23 kW={number(peak)} pf=1 model=1 "
        f"yearly={name} daily={name} duty={name}\n"
        for name, peak in profiles.highest_power(KW)
    )
    yield "loadshapes.dss", [(note + shapes).encode()]
    yield "loads.dss", [(note + loads).encode()]


PANDAPOWER_HOW = (
    '`p_mw = pandas.read_csv("p_mw.csv", index_col="time_step")`, then `ConstControl(net, "load", "p_mw", '
    "element_index=loads, profile_name=p_mw.columns, data_source=DFData(p_mw))`, where `loads` are the loads of your "
    "net that `loads.csv` names, each with its own highest power, and `run_timeseries(net, p_mw.index)`. "
    "`time_steps.csv` says when a step begins."
)


def pandapower_files(profiles: LoadProfiles) -> Files:
    stamps = zip(utc_text(profiles.interval_start_utc), profiles.local_start, strict=True)
    power = ((step, *power_mw) for step, power_mw in profiles.power_of_steps(MW))
    highest = ((*each, 0.0) for each in profiles.highest_power(MW))
    steps = ((step, *stamp, profiles.interval_minutes / 60) for step, stamp in enumerate(stamps))
    yield "p_mw.csv", csv_lines(("time_step", *profiles.names), power)
    yield "loads.csv", csv_lines(("name", "p_mw", "q_mvar"), highest)
    yield "time_steps.csv", csv_lines(("time_step", "interval_start_utc", "interval_start_local", "hours"), steps)


LAYOUT = "1.2.4"  # version of PyPSA whose layout this is; later ones know how to read it

PYPSA_HOW = (
    '`network = pypsa.Network(); network.import_from_csv_folder("...")`. The loads are on the placeholder bus '
    "`homes`. Snapshots are the starts of the intervals in UTC; their weightings are the hours of an interval."
)


def pypsa_files(profiles: LoadProfiles) -> Files:
    snapshots, hours = utc_text(profiles.interval_start_utc), profiles.interval_minutes / 60
    of_snapshots = ((i, start, hours, hours, hours) for i, start in enumerate(snapshots))
    power = ((i, *power_mw) for i, power_mw in profiles.power_of_steps(MW))
    yield "network.csv", csv_lines(("name", "pypsa_version"), [("homes", LAYOUT)])
    yield "snapshots.csv", csv_lines(("", "snapshot", "objective", "stores", "generators"), of_snapshots)
    yield "buses.csv", csv_lines(("name", "carrier", "v_nom"), [("homes", "AC", 0.4)])
    yield "carriers.csv", csv_lines(("name",), [("AC",)])
    yield "loads.csv", csv_lines(("name", "bus"), [(name, "homes") for name in profiles.names])
    yield "loads-p_set.csv", csv_lines(("", *profiles.names), power)


@dataclass(frozen=True)
class Tool:
    """One tool: what makes its files by name, and how to load them, in Markdown."""

    title: str
    files: Callable[[LoadProfiles], Files]
    how: str


TOOLS = {
    "opendss": Tool("OpenDSS", opendss_files, OPENDSS_HOW),
    "pypsa": Tool("PyPSA", pypsa_files, PYPSA_HOW),
    "pandapower": Tool("pandapower", pandapower_files, PANDAPOWER_HOW),
    "gridlabd": Tool("GridLAB-D", gridlabd_files, GRIDLABD_HOW),
}


PROVENANCE, CIRCUITS = "release_manifest.json", "circuits.csv"


def converted(profiles: LoadProfiles, tool: Tool) -> Files:
    """Yield the files of a folder for ``tool``: its own, the manifest of the release and a page."""
    manifest = profiles.manifest
    privacy, simulated = manifest["privacy"], " The households are simulated." if manifest["simulated_data"] else ""
    hides, does_not_hide = ("\n".join(f"- {s}" for s in privacy[k]) for k in ("hides", "does_not_hide"))
    count, steps = profiles.energy_kwh.shape
    error = expected_error(manifest)
    first = "".join(f"- {sentence}\n" for sentence in before_use(manifest))
    expected = (f"**Before you use them:**\n{first}\n" if first else "") + (
        f"**Expected error:** {error}.\n\n" if error else ""
    )
    are = "drawn from released households" if profiles.drawn else "the released ones in other units"
    circuits = f"`{CIRCUITS}` names the circuit of each.\n\n" if profiles.circuits else ""
    page = f"""# Load profiles for {tool.title}

{count:,} load profiles in {steps:,} intervals of {profiles.interval_minutes} minutes from {profiles.local_start[0]}
on ({profiles.time_zone}; {profiles.dated}).
They are {are}: the mean power of each interval is its energy over its length.{simulated}

{tool.how}

{circuits}{expected}**What protects the households:** {profiles.guarantee}.

What is protected:
{hides}

What anybody can learn from it:
{does_not_hide}

`{PROVENANCE}` is the manifest of the release these files were made from, as it was released; making them took
nothing else and costs no privacy.
"""
    yield from tool.files(profiles)
    if profiles.circuits:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(
            [("name", "circuit"), *zip(profiles.names, profiles.circuits, strict=True)]
        )
        yield CIRCUITS, [text.getvalue().encode()]
    yield PROVENANCE, [profiles.manifest_as_it_was]
    yield "README.md", [page.encode()]


def write_folder(files: Files, folder) -> int:
    """Write a folder that appears whole or not at all, where nothing is yet; return how many files it has."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("already exists", file=folder, hint="name a folder that is empty or does not exist")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as staging:
            whole = Path(staging) / "whole"
            whole.mkdir()
            for name, data in files:
                with open(whole / name, "wb") as file:
                    file.writelines(data)
            count = len(list(whole.iterdir()))
            os.replace(whole, folder)
            return count
    except OSError as error:
        raise unwritable(error, folder, "free disk space or correct the permissions and run again") from None
