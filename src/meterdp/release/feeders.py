"""The released feeder totals: from records to files in the columns of British open data."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import ClassVar

import numpy as np

from meterdp.core.parquet import read_table, table_bytes
from meterdp.core.pieces import Pieces
from meterdp.core.stamps import utc_column
from meterdp.errors import InputError
from meterdp.feeders.listed import Feeders
from meterdp.feeders.mechanism import FeederRecords, FeederRelease, FeederSums, FeederTotals
from meterdp.feeders.plan import (
    DAYS,
    GUESS_FACTOR,
    TYPICAL_DAILY_KWH,
    FeederPublic,
    Window,
    difference_kwh,
    guess_error_kwh,
    listed_records,
    total_minutes,
)
from meterdp.ingest.meter_list import MeterList
from meterdp.ingest.tables import METERS
from meterdp.pages.numbers import counted, significant, size_range
from meterdp.privacy.mechanism import Files
from meterdp.privacy.noise import GRID, GaussianSource
from meterdp.privacy.policy import MOST_HOUSEHOLDS
from meterdp.publish.tables import RELEASED_FEEDER_ERRORS, RELEASED_FEEDERS, on_average_day
from meterdp.release.plan import NORMAL_95, Expected, Plan
from meterdp.release.service import (
    HIDES,
    LISTED,
    SEVERAL_METERS,
    Calibrated,
    ReleaseService,
    public_fields,
    request_parameters,
    sentence,
)
from meterdp.release.settings import check_meters

# Counts up when the same parameters would give another release.
VERSION = 1
# Request parameters; feeders are those of the list, which is among them.
PUBLIC = (
    *("epsilon", "delta", "feeders", "intervals_per_day", "days"),
    *("typical_daily_kwh", "count", "grid", "averaged_days"),
)
WH_PER_KWH = 1000
DOES_NOT_HIDE = (
    LISTED,
    "what is true of the meters of a feeder together: how much they typically use, and when",
    SEVERAL_METERS,
)


def feeder_window(config) -> Window:
    """Return the public window that a configuration names: the last days of its period."""
    export, release = config["export"], config["release"]
    return Window(
        release["feeder_window"],
        date.fromisoformat(export["last_day"]),
        release["feeder_days"],
        total_minutes(export["interval_minutes"]),
        export["time_zone"],
    )


@dataclass(frozen=True)
class ReleasedFeeders(Calibrated):
    """The totals of a configuration, released.

    Its records are (N, T) float64, kWh, of all listed meters, NaN where there is no usable reading.
    """

    mechanism: FeederTotals
    feeders: Feeders
    window: Window
    service: ReleaseService
    setting: ClassVar[str] = "release.feeder_epsilon"

    @property
    def what(self) -> str:
        sizes, days = np.bincount(self.feeders.feeder_of), f"{self.window.first_day} to {self.window.last_day}"
        of = size_range(dict(zip(self.feeders.ids, sizes.tolist(), strict=True)))
        return f"the energy of {counted(len(sizes), 'feeder')} of {of} meters, {days}"

    @property
    def remark(self) -> str | None:
        """That the days are a choice where they are not all: the last of a year are a week of holidays."""
        if self.window.first_day.isoformat() <= (self.service.config["export"]["first_day"] or ""):
            return None
        return "these are the last days of the period: for other days, set another export.last_day"

    @classmethod
    def configured(cls, feeders: Feeders, service: ReleaseService) -> ReleasedFeeders:
        public = configured(service.config, feeders.feeder_of, len(feeders.name))
        return cls(FeederTotals.calibrate(public), feeders, feeder_window(service.config), service)

    @property
    def plan(self) -> Plan:
        return plan_of(self.mechanism)

    @property
    def groups(self) -> tuple[str, ...]:
        ids = self.feeders.ids
        return tuple(ids[feeder] for feeder in self.feeders.feeder_of)

    @property
    def households(self) -> int:
        return len(self.feeders.feeder_of)

    @property
    def parameters(self) -> dict:
        window = self.window
        return request_parameters(
            "feeders",
            self.mechanism.name,
            VERSION,
            public_fields(self.mechanism.public, *PUBLIC),
            **self.service.records(profile_keys=("clip_kwh_per_hour",), by_weekend=False),
            window={"kind": window.kind, "first_day": window.first_day.isoformat(), "days": window.day_count},
        )

    def prepared(self, energy_kwh: np.ndarray | Pieces) -> FeederSums:
        return self.mechanism.sums(FeederRecords(energy_kwh))

    def answer(self, sums: FeederSums, noise: GaussianSource, earlier: Sequence[Files]) -> FeederRelease:
        return self.mechanism.release_sums(sums, noise)

    def render(self, released: FeederRelease, earlier: Sequence[Files]) -> Files:
        return _files(released, self)


def mechanisms(listed: MeterList, service: ReleaseService) -> tuple[ReleasedFeeders]:
    return (ReleasedFeeders.configured(Feeders.of_meter_list(listed), service),)


def records(files: Mapping, config: Mapping, listed: MeterList) -> Pieces:
    known = read_table(files["known"], METERS)["meter_id"].to_pylist()
    energy_kwh = listed_records(files["records"], len(known), feeder_window(config), config)
    check_meters(known, listed.meter_ids, len(known))
    return energy_kwh


def configured(config: Mapping, feeder_of: tuple[int, ...], feeders: int) -> FeederPublic:
    """Return the public settings of the totals that a configuration asks for, of meters on given feeders."""
    release, minutes = config["release"], total_minutes(config["export"]["interval_minutes"])
    days = release["feeder_days"] if release["feeder_window"] == DAYS else 1
    return FeederPublic(
        epsilon=release["feeder_epsilon"],
        delta=release["delta"],
        feeder=feeder_of,
        feeders=feeders,
        intervals_per_day=24 * 60 // minutes,
        days=days,
        typical_daily_kwh=release["feeder_typical_daily_kwh"] or TYPICAL_DAILY_KWH,
        count=release["feeder_count"],
        grid=GRID,
        averaged_days=release["feeder_days"] // days,
    )


def plan(config: Mapping, meters: int, feeders: int, listed: MeterList | None = None) -> Plan | None:
    """None if a list does not name feeders, for which a release is refused; of equal feeders if others are wanted
    than those of the list."""
    feeder_of = on_equal_feeders(meters, feeders)
    if listed is not None:
        try:
            of_list = Feeders.of_meter_list(listed)
        except InputError:
            return None
        if len(of_list.name) == feeders:
            feeder_of = of_list.feeder_of
    return plan_of(FeederTotals.calibrate(configured(config, feeder_of, feeders)))


def most_daily_kwh(config: Mapping, listed: MeterList) -> float | None:
    """Return the most energy that totals count of a meter a day on average; None if none are asked for."""
    if "feeders" not in config["release"]["what"] or config["release"]["feeder_typical_daily_kwh"] is None:
        return None
    feeders = Feeders.of_meter_list(listed)
    public = configured(config, feeders.feeder_of, len(feeders.name))
    return FeederTotals.calibrate(public).plan.level_limit * public.typical_daily_kwh


def on_equal_feeders(meters: int, feeders: int) -> tuple[int, ...]:
    return tuple((np.arange(meters) * feeders // meters).tolist())


def plan_of(mechanism: FeederTotals) -> Plan:
    """Return what totals are expected to be worth, of a feeder of mean size with typical meters.

    Errors are root mean squares over the intervals, by the public distribution that the measurements were planned
    with. In 19 of 20 releases they are at most those of one normal coefficient, the level: of several they vary less.
    """
    public = mechanism.public
    meters = len(public.feeder) / public.feeders
    typical_kwh = meters * public.typical_daily_kwh / public.intervals_per_day
    kwh = mechanism.plan.error_kwh, guess_error_kwh(public, meters), difference_kwh(public, meters)
    error, guess, difference = (one / typical_kwh for one in kwh)

    def again(epsilon: float, size: int) -> Plan:
        # Of large feeders fewer: no release has more meters.
        feeders = max(min(public.feeders, MOST_HOUSEHOLDS // size), 1)
        feeder = on_equal_feeders(size * feeders, feeders)
        return plan_of(FeederTotals.calibrate(replace(public, epsilon=epsilon, feeder=feeder, feeders=feeders)))

    return Plan(
        what="feeders",
        setting="feeder_epsilon",
        epsilon=public.epsilon,
        size=round(meters),
        sized="meters per feeder",
        expected=(
            Expected("energy of a feeder in an interval, as a share of mean use", error, NORMAL_95 * error, guess),
        ),
        found="computed from a public distribution of households",
        again=again,
        difference=difference if public.feeders > 1 else None,
        useless=_same_days(mechanism),
        warnings=_by_size(mechanism),
        assumed=f"a meter uses {_daily_range(public)} kWh a day on average, half to twice the public guess of "
        f"{public.typical_daily_kwh:g}",
    )


def _same_days(mechanism: FeederTotals) -> tuple[str, ...]:
    """Say that at this epsilon all days are alike and what to do, if so."""
    days = mechanism.public.days
    if days == 1 or mechanism.plan.tells_days:
        return ()
    return (
        f"at this epsilon all {days} days have the same totals, those of an average day, so peaks are too low",
        "set release.feeder_window to average_day, which tells you no less",
    )


def _by_size(mechanism: FeederTotals) -> tuple[str, ...]:
    """Say how far totals of the smallest and the largest feeder are expected to be off, if sizes differ much."""
    public = mechanism.public
    listed, typical_kwh = public.listed, public.centre_kwh.mean()
    if listed.max() <= max(1.5 * listed.min(), listed.min() + 1):  # as equal as can be
        return ()

    def off(feeder: int) -> str:
        n = listed[feeder]
        errors = mechanism.plan.errors_kwh[feeder], guess_error_kwh(public, n)
        error, guess = (f"{100 * kwh / (n * typical_kwh):.0f} %" for kwh in errors)
        return f"{error} (a public guess: {guess})"

    least, most = listed.argmin(), listed.argmax()
    return (
        f"expect errors of {off(least)} on the smallest feeder, of {listed[least]:,} meters, and of {off(most)} on "
        f"the largest, of {listed[most]:,}",
    )


def _daily_range(public: FeederPublic) -> str:
    """Say between which daily energies of a meter, on average, the plan holds."""
    return f"{public.typical_daily_kwh / GUESS_FACTOR:g} to {public.typical_daily_kwh * GUESS_FACTOR:g}"


def _files(released: FeederRelease, made_by: ReleasedFeeders) -> Files:
    mechanism, feeders, window, service = made_by.mechanism, made_by.feeders, made_by.window, made_by.service
    guarantee = mechanism.guarantee
    metadata = {"guarantee": sentence(guarantee), **service.metadata}
    ends, cell = window.ends_utc()
    total_wh = np.rint(WH_PER_KWH * released.total_kwh[:, cell]).astype(np.int64)
    devices = np.rint(released.devices).astype(np.int64)

    def of_feeders(repeats: int) -> dict:
        return {
            "dataset_id": np.repeat(feeders.ids, repeats).tolist(),
            "secondary_substation_id": np.repeat(feeders.substation, repeats).tolist(),
            "lv_feeder_id": np.repeat(feeders.name, repeats).tolist(),
            "aggregated_device_count_active": np.repeat(devices, repeats),
        }

    stamps = np.tile(ends, len(feeders.name))
    spoken = [f"{text}Z" for text in np.datetime_as_string(stamps.astype("datetime64[s]"))]
    totals = of_feeders(len(ends)) | {"total_consumption_active_import": total_wh.ravel()}
    errors = of_feeders(1) | {
        "standard_error_wh": np.rint(WH_PER_KWH * released.error_kwh).astype(np.int64),
        "mean_consumption_wh": np.rint(total_wh.mean(axis=1)).astype(np.int64),
    }
    of_totals = RELEASED_FEEDERS if window.kind == DAYS else on_average_day(RELEASED_FEEDERS)
    files = {
        "feeders.parquet": table_bytes(
            of_totals, totals | {"data_collection_log_timestamp": utc_column(stamps)}, metadata
        ),
        "feeders.csv": _csv(totals | {"data_collection_log_timestamp": spoken}),
        "feeder_errors.parquet": table_bytes(RELEASED_FEEDER_ERRORS, errors, metadata),
    }
    counts = ", and how many meters these are" if mechanism.public.count == "measured" else ""
    manifest = service.manifest(
        "how much electricity the meters on each feeder used together in every interval"
        f"{_on_average(window)}{counts}",
        made_by,
        HIDES,
        DOES_NOT_HIDE,
    )
    contradicted = _contradicted(released, mechanism.public)
    manifest |= {
        "feeder_totals": _facts(mechanism, window) | {"cut_off": _cut_off(made_by)},
        "expected_error": made_by.plan.stated(contradicted),
    }
    return service.folder(files, manifest, _page(released, made_by), made_by)


def _facts(mechanism: FeederTotals, window: Window) -> dict:
    public, plan = mechanism.public, mechanism.plan
    return {
        "unit": "Wh of active import in an interval",
        "timestamps": "end of the interval, UTC",
        "interval_minutes": window.interval_minutes,
        "window": _window_sentence(window),
        "meters": _meters_sentence(public.count),
        "largest_daily_kwh_of_a_meter": plan.level_limit * public.typical_daily_kwh,
        "coefficients_of_all_meters": len(plan.common.weight),
        "coefficients_of_feeders": len(plan.own.weight),
        "noise_std_daily_kwh": {
            "all meters together": _daily_noise(plan.common, public),
            "every feeder": _daily_noise(plan.own, public),
        },
        "standard_errors": "of the totals of a feeder, root mean square over its intervals: noise, and what was not "
        "measured or is beyond the largest daily energy, as a public distribution of households predicts it; no "
        "smaller a share of use than was expected beforehand",
    }


def _daily_noise(measured, public: FeederPublic) -> float:
    """Return the standard deviation of the noise on the mean energy of a day, kWh."""
    return float(measured.noise_std[0] * public.typical_daily_kwh / public.unit_kwh)


def _window_sentence(window: Window) -> str:
    days = f"{window.day_count} local days, {window.first_day} to {window.last_day} ({window.time_zone})"
    if window.kind == DAYS:
        _, cell = window.ends_utc()
        twice = "; the repeated hour has the mean of both" if len(set(cell)) < len(cell) else ""
        return f"every interval of the {days}{twice}"
    return f"the mean of the {days} at every time of day, stamped as the last of them"


def _meters_sentence(count: str) -> str:
    if count == "measured":
        return "totals and counts cover the meters that were read in at least half of the window; the count is noisy"
    return (
        "totals and counts cover all listed meters; a meter that was not read in half of the window counts as a "
        "public default"
    )


def _page(released: FeederRelease, made_by: ReleasedFeeders) -> bytes:
    mechanism, window, service = made_by.mechanism, made_by.window, made_by.service
    public = mechanism.public
    least, most = public.listed.min(), public.listed.max()
    sizes = f"are {least} to {most} meters on a" if least < most else f"are {most} meters on every"
    many = public.feeders > 1
    feeders = f"each of {public.feeders:,} feeders" if many else "one feeder"
    median = ", for a typical feeder" if many else ""
    several = (
        "Errors of several feeders cancel only in part: that of their sum is between the root of the sum of their "
        "squares and the sum of them. "
        if many
        else ""
    )
    return service.page(
        f"Electricity used per feeder{_on_average(window)}",
        f"This folder says how much electricity the meters of {feeders} used together in each interval of "
        f"{window.interval_minutes} minutes{_on_average(window)}. It holds no real household's readings. It "
        f"covers {_window_sentence(window)}. Only listed meters are in the totals: a feeder that supplies others, "
        "too, carries more.",
        (
            "`feeders.parquet` and `feeders.csv`: a row for every feeder and interval, with the columns British "
            "network operators use for such data. Energy is in Wh; times are the ends of intervals, in UTC. "
            f"{_meters_sentence(public.count).capitalize()}. The CSV is in UTF-8 with commas: if your spreadsheet "
            "expects semicolons, import it as text",
            "`feeder_errors.parquet`: the standard error of the total of a feeder in one interval, which is "
            f"{_of_mean_use(released)} its mean use{median}: what was expected beforehand (below), or more if these "
            "totals say so. Errors of intervals go together: that of a day can be as large as their sum, so do not "
            f"take them for independent ones. {several}There {sizes} feeder: the fewer, the more its total follows "
            "the mean of all listed meters. Every release does this, so adding up months does not help",
            f"{_cut_off(made_by)}. Electricity that households fed in is not subtracted",
            "`manifest.json`: how the files were made, for experts and machines",
        ),
        expected=made_by.plan.points(),
        contradicted=_contradicted(released, public),
        guarantee=mechanism.guarantee,
        hides=HIDES,
        does_not_hide=DOES_NOT_HIDE,
    )


def _cut_off(made_by: ReleasedFeeders) -> str:
    """Say how much of a meter counts at most, and which totals come out wrong for it."""
    mechanism, high = made_by.mechanism, made_by.service.config["profiles"]["clip_kwh_per_hour"][1]
    largest = mechanism.plan.level_limit * mechanism.public.typical_daily_kwh
    return (
        f"A meter that used more than {largest:g} kWh a day counts as that much, and an hour of more than "
        f"{high:g} kWh as {high:g} kWh; if its hours differ much from those of most homes, only part of the "
        "difference counts. The standard errors include only a guess of what is cut off and may be several times too "
        "small where businesses or irrigation pumps are among homes: large users make totals too low, and shops make "
        "nights too high and middays too low, even for all feeders together; heaters, cars and pumps at night do the "
        "reverse. "
        "Nor do they include what happens on one feeder alone, such as an outage, which hardly shows"
    )


def _on_average(window: Window) -> str:
    return "" if window.kind == DAYS else " on an average day"


def _of_mean_use(released: FeederRelease) -> str:
    """Say how large the standard error is beside the mean use, of the feeder in the middle."""
    share = float(np.median(released.error_kwh / np.maximum(released.total_kwh.mean(axis=1), 1e-9)))
    return f"at most {math.ceil(100 * share)} % of" if share < 1 else "larger than"


def _contradicted(released: FeederRelease, public: FeederPublic) -> str | None:
    """Say that the plan does not hold, if by the released totals meters use much less or more than was assumed."""
    daily_kwh = released.total_kwh.sum() / max(released.devices.sum() * public.days, 1)
    if public.typical_daily_kwh / GUESS_FACTOR <= daily_kwh <= public.typical_daily_kwh * GUESS_FACTOR:
        return None
    return (
        f"According to the released totals, a meter uses {significant(daily_kwh, 2)} kWh a day, not "
        f"{_daily_range(public)}: "
        "errors are probably larger than expected"
    )


def _csv(columns: dict[str, Sequence]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue().encode()
