"""What the group forecast costs: its errors at every epsilon on the last days of the readings, beside forecasts
without protection and public guesses.

The mechanism runs on the whole public list, as a release does, with the days before. Errors are measured on the
households of the list that have usable readings there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise
from meterdp.groupforecast.mechanism import GroupForecast, GroupRelease
from meterdp.groupforecast.plan import CELL_SHARE, QUANTILES
from meterdp.groupforecast.study import STUDIED, Hours, group_public, split

# Measures of one forecast of all households.
MEASURES = (
    *("mae_kwh", "mae_median_kwh", "mae_of_median_kwh", "energy_bias", "energy_error"),
    *("coverage_50", "coverage_90"),
)


@dataclass(frozen=True)
class Judge:
    """H households' records (H, entries) of days before, and what they then used: (H, T) kWh in cells (T,)."""

    records: np.ndarray
    actual_kwh: np.ndarray
    cell: np.ndarray

    def measures(
        self, expected_kwh: np.ndarray, quantile_kwh: np.ndarray | None = None, energy_kwh: np.ndarray | None = None
    ) -> dict[str, float]:
        """Judge expected energies, which broadcast to (H, T), and quantiles (..., T, 5) if there are any.

        Energies of a week are those of ``energy_kwh`` (H,) a mean hour, beside the households' own before.
        """
        out = dict.fromkeys(MEASURES, np.nan)
        error = self._absolute(expected_kwh)
        out |= {"mae_kwh": error.mean(), "mae_median_kwh": np.median(error)}
        if energy_kwh is not None:
            own = self.records[:, 0].sum()
            bias = float(np.broadcast_to(energy_kwh, len(self.records)).sum() / own - 1) if own > 0 else np.nan
            out |= {"energy_bias": bias, "energy_error": bias**2}
        if quantile_kwh is not None:
            out["mae_of_median_kwh"] = self._absolute(quantile_kwh[..., QUANTILES.index(0.5)]).mean()
            seen = np.isfinite(self.actual_kwh)
            for name, (low, high) in {"coverage_50": (1, 3), "coverage_90": (0, 4)}.items():
                inside = (self.actual_kwh >= quantile_kwh[..., low]) & (self.actual_kwh <= quantile_kwh[..., high])
                out[name] = inside[seen].mean()
        return out

    def _absolute(self, forecast_kwh: np.ndarray) -> np.ndarray:
        """Return the mean absolute error of each household, (H,)."""
        return np.nanmean(np.abs(self.actual_kwh - forecast_kwh), axis=1)

    @property
    def level_kwh(self) -> np.ndarray:
        """Mean energy of an hour of each household before, (H, 1)."""
        return self.records[:, :1]

    def of_release(self, released: GroupRelease, group: np.ndarray) -> Iterator[tuple[str, dict[str, float]]]:
        """Yield the measures of the files of a release, and of its shape scaled by every household's own level."""
        of_group = released.expected_kwh[:, self.cell], released.quantile_kwh[:, self.cell]
        energy = (released.expected_kwh @ CELL_SHARE)[group]
        yield "group", self.measures(*(values[group] for values in of_group), energy)
        level = self.level_kwh
        scaled = level * released.expected_ratio[self.cell], level[..., None] * released.quantile_ratio[self.cell]
        yield "scaled", self.measures(*scaled, level[:, 0])

    def of_guesses(self, level_kwh: float, shape: np.ndarray) -> Iterator[tuple[str, dict[str, float]]]:
        """Yield the measures of what looks at the household's own readings, and of public guesses."""
        own, at = self.level_kwh, self.cell
        yield "own_mean", self.measures(own * self.records[:, 1 + at], energy_kwh=own[:, 0])
        yield "own_level", self.measures(own, energy_kwh=own[:, 0])
        yield "own_level_public_shape", self.measures(own * shape[at], energy_kwh=own[:, 0])
        yield "public_shape", self.measures(level_kwh * shape[at], energy_kwh=level_kwh)
        yield "public_level", self.measures(np.array(level_kwh), energy_kwh=level_kwh)


def group_error_columns(hours: Hours, circuit: tuple[int, ...] | None, config: Mapping, seed: int) -> dict[str, list]:
    """Return the columns of the table ``group_forecast_errors``; the seed of the study fixes the noise.

    ``hours`` are of the whole list, ``circuit`` the circuit of each if all are known.
    """
    count = len(hours.kwh)
    public = group_public(config, count, None, 0.0)
    records, held_out = split(hours, public.cell_shape)
    judged = np.flatnonzero(np.isfinite(records.x).all(axis=1) & np.isfinite(held_out.kwh).any(axis=1))
    judge = Judge(records.x[judged], held_out.kwh[judged], held_out.cell)
    facts = {"household_count": len(judged), "hour_count": len(held_out.cell)}
    nobody = {"epsilon": None, "delta": None, "groups": "none", "group_count": None, "draw_count": 1}
    rows = []
    if len(judged):
        rows = [
            {"method": name, **nobody, **_finished(m), **facts}
            for name, m in judge.of_guesses(public.level_kwh, public.cell_shape)
        ]
    kinds = {"one": None} | ({} if circuit is None else {"circuit": circuit})
    wanted = [(g, float(e)) for g in kinds for e in STUDIED["epsilons"]] if len(judged) else []
    for groups, epsilon in progress(wanted, "group forecasts"):
        settings = group_public(config, count, kinds[groups], 0.0, epsilon, STUDIED["delta"])
        mechanism, noise = (
            GroupForecast.calibrate(settings),
            StudyNoise(seed, "group forecast", groups, repr(epsilon)),
        )
        draws: dict[str, list] = {}
        for _ in range(STUDIED["draws"]):
            released = mechanism.release(records, noise)
            for name, measures in judge.of_release(released, released.group[judged]):
                draws.setdefault(name, []).append(measures)
        given = {"epsilon": epsilon, "delta": settings.delta, "groups": groups, "draw_count": STUDIED["draws"]}
        given["group_count"] = len(released.expected_kwh)
        rows += [{"method": name, **given, **_finished(*measures), **facts} for name, measures in draws.items()]
    names = ("method", *nobody, *MEASURES, *facts)
    return {name: [row[name] for row in rows] for name in names}


def _finished(*measures: dict[str, float]) -> dict[str, float | None]:
    """Return means over draws, and the root of the mean squared error of the energy; null where there is none."""
    out = {name: float(np.mean([one[name] for one in measures])) for name in MEASURES}
    out["energy_error"] = float(np.sqrt(out["energy_error"]))
    return {name: None if np.isnan(value) else value for name, value in out.items()}
