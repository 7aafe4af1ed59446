"""Study-mode runs of the sound forecast: what it costs at every epsilon, and one draw as files.

The one place where its noise is drawn. Seeded; every file says "not for release".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from meterdp.core.errors import InputError
from meterdp.core.progress import progress
from meterdp.evaluation.forecast_errors import SCALES, forecast_errors
from meterdp.forecasting.rolling import METHODS, ForecastSet, forecast_set
from meterdp.groupforecast.mechanism import Cluster, ForecastRecords
from meterdp.groupforecast.plan import ClusterPublic
from meterdp.release.forecast_files import crosswalk_columns, write_forecast_files
from meterdp.release.manifests.group import cluster_manifest
from meterdp.release.noise import StudyNoise, salted_ids


@dataclass(frozen=True)
class ClusterStudy:
    """The forecasts of a study and the public facts about them.

    Parameters
    ----------
    forecasts : ForecastSet
    interval_start_utc : (k,) datetime64 array
        Steps of the last origin.
    circuit : tuple of int or None
        Circuit 0..G-1 of every household; None if the export does not name them all.
    interval_hours, level_kwh_per_hour : float
        Length of a step and the public level.
    settings : mapping
        Section ``class_noise.cluster`` of the configuration.
    seed : int
    """

    forecasts: ForecastSet
    interval_start_utc: np.ndarray
    circuit: tuple[int, ...] | None
    interval_hours: float
    level_kwh_per_hour: float
    settings: Mapping
    seed: int

    @classmethod
    def from_tables(
        cls,
        forecasts: pa.Table,
        meters: pa.Table,
        interval_minutes: int,
        level_kwh_per_hour: float,
        settings: Mapping,
        seed: int,
    ) -> ClusterStudy:
        """Take tables ``forecasts`` and ``meters``."""
        judged = forecast_set(forecasts)
        names = dict(zip(meters["household"].to_pylist(), meters["circuit"].to_pylist(), strict=True))
        named = [names[int(h)] for h in judged.household]
        known = all(name is not None for name in named)
        circuit = tuple(np.unique(named, return_inverse=True)[1].tolist()) if known else None
        last = np.arange(len(forecasts))[forecasts["origin"].to_numpy() == forecasts["origin"].to_numpy().max()]
        steps = judged.actual_log_kwh.shape[2]
        stamps = forecasts["interval_start_utc"].take(last[:steps]).cast(pa.timestamp("us")).to_numpy()
        return cls(judged, stamps, circuit, interval_minutes / 60, level_kwh_per_hour, settings, seed)

    def mechanism(self, groups: str, epsilon: float) -> Cluster:
        """Return the mechanism calibrated to public facts only.

        Raises
        ------
        InputError
            If circuits are asked for and the export does not name every meter's.
        """
        households, _, steps = self.forecasts.actual_log_kwh.shape
        if groups == "circuit" and self.circuit is None:
            raise InputError(
                "asks for circuits and the export does not name every meter's circuit",
                file="config",
                field="class_noise.cluster.groups",
                remedy="set export.circuit_column or use 'one' or 'cluster'",
            )
        public = ClusterPublic(
            epsilon=epsilon,
            delta=self.settings["delta"],
            records=households,
            steps=steps,
            interval_hours=self.interval_hours,
            level_log_kwh=float(np.log(self.level_kwh_per_hour)),
            groups=groups,
            most_groups=self.settings["most_groups"],
            circuit=self.circuit,
        )
        return Cluster.calibrate(public)

    def error_columns(self) -> dict[str, list]:
        """Return the columns of the table ``cluster_forecast_errors``."""
        rows = self._unprotected_rows()
        wanted = [(g, float(e)) for g in self.settings["groups"] for e in self.settings["epsilons"]]
        for groups, epsilon in progress(wanted, "sound forecasts", total=len(wanted)):
            mechanism = self.mechanism(groups, epsilon)
            noise = StudyNoise(self.seed, "cluster forecast", groups, repr(epsilon))
            squared = self._mean_squared(lambda m=mechanism, n=noise: self._release_all(m, n), self.settings["draws"])
            rows += self._rows(squared, method="cluster", groups=groups, mechanism=mechanism)
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _release_all(self, mechanism: Cluster, noise: StudyNoise) -> np.ndarray:
        """Release every origin once, (H, n, k) float64 in log kWh."""
        x = self.forecasts.forecast_log_kwh
        out = [mechanism.release(ForecastRecords(x[:, t]), noise).released_log_kwh for t in range(x.shape[1])]
        return np.stack(out, axis=1)

    def _unprotected_rows(self) -> list[dict]:
        f = self.forecasts
        shown = {method: getattr(f, name) for method, name in METHODS.items()}
        shown["mean_of_all"] = f.forecast_log_kwh.mean(axis=0)
        shown["public_level"] = np.log(self.level_kwh_per_hour * self.interval_hours)
        return [
            row
            for method, values in shown.items()
            for row in self._rows(self._mean_squared(lambda v=values: v, 1), method=method)
        ]

    def _mean_squared(self, draw: Callable[[], np.ndarray], draws: int) -> dict[str, np.ndarray]:
        """Return the squared errors (H, n, k) by scale, each the mean of ``draws`` draws of a log forecast."""
        actual = self.forecasts.actual_log_kwh
        total = {scale: np.zeros(actual.shape) for scale in SCALES}
        for _ in range(draws):
            forecast = draw()
            total["log_kwh"] += (forecast - actual) ** 2
            total["kwh"] += (np.exp(forecast) - np.exp(actual)) ** 2
        return {scale: squared / draws for scale, squared in total.items()}

    def _rows(
        self, squared: dict[str, np.ndarray], method: str, groups: str = "none", mechanism: Cluster | None = None
    ) -> list[dict]:
        """Judge squared errors by the definitions of :func:`meterdp.evaluation.forecast_errors.forecast_errors`.

        It is handed, for each scale, a forecast whose error is the root of the mean squared one.
        """
        f, plan = self.forecasts, mechanism.plan if mechanism else None
        actual = f.actual_log_kwh
        equivalent = {
            "log_kwh": actual + np.sqrt(squared["log_kwh"]),
            "kwh": np.log(np.exp(actual) + np.sqrt(squared["kwh"])),
        }
        facts = {
            "method": method,
            "epsilon": mechanism.public.epsilon if mechanism else None,
            "delta": mechanism.public.delta if mechanism else None,
            "groups": groups,
            "group_count": plan.groups if plan else None,
            "assignment_epsilon": plan.assignment_epsilon if plan else None,
            "draw_count": self.settings["draws"] if mechanism else 1,
        }
        kept = ("scale", "mse", "nmse", "nmse_se", "relative_mse", "household_count", "origin_count")
        return [
            facts | {name: row[name] for name in kept}
            for scale in SCALES
            for row in forecast_errors(replace(f, forecast_log_kwh=equivalent[scale]))
            if (row["method"], row["scale"]) == ("arma", scale)
        ]

    def write_files(
        self,
        folder: str | Path,
        salt: str,
        bounds_kwh: tuple[float, float],
        time_zone: str,
        metadata: Mapping[str, str],
    ) -> dict:
        """Draw the last origin once, write a file and manifest per household, return the crosswalk's columns.

        The ids are not those of the class-based files: a common id would tie the two files of a household together.
        """
        groups, epsilon = self.settings["file_groups"], float(self.settings["file_epsilon"])
        mechanism = self.mechanism(groups, epsilon)
        noise = StudyNoise(self.seed, "cluster forecast files", groups, repr(epsilon))
        released = mechanism.release(ForecastRecords(self.forecasts.forecast_log_kwh[:, -1]), noise)
        own_salt = hashlib.sha256(f"{salt} cluster".encode()).hexdigest()[:32]
        ids = salted_ids(own_salt, self.forecasts.household)
        stamps = self.interval_start_utc
        manifest = cluster_manifest(mechanism, stamps, bounds_kwh, time_zone)
        write_forecast_files(folder, ids, released.released_log_kwh, stamps, bounds_kwh, manifest, metadata)
        return crosswalk_columns(ids, self.forecasts.household)
