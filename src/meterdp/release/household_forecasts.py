"""One released forecast file per household of the public list: the sound forecast of its group (``replace_one``).

Two requests to the ledger. Groups and file names are drawn once in a budget period and kept; the forecast of the days
to come is drawn for every period of readings (docs/proofs/group_forecast.md, 4).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from meterdp.forecasting.settings import AHEAD, some_of
from meterdp.groupforecast.kept import KeptGroups
from meterdp.groupforecast.mechanism import ForecastRecords, GroupRelease
from meterdp.groupforecast.study import no_circuits
from meterdp.privacy.charge import Charge, epsilon_of
from meterdp.privacy.noise import ResponseSource
from meterdp.privacy.policy import check_groups
from meterdp.privacy.release import Files, Part
from meterdp.release.forecast_folder import Told, forecast_folder
from meterdp.release.label_forecasts import PLACES, release_label_forecasts
from meterdp.release.noise import new_ids
from meterdp.release.planned import assignment_charge, group_public, level_in_words
from meterdp.release.service import ReleaseService, as_json, words_of

# Counts up when the same public words would give another release.
VERSION = 1
MECHANISM = "group_forecast"
SETTING = "release.forecast_epsilon"
# A manifest names the cost of so many forecasts of a budget period with their groups: two, three, or one a month.
SO_MANY = (2, 3, 12)
HIDES = (
    "what any one listed meter read in the period and in that of the first forecast with these groups, its own "
    "forecasts, and which group they are nearest to, to the extent that epsilon and delta state",
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
    forecast_log_kwh: np.ndarray, circuit: tuple[int, ...] | None, service: ReleaseService
) -> Delivery:
    """Return a forecast file for every household of the list: drawn and charged once, afterwards the stored ones.

    Parameters
    ----------
    forecast_log_kwh : (N, k) float64
        Each household's own forecast of the steps after the period, NaN where it has none.
    circuit : tuple of N int, or None
        Public circuit 0..G-1 of every household, if the list names them all.
    service : ReleaseService

    Raises
    ------
    InputError
        If gate or ledger refuses.
    """
    if service.config["release"]["forecast_protects"] == "label":
        return Delivery(*release_label_forecasts(forecast_log_kwh, neighbourhoods(circuit, service), service))
    parts = forecast_parts(len(forecast_log_kwh), circuit, service)
    (stored, files), handed_over = service.release(*parts, records=forecast_log_kwh)
    return Delivery(files, json.loads(stored[PLACES])["release_id"], handed_over)


def forecast_parts(households: int, circuit: tuple[int, ...] | None, service: ReleaseService) -> tuple[Part, Part]:
    """Return what draws groups and file names, and the forecast of the groups, from public settings alone.

    Parameters
    ----------
    households : int
        N, who get a file.
    circuit, service
        As for :func:`release_household_forecasts`.
    """
    circuit = neighbourhoods(circuit, service)
    if circuit is not None:
        check_groups(np.bincount(circuit))
    kept = KeptGroups.calibrate(group_public(service.config, households, circuit))
    # Their names stay for ever: ledgers know a release by them. Circuits are those of the list, which is among them.
    public = {
        "epsilon": kept.public.epsilon,
        "delta": kept.public.delta,
        "records": kept.public.records,
        "steps": kept.public.steps,
        "interval_hours": kept.public.interval_hours,
        "level_log_kwh": kept.public.level_log_kwh,
        "groups": kept.public.groups,
        "most_groups": kept.public.most_groups,
        "grid": kept.public.grid,
    }
    places = service.request(
        kept.guarantee,
        households,
        assignment_charge(kept),
        words_of("forecast_groups", MECHANISM, VERSION, public, **_assigned(kept)),
        setting=SETTING,
    )
    words = words_of(
        "forecasts",
        MECHANISM,
        VERSION,
        public,
        **service.records(),
        forecast=some_of(service.config["forecast"], AHEAD),
        groups_request=places.key,
    )
    charge = Charge(kept.plan.mu, kept.plan.total_variation(kept.public))
    request = service.request(kept.guarantee, households, charge, words, setting=SETTING)

    def assign(forecast_log_kwh: np.ndarray, noise: ResponseSource, _) -> np.ndarray:
        return kept.assign(ForecastRecords(forecast_log_kwh), noise)

    def place(group: np.ndarray, _) -> dict[str, bytes]:
        drawn = {"release_id": new_ids(households), "group": group.tolist(), "days": service.period}
        return {PLACES: as_json(drawn)}

    def answer(forecast_log_kwh: np.ndarray, noise: ResponseSource, earlier: Sequence[Files]) -> GroupRelease:
        group = np.array(json.loads(earlier[0][PLACES])["group"])
        return kept.forecast(ForecastRecords(forecast_log_kwh), group, noise)

    def render(released: GroupRelease, earlier: Sequence[Files]) -> dict[str, bytes]:
        where = json.loads(earlier[0][PLACES])
        told = _told(kept, where["days"], places.charge, request.charge, service)
        return forecast_folder(np.array(where["release_id"]), released.released_log_kwh, told, request, service)

    whose = kept.guarantee, households
    return Part(places, *whose, assign, place), Part(request, *whose, answer, render)


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


def neighbourhoods(circuit: tuple[int, ...] | None, service: ReleaseService) -> tuple[int, ...] | None:
    """Return the public circuits if they are asked for, None for one neighbourhood of all."""
    groups = service.config["release"]["forecast_groups"]
    if groups == "circuit" and circuit is None:
        raise no_circuits("release.forecast_groups")
    return circuit if groups == "circuit" else None


def _assigned(kept: KeptGroups) -> dict:
    """Return what stored groups were drawn with: a plan by other rules draws its own."""
    return {"group_count": kept.plan.groups, "assignment_epsilon": kept.plan.assignment_epsilon}


def _together(groups: Charge, forecast: Charge, service: ReleaseService) -> dict[str, float]:
    """Return what groups and so many forecasts cost together, as far as the limit allows them."""
    out = {}
    for number in SO_MANY:
        total = sum([forecast] * number, groups)
        epsilon = float(np.ceil(100 * epsilon_of(total, service.config["release"]["delta"])) / 100)
        if epsilon <= service.limit.epsilon:
            out[str(number)] = epsilon
    return out


def _told(kept: KeptGroups, days: list[str], groups: Charge, forecast: Charge, service: ReleaseService) -> Told:
    plan, drawn = kept.plan, kept.assignment_plan is not None
    count = "is one group" if plan.groups == 1 else f"are {plan.groups} groups"
    expected = level_in_words(kept.public, plan)
    lot = ". Which one a household is in was drawn by lot, the likely one more often than others" if drawn else ""
    return Told(
        guarantee=kept.guarantee,
        what="the forecast of a household's group",
        covers="the groups and all files of this folder together",
        facts={
            "epsilon_of_groups_and_forecasts": _together(groups, forecast, service),
            **({} if expected is None else {"expected_error": {"in_words": expected}}),
            "mechanism": {
                "name": MECHANISM,
                "groups": kept.public.groups,
                **_assigned(kept),
                "groups_are_of_readings_of": days,
                "clip_radius_log_kwh": {"common": plan.common_radius, "group": plan.group_radius},
                "centre_log_kwh": kept.public.centre_log_kwh,
            },
        },
        opening="No file was made from one household's readings alone.",
        file=f"It is that of a group of households; there {count}{lot}",
        expected=expected,
        hides=HIDES,
        does_not_hide=DOES_NOT_HIDE,
    )
