"""The group forecast in a study: its public list of households, their records and what else is public.

The list is a function of the meters of the export and of the configuration, never of a reading
(docs/proofs/group_forecast.md, 1): all meters, or the first ``release.forecast_households`` of the fixed order of
:mod:`meterdp.forecasting.select`. A household that a quality rule leaves out
stays on it, without a forecast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.errors import InputError
from meterdp.forecasting.rolling import ForecastSet, forecast_set
from meterdp.forecasting.select import choose_households, circuits_of
from meterdp.groupforecast.mechanism import ForecastRecords
from meterdp.groupforecast.plan import MOST_GROUPS, GroupPublic

# What a study compares, whatever its files hold: all households in one group, and groups found privately.
STUDIED = {
    "groups": ("one", "assigned"),
    "epsilons": (0.5, 1, 2, 4, 8),
    "delta": 1e-5,
    "most_groups": MOST_GROUPS,
    # Errors are averaged over so many.
    "draws": 20,
}


@dataclass(frozen=True)
class GroupStudy:
    """Records and public facts.

    ``household`` (N,) int32 is the public list, dense indices, ascending, and ``circuit`` the circuit 0..G-1 of each,
    None if the export does not name them all. ``forecasts`` are of the H households of the list that have one, n
    origins, k steps; ``interval_start_utc`` (k,) is that of the last origin. ``settings`` is
    :data:`STUDIED`; ``scale`` is that of the energy in a step.
    """

    household: np.ndarray
    circuit: tuple[int, ...] | None
    forecasts: ForecastSet
    interval_start_utc: np.ndarray
    interval_hours: float
    level_kwh_per_hour: float
    settings: Mapping
    scale: LogScale = PLAIN

    @classmethod
    def from_tables(
        cls,
        forecasts: pa.Table,
        meters: pa.Table,
        households: int | None,
        interval_minutes: int,
        level_kwh_per_hour: float,
        settings: Mapping,
        scale: LogScale = PLAIN,
    ) -> GroupStudy:
        """Take tables ``group_records`` and ``meters``; ``households`` is ``release.forecast_households``."""
        listed, circuit = public_list(meters, households)
        own = forecasts.filter(pa.array(np.isin(forecasts["household"].to_numpy(), listed)))
        if not own.num_rows:
            raise InputError(
                "is so small that no household on the public list has a forecast",
                file="config",
                field="release.forecast_households",
                hint="raise it",
            )
        judged = forecast_set(own)
        last = np.flatnonzero(own["origin"].to_numpy() == judged.actual_log_kwh.shape[1] - 1)
        steps = last[: judged.actual_log_kwh.shape[2]]
        stamps = own["interval_start_utc"].take(steps).cast(pa.timestamp("us")).to_numpy()
        return cls(listed, circuit, judged, stamps, interval_minutes / 60, level_kwh_per_hour, settings, scale)

    @property
    def row(self) -> np.ndarray:
        """Row on the list of each household with forecasts, (H,) int64."""
        return np.searchsorted(self.household, self.forecasts.household)

    def records(self, origin: int) -> ForecastRecords:
        """Return the records of one origin, a row for every household of the list, NaN where it has no forecast."""
        x = np.full((self.household.size, self.forecasts.forecast_log_kwh.shape[2]), np.nan)
        x[self.row] = self.forecasts.forecast_log_kwh[:, origin]
        return ForecastRecords(x)

    def public(self, groups: str, epsilon: float) -> GroupPublic:
        """Return all that calibrates a mechanism: public facts."""
        if groups == "circuit" and self.circuit is None:
            raise no_circuits("release.forecast_groups")
        return GroupPublic(
            epsilon=epsilon,
            delta=self.settings["delta"],
            records=self.household.size,
            steps=self.forecasts.forecast_log_kwh.shape[2],
            interval_hours=self.interval_hours,
            level_log_kwh=float(self.scale.over(60 / self.interval_hours).log(self.level_kwh_per_hour)),
            groups=groups,
            most_groups=self.settings["most_groups"],
            circuit=self.circuit,
        )


def public_list(meters: pa.Table, households: int | None) -> tuple[np.ndarray, tuple[int, ...] | None]:
    """Return who gets a file, whatever the readings: the first so many of the fixed order, or all.

    These are dense indices (N,) int32, ascending, and the circuit 0..G-1 of each, or None if one is not named.
    """
    every = meters["household"].to_numpy()
    listed = choose_households(every, every.size if households is None else households)
    circuit = circuits_of(meters, listed)
    return listed, None if circuit is None else tuple(circuit.tolist())


def no_circuits(field: str) -> InputError:
    return InputError(
        "asks for circuits, but not every meter's circuit is known",
        file="config",
        field=field,
        hint="name them in export.meters or export.circuit_column, or use 'one' or 'assigned'",
    )
