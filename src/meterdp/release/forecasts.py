"""Released forecasts: which one each household of the public list has, under a random name, and what they are.

They protect readings (``release.forecast_protects: readings``): a household has the forecast of a week for
its group, released once for a period of readings (docs/proofs/group_forecast.md). Beside them is the shape of
the week, which whoever knows a household's level scales.

Or they protect labels (``label``): it has its own forecast, moved towards those of its public
neighbourhood and with noise, which hides whose it is and nothing of the readings (docs/proofs/joint.md). Every period
of readings is charged, names are new each time, and nothing else about these households may be released in the budget
period.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePath
from typing import ClassVar

import numpy as np
import pyarrow as pa

from meterdp.class_noise.towards_centre import LabelPublic, TowardsCentre
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import new_ids
from meterdp.core.parquet import read_parts, read_table, table_bytes
from meterdp.core.pieces import Pieces
from meterdp.core.tables import Table
from meterdp.core.weekend import Weekend
from meterdp.forecasting.settings import AHEAD, some_of, studied
from meterdp.forecasting.tables import FORECASTS_AHEAD
from meterdp.groupforecast.mechanism import ForecastRecords, GroupForecast, GroupRelease
from meterdp.groupforecast.plan import CELL_SHARE, CIRCUIT_STD, HOURS, GroupPublic, make_plan, window_of, worth_of
from meterdp.groupforecast.study import group_public, no_circuits, public_list
from meterdp.ingest.meter_list import MeterList
from meterdp.ingest.tables import METERS
from meterdp.pages.numbers import significant, size_range
from meterdp.privacy.mechanism import Files
from meterdp.privacy.meter_lists import plain_name
from meterdp.privacy.noise import GRID, GaussianSource
from meterdp.privacy.policy import FEWEST_IN_GROUP, check_groups
from meterdp.publish.forecast_files import (
    Forecasts,
    Intervals,
    forecast_tables,
    hours_of,
    log_forecasts,
)
from meterdp.publish.tables import RELEASED_FORECASTS, RELEASED_GROUP_FORECASTS, RELEASED_SHAPE
from meterdp.release.plan import NORMAL_95, Expected, Plan
from meterdp.release.service import (
    HIDES,
    LISTED,
    PLACES,
    SEVERAL_METERS,
    Calibrated,
    Releasable,
    ReleaseService,
    as_json,
    public_fields,
    request_parameters,
    sentence,
)
from meterdp.release.settings import check_meters
from meterdp.release.weeks import columns_of, group_forecasts, intervals_ahead, week_cells

# Count up when the same parameters would give another release; version 1 of the group forecast was of one origin.
VERSION, GROUP_VERSION = 1, 2
WEEK_HOURS = 7 * HOURS
ALONE = "what a single household uses in an hour is far less certain, whatever the epsilon: see the intervals"
SHAPE_FILE = PurePath(RELEASED_SHAPE.file_name).name
GROUP_DOES_NOT_HIDE = (
    LISTED,
    "what is true of the households of a group together: how much energy they typically use, and when",
    SEVERAL_METERS,
)
LABEL_HIDES = (
    "which forecast belongs to whom among the households of a neighbourhood, to the extent that epsilon and delta "
    "state, even from those who know the forecast of every household, for all forecasts of the neighbourhood "
    "together",
)
LABEL_DOES_NOT_HIDE = (
    "anything about the readings themselves: nothing is claimed for replacing one household's readings",
    LISTED,
    "which neighbourhood a forecast and its household are in, and the typical forecast there",
    "how far the forecasts of a neighbourhood lie apart",
)


def mechanisms(listed: MeterList, service: ReleaseService) -> tuple[Releasable, ...]:
    households, circuit = public_list(listed.table, service.config["release"]["forecast_households"])
    return forecast_mechanisms(len(households), circuit, service)


def forecast_mechanisms(
    households: int, circuit: tuple[int, ...] | None, service: ReleaseService
) -> tuple[Releasable, ...]:
    """Return what releases forecasts for N households, on public circuits 0..G-1 if the list names all of them.

    Refused if circuits are asked for that are not known, or a group is too small.
    """
    groups = service.config["release"]["forecast_groups"]
    if groups == "circuit" and circuit is None:
        raise no_circuits("release.forecast_groups")
    circuit = circuit if groups == "circuit" else None
    if circuit is not None:
        check_groups(_sizes(circuit, service))
    if service.config["release"]["forecast_protects"] == "label":
        return (LabelForecasts.configured(households, circuit, service),)
    return (
        GroupForecasts(GroupForecast.calibrate(group_public(service.config, households, circuit, GRID)), service),
    )


def _sizes(circuit: Sequence[int], service: ReleaseService) -> dict[str | None, int]:
    """Return how many households each circuit has, by its name, in the order of circuits 0..G-1."""
    household, _ = public_list(service.listed.table, service.config["release"]["forecast_households"])
    names = dict(zip(circuit, (service.circuits[h] for h in household.tolist()), strict=True))
    return {names[group]: count for group, count in enumerate(np.bincount(circuit).tolist())}


def records(files: Mapping, config: Mapping, listed: MeterList) -> np.ndarray | Pieces:
    """Return the records of every household that gets a forecast, (N, entries) float64, NaN where it has none.

    These are what its hours of the window say, or for forecasts that hide whom they belong to its own.
    """
    from meterdp.groupforecast.records import stored_records  # loads numba: a plan does without

    known = read_table(files["known"], METERS)["meter_id"].to_pylist()
    check_meters(known, listed.meter_ids, len(known))
    household, _ = public_list(listed.table, config["release"]["forecast_households"])
    if config["release"]["forecast_protects"] == "label":
        return on_the_list(read_parts(files["records"], FORECASTS_AHEAD), household, config["forecast"])
    return stored_records(files["records"], household)


def recipients(config: Mapping, listed: MeterList) -> list[str]:
    household, _ = public_list(listed.table, config["release"]["forecast_households"])
    every = listed.meter_ids
    return [every[h] for h in household]


def plan(config: Mapping, meters: int, feeders: int, listed: MeterList | None = None) -> Plan | None:
    release, circuit = config["release"], None
    households = min(release["forecast_households"] or meters, meters)
    if release["forecast_protects"] != "readings" or households < FEWEST_IN_GROUP:
        return None
    if release["forecast_groups"] == "circuit":
        named = {*listed.circuit_of.values()} - {None} if listed else set()
        if (circuits := len(named) or feeders) < 2:
            return None
        circuit = _alike(households, circuits)
    return plan_of(group_public(config, households, circuit, GRID))


def _alike(households: int, circuits: int) -> tuple[int, ...]:
    """Return the circuit of each household, of circuits of about the same size."""
    return tuple(number % circuits for number in range(households))


def plan_of(public: GroupPublic) -> Plan:
    """Return what group forecasts are expected to be worth, by closed forms.

    Errors are standard errors, once and twice.
    """
    worth = worth_of(public, make_plan(public))
    found = {
        **({"energy of a circuit": (worth.circuit, worth.guess_circuit)} if public.circuits else {}),
        "energy of all households": (worth.energy, worth.guess_energy),
        "hourly energy of all households": (worth.hour, worth.guess_hour),
        "shape of a week": (worth.shape, worth.guess_shape),
    }

    def again(epsilon: float, households: int) -> Plan:
        circuit = _alike(households, public.circuits) if public.circuits else None
        return plan_of(replace(public, epsilon=epsilon, records=households, circuit=circuit))

    return Plan(
        what="forecasts",
        setting="forecast_epsilon",
        epsilon=public.epsilon,
        size=public.records,
        sized="listed meters",
        expected=tuple(Expected(of, error, NORMAL_95 * error, guess) for of, (error, guess) in found.items()),
        found="computed from the noise and a public distribution of households",
        again=again,
        difference=CIRCUIT_STD if public.circuits else None,
    )


def on_the_list(ahead: pa.Table, household: np.ndarray, forecast: Mapping) -> np.ndarray:
    """Return the forecast of every household of the list, (N, k) float64, NaN where it has none.

    ``ahead`` is the table ``forecasts_ahead``, ``household`` the list, (N,) ascending.
    """
    rows = np.full((household.size, forecast["horizon_steps"]), np.nan)
    own = ahead.filter(pa.array(np.isin(ahead["household"].to_numpy(), household)))
    at = np.searchsorted(household, own["household"].to_numpy())
    rows[at] = np.array(own["forecast_log_kwh"].to_pylist(), dtype=float).reshape(len(at), rows.shape[1])
    return rows


@dataclass(frozen=True)
class GroupForecasts(Calibrated):
    """The forecast of a week for every group; records are those of :func:`records`."""

    mechanism: GroupForecast
    service: ReleaseService
    setting: ClassVar[str] = "release.forecast_epsilon"

    @property
    def plan(self) -> Plan:
        return plan_of(self.mechanism.public)

    @property
    def groups(self) -> tuple[str | None, ...]:
        return self.service.circuits if self.mechanism.public.circuits else ()

    @property
    def parameters(self) -> dict:
        names = ("epsilon", "delta", "records", "level_kwh", "high_kwh", "shape", "groups", "grid")
        first, last = window_of(self.service.config["export"])
        return request_parameters(
            "forecasts",
            self.mechanism.name,
            GROUP_VERSION,
            public_fields(self.mechanism.public, *names),
            **self.service.records(profile_keys=("clip_kwh_per_hour",)),
            window={"days": last - first + 1},
        )

    @property
    def what(self) -> str:
        each = "the same for all"
        if self.mechanism.public.circuits:
            sizes = _sizes(self.mechanism.public.circuit, self.service)
            each = f"{len(sizes)} different ones, one for each circuit of {size_range(sizes)} households"
        return f"forecasts for {self.households:,} households, {each}"

    def answer(self, records: np.ndarray | Pieces, noise: GaussianSource, earlier: Sequence[Files]) -> GroupRelease:
        return self.mechanism.release(ForecastRecords(records), noise)

    def render(self, released: GroupRelease, earlier: Sequence[Files]) -> Files:
        service, ids = self.service, new_ids(self.households)
        config = service.config
        first, last = window_of(config["export"])
        hours = intervals_ahead(service.period[1], WEEK_HOURS, 60, config["export"]["time_zone"])
        intervals = Intervals(hours, 60, config["export"]["time_zone"], LogScale.from_config(config["profiles"]))
        weekend = Weekend.of(config["export"])
        cell = week_cells(intervals, weekend)
        ratios = released.expected_ratio[cell], released.quantile_ratio[cell].T
        shape = {**hours_of(intervals), **columns_of("ratio", *ratios)}
        said = self._said(released, last - first + 1)
        metadata = {"guarantee": _guarantee(self, said.covers), **service.metadata}
        folder = forecast_folder(
            ids,
            self._named(group_forecasts(released, intervals, weekend)),
            intervals,
            RELEASED_GROUP_FORECASTS,
            self,
            said,
            {SHAPE_FILE: table_bytes(RELEASED_SHAPE, shape, metadata)},
        )
        return folder | {PLACES: as_json({"release_id": ids})}

    def _named(self, forecasts: Forecasts) -> Forecasts:
        """Return forecasts of groups with their names and how many households have them."""
        count, circuit = np.bincount(forecasts.of), self.mechanism.public.circuit
        names = [*_sizes(circuit, self.service)] if self.mechanism.public.circuits else ["all"]

        def columns(group: int) -> dict[str, np.ndarray]:
            own = forecasts.columns(group)
            steps = len(own["expected_kwh"])
            named = {
                "circuit": np.full(steps, names[group]),
                "household_count": np.full(steps, count[group]),
            }
            return named | own

        return Forecasts(forecasts.of, columns)

    def _said(self, released: GroupRelease, days: int) -> Said:
        public, plan = self.mechanism.public, self.mechanism.plan
        count = len(released.expected_kwh)
        groups = (
            f"Households are in {count} groups, the circuits of the list, which the column `circuit` names"
            if public.circuits
            else ("All households are in one group")
        )
        facts = {
            "mechanism": {
                "name": self.mechanism.name,
                "groups": public.groups,
                "group_count": count,
                "of_the_last_days": days,
                "public_level_kwh": public.level_kwh,
                "noise_std": {query.name: query.noise_std for query in (plan.levels, plan.profile)},
                "expected_kwh_per_day": [float(v) for v in HOURS * released.expected_kwh @ CELL_SHARE],
            }
        }
        facts["expected_error"] = self.plan.stated()
        shape = {c.name: {"unit": c.unit, "means": c.description} for c in RELEASED_SHAPE.columns}
        return Said(
            what="what a household of a group is expected to draw from the grid in every hour of a week, its median "
            "and intervals",
            covers="all files of this folder together",
            facts=facts | {"shape": {"file": SHAPE_FILE, "columns": shape}},
            opening="Every hour has an expected energy, a median, and intervals expected to hold 50 and 90 % of such "
            f"hours. They were made from the last {days} days of the readings. Weekends and working days differ; "
            "holidays and the weather of the week are not taken into account. No forecast was made from one "
            "household's readings alone.",
            each=f"{groups}, and households in the same group have the same forecast. Expected energies add up: "
            "times `household_count` they are what a group is expected to draw from the grid, where an hour of "
            "feed-in counts as zero. Intervals are for one hour of one household and do not add up",
            inside=(
                f"`{SHAPE_FILE}`: for a household whose mean energy per hour you know. Multiply that mean by the "
                "ratios in this file: the result is closer to the household than the forecast of its group",
                "feeder totals of the same households, if there are any, need not agree with this forecast, since "
                "the noise of each is drawn separately: take the level from them and the shape from here",
            ),
            expected=[*self.plan.first, *self.plan.said, self.plan.basis, ALONE],
            hides=HIDES,
            does_not_hide=GROUP_DOES_NOT_HIDE,
        )


@dataclass(frozen=True)
class LabelForecasts(Calibrated):
    """Forecasts that hide whom they belong to; records are those of :class:`GroupAssignment`.

    Neighbourhoods are public circuits, or all households are one.
    """

    mechanism: TowardsCentre
    by_circuit: bool
    service: ReleaseService
    setting: ClassVar[str] = "release.forecast_epsilon"

    @classmethod
    def configured(cls, households: int, circuit: tuple[int, ...] | None, service: ReleaseService) -> LabelForecasts:
        config, release = service.config, service.config["release"]
        minutes, profiles = config["export"]["interval_minutes"], config["profiles"]
        level = LogScale.of_interval(profiles, minutes).log(profiles["default_kwh_per_hour"] * (minutes / 60))
        neighbourhood = (0,) * households if circuit is None else circuit
        if circuit is None:
            check_groups({"all": households})
        public = LabelPublic(
            epsilon=release["forecast_epsilon"],
            delta=release["delta"],
            neighbourhood=neighbourhood,
            steps=config["forecast"]["horizon_steps"],
            noise_std_log_kwh=release["forecast_noise_std_log_kwh"],
            centre_log_kwh=float(level),
            grid=GRID,
        )
        return cls(TowardsCentre.calibrate(public), circuit is not None, service)

    @property
    def groups(self) -> tuple[str | None, ...]:
        return self.service.circuits if self.by_circuit else ()

    @property
    def households(self) -> int:
        return len(self.mechanism.public.neighbourhood)

    @property
    def neighbourhoods(self) -> str:
        """Digest of who is in which neighbourhood; another one is another secret."""
        meters = sorted(plain_name(meter) for meter in self.service.listed.meter_ids)
        return hashlib.sha256(as_json([meters, self.mechanism.public.neighbourhood])).hexdigest()

    @property
    def parameters(self) -> dict:
        names = ("epsilon", "delta", "steps", "noise_std_log_kwh", "centre_log_kwh", "grid")
        settings = {"records": self.households, "neighbourhoods": "circuit" if self.by_circuit else "one"}
        return request_parameters(
            "forecasts",
            self.mechanism.name,
            VERSION,
            public_fields(self.mechanism.public, *names) | settings,
            **self.service.records(),
            forecast=some_of(studied(self.service.config["forecast"]), AHEAD),
        )

    @property
    def what(self) -> str:
        return f"forecasts for {self.households:,} households that hide whom they belong to"

    def answer(self, forecast_log_kwh: np.ndarray, noise: GaussianSource, earlier: Sequence[Files]) -> np.ndarray:
        return self.mechanism.release(forecast_log_kwh, noise)

    def render(self, released_log_kwh: np.ndarray, earlier: Sequence[Files]) -> Files:
        ids, config = new_ids(self.households), self.service.config
        minutes, zone = config["export"]["interval_minutes"], config["export"]["time_zone"]
        stamps = intervals_ahead(self.service.period[1], released_log_kwh.shape[1], minutes, zone)
        intervals = Intervals(stamps, minutes, zone, LogScale.of_interval(config["profiles"], minutes))
        folder = forecast_folder(
            ids,
            log_forecasts(released_log_kwh, intervals.scale),
            intervals,
            RELEASED_FORECASTS,
            self,
            self._said(),
        )
        return folder | {PLACES: as_json({"release_id": ids})}

    def _said(self) -> Said:
        public, guarantee = self.mechanism.public, self.guarantee
        # Of the forecasts of two households that swap places, at most all of mu; of one, at most 1 / sqrt(2) of it.
        facts = {
            "mechanism": {
                "name": self.mechanism.name,
                "query_model": "deterministic",
                "noise_std_log_kwh": public.noise_std_log_kwh,
                "mu_of_all_files_of_a_neighbourhood": self.mechanism.mu,
                "mu_of_one_file_at_most": self.mechanism.mu / math.sqrt(2),
                "centre_log_kwh": public.centre_log_kwh,
            }
        }
        return Said(
            what="a household's forecast, moved towards those of its neighbourhood, with noise",
            covers="all forecasts of a neighbourhood together",
            facts=facts,
            opening="Each forecast was moved towards the mean of its neighbourhood and given noise, which limits "
            "how well anyone can tell whose it is. This does not protect the readings.",
            each="Each is close to the mean forecast of its neighbourhood",
            hides=LABEL_HIDES,
            does_not_hide=LABEL_DOES_NOT_HIDE,
            means=f"This is a mathematical guarantee, (epsilon, delta) = ({guarantee.epsilon:g}, "
            f"{guarantee.delta:g}) for all forecasts of a neighbourhood together: whatever set of results is "
            f"looked at, its probability is at most {significant(math.exp(guarantee.epsilon))} times what it would "
            f"be with the forecasts handed to the households in any other order, plus {guarantee.delta:g}, even for "
            "somebody who knows every household's forecast. Releases add up; whoever publishes them keeps a ledger "
            "of the sum.",
        )


@dataclass(frozen=True)
class Said:
    """What manifests and page say of one mechanism."""

    what: str  # is released
    covers: str  # what the guarantee is of, after it
    facts: Mapping  # sections of the manifests
    opening: str  # what was done to the forecasts
    each: str  # what one of them is
    hides: Sequence[str]
    does_not_hide: Sequence[str]
    inside: Sequence[str] = ()  # what else is in the folder, in Markdown
    means: str | None = None  # the guarantee in plain words, where it is not that of replacing a meter's readings
    expected: Sequence[str] = ()  # how far forecasts are expected to be off, if that is known


def _guarantee(mechanism: GroupForecasts | LabelForecasts, covers: str) -> str:
    return f"{sentence(mechanism.guarantee)}, of {covers}"


def forecast_folder(
    release_ids: Sequence[str],
    forecasts: Forecasts,
    intervals: Intervals,
    table: Table,
    mechanism: GroupForecasts | LabelForecasts,
    said: Said,
    beside: Files | None = None,
) -> Files:
    """Return the files of the folder: who has which forecast, ``table`` of forecasts, a manifest, a page for people.

    ``release_ids`` are the names of N households; ``beside`` are more files.
    """
    ids, service = np.array(release_ids), mechanism.service
    stated = _guarantee(mechanism, said.covers)
    manifest = {
        **service.manifest(said.what, mechanism, said.hides, said.does_not_hide),
        "guarantee": stated,
        **said.facts,
        **intervals.stated(table),
    }
    files = forecast_tables(table, ids, forecasts, intervals, {"guarantee": stated, **service.metadata})
    inside = (
        f"`forecasts.parquet`: the forecasts. {said.each}",
        "`recipients.parquet`: which forecast each household has, under its random name",
        *said.inside,
        "`manifest.json`: how they were made, for experts and machines, with a checksum of every file",
    )
    page = service.page(
        "Forecasts",
        f"This folder holds a forecast for each of {len(ids):,} households: how much "
        f"electricity a household like it will use in {manifest['time']['steps']} intervals of "
        f"{intervals.minutes:g} minutes, which begin at {_spoken(manifest['time']['first_interval_start_local'])}. "
        f"{different_forecasts(forecasts.different, len(ids))} "
        f"{said.opening}",
        inside,
        guarantee=mechanism.guarantee,
        covers=f", for {said.covers}",
        hides=said.hides,
        does_not_hide=said.does_not_hide,
        means=said.means,
        expected=said.expected,
    )
    return service.folder({**files, **(beside or {})}, manifest, page, mechanism)


def different_forecasts(different: int, households: int) -> str:
    """Say how many of the released forecasts differ from each other."""
    if different == households:
        return "No two households have the same forecast."
    if different == 1:
        return "All households have the same forecast."
    return f"There are {different:,} different forecasts; households in the same group have the same one."


def _spoken(local: str) -> str:
    moment = datetime.fromisoformat(local)
    return f"{moment:%H:%M} on {moment.day} {moment:%B %Y} (local time)"
