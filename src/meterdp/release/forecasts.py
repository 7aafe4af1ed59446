"""Released forecasts: one file per household of the public list, under a random name.

They protect readings (``release.forecast_protects: readings``): a file carries the noisy mean forecast of its
household's group (docs/proofs/group_forecast.md). Groups and file names are drawn once in a budget period and kept,
the forecast of the days to come is drawn for every period of readings: two mechanisms, charged together.

Or they protect labels (``label``): a file is the household's own forecast, moved towards those of its public
neighbourhood and with noise, which hides whose it is and nothing of the readings (docs/proofs/joint.md). Every period
of readings is charged, names are new each time, and nothing else about these households may be released in the budget
period.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import ClassVar
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from meterdp.class_noise.towards_centre import LabelPublic, TowardsCentre
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import new_ids
from meterdp.core.parquet import read_parts, read_table
from meterdp.forecasting.settings import AHEAD, some_of, studied
from meterdp.forecasting.tables import FORECASTS_AHEAD
from meterdp.groupforecast.mechanism import (
    ForecastRecords,
    GroupRelease,
    KeptGroups,
    assignment_charge,
    group_public,
)
from meterdp.groupforecast.plan import MOST_GROUPS, guess_error, predicted_error
from meterdp.groupforecast.study import no_circuits, public_list
from meterdp.ingest.meter_list import MeterList
from meterdp.ingest.tables import METERS
from meterdp.privacy.charge import Charge, epsilon_of
from meterdp.privacy.mechanism import Files
from meterdp.privacy.meter_lists import plain_name
from meterdp.privacy.noise import GRID, GaussianSource, ResponseSource
from meterdp.privacy.policy import FEWEST_IN_GROUP, check_groups
from meterdp.publish.forecast_files import Intervals, forecast_files
from meterdp.publish.tables import RELEASED_FORECAST
from meterdp.release.plan import NORMAL_95, Expected, Plan
from meterdp.release.service import (
    PLACES,
    Calibrated,
    Releasable,
    ReleaseService,
    as_json,
    public_fields,
    request_parameters,
    sentence,
)
from meterdp.release.settings import check_meters

# Counts up when the same parameters would give another release.
VERSION = 1
MECHANISM = "group_forecast"
# A manifest names the cost of so many forecasts of a budget period with their groups: two, three, or one a month.
SO_MANY = (2, 3, 12)
GROUP_HIDES = (
    "what any one listed meter read in the period and in that of the first forecast with these groups, its own "
    "forecasts, and which group they are nearest to, to the extent that epsilon and delta state",
)
GROUP_DOES_NOT_HIDE = (
    "who is on the public list of meters, and on which circuit where the groups are circuits",
    "what is true of a group as a whole: the energy its households will typically use",
    "more about a household with several meters than about one with a single meter",
)
LABEL_HIDES = (
    "whose file is whose among the households of a neighbourhood, to the extent that epsilon and delta state, even "
    "from those who know the forecast of every household, for all files of the neighbourhood together",
)
LABEL_DOES_NOT_HIDE = (
    "anything about the readings themselves: nothing is claimed when one household's readings are replaced",
    "who is on the public list of meters, which neighbourhood a household is in, and the typical forecast there",
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
        check_groups(np.bincount(circuit))
    if service.config["release"]["forecast_protects"] == "label":
        return (LabelForecasts.configured(households, circuit, service),)
    kept = KeptGroups.calibrate(group_public(service.config, households, circuit))
    return GroupAssignment(kept, service), GroupForecasts(kept, service)


def records(files: Mapping, config: Mapping, listed: MeterList) -> np.ndarray:
    """Return the forecast of every household that gets a file, (N, k) float64, NaN where it has none."""
    known = read_table(files["known"], METERS)["meter_id"].to_pylist()
    check_meters(known, listed.meter_ids, len(known))
    household, _ = public_list(listed.table, config["release"]["forecast_households"])
    own = read_parts(files["records"], FORECASTS_AHEAD)
    return on_the_list(own, household, config["forecast"])


def recipients(config: Mapping, listed: MeterList) -> list[str]:
    household, _ = public_list(listed.table, config["release"]["forecast_households"])
    return [listed.meter_ids[h] for h in household]


def plan(config: Mapping, meters: int, feeders: int) -> Plan | None:
    release = config["release"]
    households = min(release["forecast_households"] or meters, meters)
    by_readings = release["forecast_protects"] == "readings" and release["forecast_groups"] != "circuit"
    if not by_readings or households < FEWEST_IN_GROUP:
        return None
    return plan_of(KeptGroups.calibrate(group_public(config, households, None)))


def plan_of(kept: KeptGroups) -> Plan | None:
    """Return what forecasts are expected to be worth; None of circuits.

    Errors are those of the public distribution that the groups were planned with, one standard error and two.
    """
    public, steps = kept.public, kept.plan
    if steps.common is None:
        return None
    error, guess = (math.sqrt(square) for square in (predicted_error(public, steps), guess_error()))

    def again(epsilon: float, households: int) -> Plan:
        most = max(1, min(MOST_GROUPS, households // FEWEST_IN_GROUP))
        return plan_of(KeptGroups.calibrate(replace(public, epsilon=epsilon, records=households, most_groups=most)))

    return Plan(
        what="forecasts",
        setting="forecast_epsilon",
        epsilon=public.epsilon,
        size=public.records,
        sized="listed meters",
        expected=(Expected("level of a household's forecast", *map(math.expm1, (error, NORMAL_95 * error, guess))),),
        found="by a public distribution of households",
        again=again,
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
class GroupAssignment(Calibrated):
    """Groups and file names, drawn once in a budget period: a mechanism of the kernel.

    Records are (N, k) float64, log kWh: each household's own forecast, NaN where it has none.
    """

    mechanism: KeptGroups
    service: ReleaseService
    setting: ClassVar[str] = "release.forecast_epsilon"

    @property
    def loss(self) -> Charge:
        return assignment_charge(self.mechanism)

    @property
    def public(self) -> dict:
        """Request parameters of the forecast; circuits are those of the list, which is among them."""
        names = ("epsilon", "delta", "records", "steps", "interval_hours", "level_log_kwh", "groups", "most_groups")
        return public_fields(self.mechanism.public, *names, "grid")

    @property
    def assigned(self) -> dict:
        """What stored groups were drawn with: a plan by other rules draws its own."""
        plan = self.mechanism.plan
        return {"group_count": plan.groups, "assignment_epsilon": plan.assignment_epsilon}

    @property
    def parameters(self) -> dict:
        return request_parameters("forecast_groups", MECHANISM, VERSION, self.public, **self.assigned)

    def answer(self, forecast_log_kwh: np.ndarray, noise: ResponseSource, earlier: Sequence[Files]) -> np.ndarray:
        return self.mechanism.assign(ForecastRecords(forecast_log_kwh), noise)

    def render(self, group: np.ndarray, earlier: Sequence[Files]) -> Files:
        places = {"release_id": new_ids(self.households), "group": group.tolist(), "days": self.service.period}
        return {PLACES: as_json(places)}


@dataclass(frozen=True)
class GroupForecasts(Calibrated):
    """The forecast of the groups that :class:`GroupAssignment` has drawn; records are the same."""

    mechanism: KeptGroups
    service: ReleaseService
    setting: ClassVar[str] = GroupAssignment.setting

    @property
    def plan(self) -> Plan | None:
        return plan_of(self.mechanism)

    @property
    def groups(self) -> GroupAssignment:
        return GroupAssignment(self.mechanism, self.service)

    @property
    def loss(self) -> Charge:
        plan = self.mechanism.plan
        return Charge(plan.mu, plan.total_variation(self.mechanism.public))

    @cached_property
    def parameters(self) -> dict:
        return request_parameters(
            "forecasts",
            MECHANISM,
            VERSION,
            self.groups.public,
            **self.service.records(),
            forecast=some_of(studied(self.service.config["forecast"]), AHEAD),
            groups_request=self.service.request(self.groups).key,
        )

    @property
    def what(self) -> str:
        count = self.mechanism.plan.groups
        same = f"{count} forecasts, one for each group" if count > 1 else "one and the same forecast in all of them"
        return f"{self.households:,} forecast files, {same}"

    def answer(self, forecast_log_kwh: np.ndarray, noise: ResponseSource, earlier: Sequence[Files]) -> GroupRelease:
        group = np.array(json.loads(earlier[0][PLACES])["group"])
        return self.mechanism.forecast(ForecastRecords(forecast_log_kwh), group, noise)

    def render(self, released: GroupRelease, earlier: Sequence[Files]) -> Files:
        places = json.loads(earlier[0][PLACES])
        return forecast_folder(places["release_id"], released.released_log_kwh, self, self._said(places["days"]))

    def _said(self, days: list[str]) -> Said:
        kept, assigned = self.mechanism, self.groups.assigned
        count = "is one group" if kept.plan.groups == 1 else f"are {kept.plan.groups} groups"
        lot = ". Which one a household is in was drawn by lot, the likely one more often than others"
        return Said(
            what="the forecast of a household's group",
            covers="the groups and all files of this folder together",
            facts={
                "epsilon_of_groups_and_forecasts": self._together(),
                **({} if self.plan is None else {"expected_error": self.plan.stated}),
                "mechanism": {
                    "name": MECHANISM,
                    "groups": kept.public.groups,
                    **assigned,
                    "groups_are_of_readings_of": days,
                    "clip_radius_log_kwh": {"common": kept.plan.common_radius, "group": kept.plan.group_radius},
                    "centre_log_kwh": kept.public.centre_log_kwh,
                },
            },
            opening="No file was made from one household's readings alone.",
            file=f"It is that of a group of households; there {count}{'' if kept.assignment_plan is None else lot}",
            expected=None if self.plan is None else self.plan.sentence,
            hides=GROUP_HIDES,
            does_not_hide=GROUP_DOES_NOT_HIDE,
        )

    def _together(self) -> dict[str, float]:
        """Return what groups and so many forecasts cost together, as far as the limit allows them."""
        out = {}
        for number in SO_MANY:
            total = sum([self.loss] * number, self.groups.loss)
            epsilon = float(np.ceil(100 * epsilon_of(total, self.service.config["release"]["delta"])) / 100)
            if epsilon <= self.service.limit.epsilon:
                out[str(number)] = epsilon
        return out


@dataclass(frozen=True)
class LabelForecasts(Calibrated):
    """Forecast files that hide whom they belong to; records are those of :class:`GroupAssignment`.

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
        check_groups(np.bincount(neighbourhood))
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
        return f"{self.households:,} forecast files that hide whom they belong to"

    def answer(self, forecast_log_kwh: np.ndarray, noise: GaussianSource, earlier: Sequence[Files]) -> np.ndarray:
        return self.mechanism.release(forecast_log_kwh, noise)

    def render(self, released_log_kwh: np.ndarray, earlier: Sequence[Files]) -> Files:
        ids = new_ids(self.households)
        folder = forecast_folder(ids, released_log_kwh, self, self._said())
        return folder | {PLACES: as_json({"release_id": ids})}

    def _said(self) -> Said:
        public, guarantee = self.mechanism.public, self.guarantee
        # Of the files of two households that swap places, at most all of mu; of one file, at most 1 / sqrt(2) of it.
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
            covers="all files of a neighbourhood together",
            facts=facts,
            opening="Each was moved towards the mean of its neighbourhood and got noise, which limits what it tells "
            "of whose it is. The readings themselves are not protected by it.",
            file="It lies near the mean forecast of its neighbourhood",
            hides=LABEL_HIDES,
            does_not_hide=LABEL_DOES_NOT_HIDE,
            means=f"This is a mathematical guarantee, (epsilon, delta) = ({guarantee.epsilon:g}, "
            f"{guarantee.delta:g}) for all files of a neighbourhood together: whatever set of outcomes is looked at, "
            f"its probability is at most {math.exp(guarantee.epsilon):.3g} times what it would be with the files "
            f"handed to the households in any other order, plus {guarantee.delta:g}, even for somebody who knows "
            "every household's forecast. Releases add up; whoever publishes them keeps a ledger of the sum.",
        )


@dataclass(frozen=True)
class Said:
    """What manifests and page say of one mechanism."""

    what: str  # a file holds
    covers: str  # which files the guarantee is of, after it
    facts: Mapping  # sections of the manifests
    opening: str  # what was done to the files
    file: str  # what one of them is
    hides: Sequence[str]
    does_not_hide: Sequence[str]
    means: str | None = None  # the guarantee in plain words, where it is not that of replacing a meter's readings
    expected: str | None = None  # how far forecasts are expected to be off, if that is known


def forecast_folder(
    release_ids: Sequence[str], released_log_kwh: np.ndarray, mechanism: GroupForecasts | LabelForecasts, said: Said
) -> Files:
    """Return the files of the folder: a file and manifest a household, a manifest of all, a page for people.

    ``release_ids`` are the names of N files, of (N, k) released forecasts.
    """
    ids, service, guarantee = np.array(release_ids), mechanism.service, mechanism.guarantee
    config = service.config
    minutes, zone = config["export"]["interval_minutes"], config["export"]["time_zone"]
    stamps = intervals_ahead(service.period[1], released_log_kwh.shape[1], minutes, zone)
    intervals = Intervals(stamps, minutes, zone, LogScale.of_interval(config["profiles"], minutes))
    manifest = {
        **service.manifest(said.what, mechanism, said.hides, said.does_not_hide),
        "guarantee": f"{sentence(guarantee)}, of {said.covers}",
        **said.facts,
        **intervals.stated(RELEASED_FORECAST),
    }
    files = dict(forecast_files(RELEASED_FORECAST, ids, released_log_kwh, intervals, manifest, service.metadata))
    page = service.page(
        "Forecasts for",
        f"This folder holds a file for each of {len(ids):,} households: how much electricity a household like it "
        f"will use from {_spoken(manifest['time']['first_interval_start_local'])} on, in {stamps.size} steps of "
        f"{minutes} minutes. {different_forecasts(released_log_kwh)} {said.opening}",
        (
            f"`<random name>.parquet`: the forecast for one household. {said.file}",
            "`<random name>.json`: how that file was made, for experts and machines",
            "`manifest.json`: the same for the whole folder, with a checksum of every file",
        ),
        guarantee=guarantee,
        covers=f", for {said.covers}",
        hides=said.hides,
        does_not_hide=said.does_not_hide,
        means=said.means,
        expected=said.expected,
    )
    return service.folder(files, manifest, page)


def different_forecasts(released_log_kwh: np.ndarray) -> str:
    """Say how many of the released forecasts, (N, k), differ from each other."""
    different = len(np.unique(released_log_kwh, axis=0))
    if different == len(released_log_kwh):
        return "No two files hold the same forecast."
    if different == 1:
        return "All files hold one and the same forecast."
    return f"The files hold {different:,} different forecasts; households of a group have the same one."


def intervals_ahead(last_day: str, steps: int, interval_minutes: int, time_zone: str) -> np.ndarray:
    """Return the UTC starts of the intervals after the last local day of the period, (k,) datetime64[us]."""
    end = datetime.combine(date.fromisoformat(last_day) + timedelta(days=1), time(), ZoneInfo(time_zone))
    first = np.datetime64(end.astimezone(UTC).replace(tzinfo=None), "us")
    return first + np.arange(steps) * np.timedelta64(interval_minutes, "m")


def _spoken(local: str) -> str:
    moment = datetime.fromisoformat(local)
    return f"{moment:%H:%M} on {moment.day} {moment:%B %Y} (local time)"
