"""Load profiles as tools want them, from a folder that a release handed over.

The names are those of the release: the random ids of forecast files, numbers of synthetic profiles. The checksums of
the manifest are compared, so what is converted is what was released: the same bytes, read once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.core.progress import progress
from meterdp.core.stamps import local_text
from meterdp.errors import InputError
from meterdp.release.received import MANIFEST, RELEASED, checked, read_manifest
from meterdp.release.settings import is_of_a_household
from meterdp.release.tables import RELEASED_PROFILES


@dataclass(frozen=True)
class LoadProfiles:
    """Load profiles of equal length.

    Parameters
    ----------
    names : (n,) tuple of str
        Letters, digits and ``_``; they begin with a letter, as tools demand of names.
    energy_kwh : (n, T) float64
        Energy per interval within the public bounds of the release.
    interval_start_utc : (T,) datetime64[s]
        Starts of the intervals, evenly spaced.
    interval_minutes : int
    time_zone : str
        IANA name: where the households live.
    dated : str
        In words, where the stamps come from.
    guarantee : str
        The sentence of the release.
    manifest : mapping
        That of the release, its text fit for a page.
    manifest_as_it_was : bytes
        The same as it was handed over.
    """

    names: tuple[str, ...]
    energy_kwh: np.ndarray
    interval_start_utc: np.ndarray
    interval_minutes: int
    time_zone: str
    dated: str
    guarantee: str
    manifest: Mapping
    manifest_as_it_was: bytes

    @property
    def power_kw(self) -> np.ndarray:
        """Mean power of each interval, (n, T) float64, kW."""
        return self.energy_kwh * (60 / self.interval_minutes)

    @property
    def end_utc(self) -> np.datetime64:
        """End of the last interval."""
        return self.interval_start_utc[-1] + np.timedelta64(self.interval_minutes, "m")

    @property
    def local_start(self) -> list[str]:
        """Starts of the intervals as local ISO 8601 text with the offset from UTC, (T,)."""
        return local_text(self.interval_start_utc, self.time_zone)


def read_release(folder, day: date | None = None) -> LoadProfiles:
    """Read the synthetic profiles or the forecasts of a released folder.

    Parameters
    ----------
    folder : path-like
        Such as ``results/release/mixture`` or ``results/release/forecasts``.
    day : date, optional
        Local day on which synthetic profiles begin, which have hours but no day. If left out, the day the release
        says they are of (``profiles.date``), or else the first day of its period. Forecasts have their own stamps.

    Raises
    ------
    InputError
        If the folder is no release, is marked not for release, or differs from its manifest; if ``day`` does not fit.
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
        raise InputError("holds forecasts, which have a day of their own", file=folder, hint="leave --date out")
    names = sorted(name for name in digests if name.endswith(".parquet"))
    # Names end up in scripts, so none but those a release gives are taken.
    if not names or not all(map(is_of_a_household, names)):
        raise InputError("holds neither synthetic profiles nor forecasts", file=folder, hint=RELEASED)
    return _forecasts(folder, raw, names, manifest)


def _read(folder: Path, name: str, manifest: Mapping):
    """Read a file of the manifest and its guarantee."""
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
        energy_kwh.append(rows["released_kwh"].to_numpy())
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

    Raises
    ------
    InputError
        If the clock changes within these hours: then an hour of the day is missing or comes twice.
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
