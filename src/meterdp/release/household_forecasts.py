"""One released forecast file per household of the public list: the sound forecast of its group (``replace_one``).

Two requests to the ledger. Groups and file names are drawn once in a budget period and kept; the forecast of the days
to come is drawn for every period of readings (docs/proofs/group_forecast.md, 4).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from meterdp.forecasting.settings import AHEAD, some_of
from meterdp.groupforecast.kept import KeptGroups
from meterdp.groupforecast.mechanism import ForecastRecords
from meterdp.groupforecast.plan import GroupPublic
from meterdp.groupforecast.study import no_circuits
from meterdp.profiles.seasonal import interval_bounds_kwh
from meterdp.release.desk import Desk, as_json, checksums, in_words, words_of
from meterdp.release.forecast_files import forecast_files
from meterdp.release.gate import FEWEST_IN_GROUP, check_groups
from meterdp.release.ledger import Charge, Request
from meterdp.release.manifests.common import what_is_in_it
from meterdp.release.manifests.group import REPEATS
from meterdp.release.noise import new_ids
from meterdp.release.safe_noise import SafeNoise
from meterdp.release.tables import RELEASED_FORECAST

# Counts up when the same public words would give another release.
VERSION = 1
MECHANISM = "group_forecast"
PLACES = "places.json"
HIDES = (
    "what any one listed meter read in the period, its own forecast, and which group that forecast is nearest to, "
    "up to the factor and the chance given",
)
DOES_NOT_HIDE = (
    "who is on the public list of meters, and on which circuit where the groups are circuits",
    "what is true of a group as a whole: the energy its households will typically use",
    "more about a household with several meters than about one with a single meter",
)


@dataclass(frozen=True)
class Delivery:
    """What a release hands over.

    Parameters
    ----------
    files : dict of name to bytes
    release_id : list of N str
        Name of every household's file, in the order of the list; private.
    handed_over : callable
        To be called once the files are, which the ledger then notes.
    """

    files: dict[str, bytes]
    release_id: list[str]
    handed_over: Callable[[], None]


def release_household_forecasts(
    forecast_log_kwh: np.ndarray, circuit: tuple[int, ...] | None, desk: Desk
) -> Delivery:
    """Return a forecast file for every household of the list: drawn and charged once, afterwards the stored ones.

    Parameters
    ----------
    forecast_log_kwh : (N, k) float64
        Each household's own forecast of the steps after the period, NaN where it has none.
    circuit : tuple of N int, or None
        Public circuit 0..G-1 of every household, if the list names them all.
    desk : Desk

    Raises
    ------
    InputError
        If gate or ledger refuses.
    """
    records, kept = ForecastRecords(forecast_log_kwh), KeptGroups.calibrate(_public(forecast_log_kwh, circuit, desk))
    # Circuits are those of the list, which is among the words.
    public = {key: value for key, value in vars(kept.public).items() if key != "circuit"}
    households = len(forecast_log_kwh)
    places = desk.request(
        kept.guarantee,
        households,
        _assignment_charge(kept),
        words_of("forecast_groups", MECHANISM, VERSION, public),
    )
    charge = Charge(kept.plan.mu, kept.plan.total_variation(kept.public))
    words = words_of(
        "forecasts",
        MECHANISM,
        VERSION,
        public,
        **desk.records(),
        forecast=some_of(desk.config["forecast"], AHEAD),
        groups_request=places.key,
    )
    request = desk.request(kept.guarantee, households, charge, words)
    stored, _ = desk.release(places, partial(_draw_places, kept, records), beside=charge)
    where = json.loads(stored[PLACES])

    def draw() -> dict[str, bytes]:
        released = kept.forecast(records, np.array(where["group"]), SafeNoise())
        return _files(np.array(where["release_id"]), released.released_log_kwh, kept, request, desk)

    files, handed_over = desk.release(request, draw)
    return Delivery(files, where["release_id"], handed_over)


def on_the_list(ahead: pa.Table, household: np.ndarray, forecast: Mapping) -> np.ndarray:
    """Return the forecast of every household of the list, (N, k) float64, NaN where it has none.

    Parameters
    ----------
    ahead : pyarrow.Table
        Table ``forecasts_ahead``.
    household : (N,) int array
        The list, ascending.
    forecast : mapping
        Section of the configuration.
    """
    rows = np.full((household.size, forecast["horizon_steps"]), np.nan)
    own = ahead.filter(pa.array(np.isin(ahead["household"].to_numpy(), household)))
    at = np.searchsorted(household, own["household"].to_numpy())
    rows[at] = np.array(own["forecast_log_kwh"].to_pylist(), dtype=float).reshape(len(at), rows.shape[1])
    return rows


def intervals_ahead(last_day: str, steps: int, interval_minutes: int, time_zone: str) -> np.ndarray:
    """Return the UTC starts of the intervals after the last local day of the period, (k,) datetime64[us]."""
    end = datetime.combine(date.fromisoformat(last_day) + timedelta(days=1), time(), ZoneInfo(time_zone))
    first = np.datetime64(end.astimezone(UTC).replace(tzinfo=None), "us")
    return first + np.arange(steps) * np.timedelta64(interval_minutes, "m")


def _public(forecast_log_kwh: np.ndarray, circuit: tuple[int, ...] | None, desk: Desk) -> GroupPublic:
    config, (households, steps) = desk.config, forecast_log_kwh.shape
    release, groups = config["release"], config["release"]["forecast_groups"]
    if groups == "circuit":
        if circuit is None:
            raise no_circuits("release.forecast_groups")
        check_groups(np.bincount(circuit))
    return GroupPublic(
        epsilon=release["forecast_epsilon"],
        delta=release["delta"],
        records=households,
        steps=steps,
        interval_hours=config["export"]["interval_minutes"] / 60,
        level_log_kwh=float(np.log(config["profiles"]["default_kwh_per_hour"])),
        groups=groups,
        most_groups=max(1, min(config["group_forecast"]["most_groups"], households // FEWEST_IN_GROUP)),
        circuit=circuit if groups == "circuit" else None,
        grid=SafeNoise.grid,
    )


def _assignment_charge(kept: KeptGroups) -> Charge:
    plan = kept.assignment_plan
    if plan is None:
        return Charge(0.0)
    return Charge(plan.mu, plan.total_variation(kept.public), ((plan.assignment_epsilon, plan.groups, 1),))


def _draw_places(kept: KeptGroups, records: ForecastRecords) -> dict[str, bytes]:
    """Draw a group and the name of a file for every household."""
    group = kept.assign(records, SafeNoise())
    return {PLACES: as_json({"release_id": new_ids(len(group)), "group": group.tolist()})}


def _files(ids: np.ndarray, released_log_kwh: np.ndarray, kept: KeptGroups, request: Request, desk: Desk) -> dict:
    config, guarantee, plan = desk.config, kept.guarantee, kept.plan
    minutes, zone = config["export"]["interval_minutes"], config["export"]["time_zone"]
    stamps = intervals_ahead(desk.period[1], released_log_kwh.shape[1], minutes, zone)
    bounds_kwh = interval_bounds_kwh(config["profiles"]["clip_kwh_per_hour"], minutes)
    manifest = {
        **desk.manifest("the forecast of a household's group", guarantee, HIDES, DOES_NOT_HIDE, request),
        "guarantee": f"{in_words(guarantee)}, of the groups and all files of this forecast together",
        "epsilon_of_repeated_forecasts": {str(t): _rounded_up(kept.epsilon_after(t)) for t in REPEATS},
        "mechanism": {
            "name": MECHANISM,
            "groups": kept.public.groups,
            "group_count": plan.groups,
            "assignment_epsilon": plan.assignment_epsilon,
            "clip_radius_log_kwh": {"common": plan.common_radius, "group": plan.group_radius},
            "centre_log_kwh": kept.public.centre_log_kwh,
        },
        **what_is_in_it(RELEASED_FORECAST, stamps, minutes, zone, bounds_kwh),
    }
    each = (RELEASED_FORECAST, ids, released_log_kwh, stamps, bounds_kwh, manifest, desk.metadata)
    files = dict(forecast_files(*each))
    files["manifest.json"] = as_json({**manifest, "sha256": checksums(files)})
    files["README.md"] = desk.page(
        "Forecasts for",
        f"This folder holds a file for each of {len(ids):,} households: how much electricity a household like it "
        f"will use from {_spoken(manifest['time']['first_interval_start_local'])} on, in {stamps.size} steps of "
        f"{minutes} minutes. No file was made from one household's readings alone.",
        (
            f"`<random name>.parquet`: the forecast for one household. It is that of a group of households; there "
            f"{'is one group' if plan.groups == 1 else f'are {plan.groups} groups'}."
            + (" Which one a household is in was drawn by lot, the likely one more often than others" * _drawn(kept)),
            "`<random name>.json`: how that file was made, for experts and machines",
            "`manifest.json`: the same for the whole folder, with a checksum of every file",
        ),
        request,
        guarantee=guarantee,
        covers=", for all files of this folder together",
        hides=HIDES,
        does_not_hide=DOES_NOT_HIDE,
    )
    return files


def _drawn(kept: KeptGroups) -> bool:
    return kept.assignment_plan is not None


def _spoken(local: str) -> str:
    """Return a local stamp as people write it."""
    moment = datetime.fromisoformat(local)
    return f"{moment:%H:%M} on {moment.day} {moment:%B %Y} (local time)"


def _rounded_up(epsilon: float) -> float:
    return float(np.ceil(100 * epsilon) / 100)
