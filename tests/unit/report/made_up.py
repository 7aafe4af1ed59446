"""Made-up artefacts with the declared schemas: plausible numbers, no household behind them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from meterdp.catalogue import catalogue
from meterdp.core.parquet import write_table
from meterdp.core.tables import Table
from meterdp.federated.circuits import Circuits
from meterdp.federated.study import protection_rows
from meterdp.report.registry import FIGURES, TABLES

MECHANISMS = {
    "iid_laplace": ("published", "label_flip", 900.0),
    "iid_gaussian": ("published", "label_flip", 300.0),
    "coloured_gaussian": ("published", "label_flip", 40.0),
    "kl_published": ("published", "label_flip", 8.0),
    "kl_exact": ("exact", "label_flip", 3.0),
    "dpem_zcdp": ("published", "replace_one", 150.0),
    "sound": ("sound", "replace_one", 1.2),
}
OWN_CLASSES = ("dpem_zcdp", "sound")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
SIZES = (687, 428, 147, 102, 31, 14, 9, 8, 6, 5, 3, 2)


def ingest_report() -> pd.DataFrame:
    rows = [
        ("used", 3_787_392, "a reading on the grid"),
        ("duplicate", 2_113, "the same meter and interval again; the last row counts"),
        ("no_energy", 911, "the energy field is empty"),
        ("unreadable_time", 12, "the time stamp does not fit the format"),
    ]
    return pd.DataFrame(rows, columns=["reason", "row_count", "meaning"])


def quality_summary() -> pd.DataFrame:
    rows = [
        ("households", "stuck_meter", 4, "left out: too many readings in long runs of one value (stuck meter)"),
        ("households", "too_few_readings", 17, "left out: too many readings missing"),
        ("households", "all_zero", 0, "left out: every reading is zero"),
        ("households", "kept", 1_421, "kept"),
        ("readings", "expected_readings", 3_876_096, "slots of the grid"),
        ("readings", "missing_readings", 88_704, "slots without a usable row in the export"),
        ("readings", "negative_readings", 20_345, "readings below zero (feed-in), kept and clipped before the log"),
    ]
    return pd.DataFrame(rows, columns=["scope", "reason", "item_count", "meaning"])


def mixture(classes: int = 6, hours: int = 12, seed: int = 1) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    sizes = np.array(SIZES[:classes])
    rows = []
    for k in range(classes):
        mean = -0.4 - 0.35 * k * (-1) ** k + 0.6 * np.sin(np.arange(hours) / 4 + k)
        lag = np.abs(np.subtract.outer(np.arange(hours), np.arange(hours)))
        covariance = generator.uniform(0.15, 0.6) * 0.8**lag
        rows.append((k + 1, sizes[k] / sizes.sum(), mean, covariance.ravel(), k == classes - 1))
    return pd.DataFrame(rows, columns=["component", "weight", "mean_log_kwh", "covariance", "floored"])


def class_table(classes: int = 6) -> pd.DataFrame:
    sizes = np.array(SIZES[:classes])
    return pd.DataFrame(
        {
            "component": np.arange(1, classes + 1),
            "household_count": sizes,
            "share": sizes / sizes.sum(),
            "mean_energy_kwh": 0.4137 + 0.31 * np.arange(classes),
            "peak_hour_local": (18 + np.arange(classes)) % 24,
            "spread_log_kwh": 0.5126 + 0.05 * np.arange(classes),
            "floored": np.arange(classes) == classes - 1,
        }
    )


def profile_hours(hours: int = 12, start: int = 12) -> pd.DataFrame:
    of_day = [(start + j) % 24 for j in range(hours)]
    return pd.DataFrame(
        {
            "entry": np.arange(hours),
            "hour_of_day_local": of_day,
            "label": [f"{h:02d}:00-{(h + 1) % 24:02d}:00" for h in of_day],
            "low_log_kwh": np.log(0.01),
            "high_log_kwh": np.log(100.0),
            "offset_kwh": 0.0,
            "scale_kwh": 0.0,
        }
    )


def cost(mechanisms=tuple(MECHANISMS), epsilons=EPSILONS) -> pd.DataFrame:
    rows = []
    for name in mechanisms:
        family, adjacency, level = MECHANISMS[name]
        for epsilon in epsilons:
            kl = level / epsilon**1.6
            # Own classes can fit better than those of the study: the gap falls below zero.
            gap = 0.9 / epsilon - 0.35 if family == "sound" else 0.75 * kl
            rows.append(
                {
                    "mechanism": name,
                    "family": family,
                    "epsilon": epsilon,
                    "delta": 1e-5,
                    "unit": "one household's class label" if adjacency == "label_flip" else "one household's record",
                    "adjacency": adjacency,
                    "draw_count": 1000,
                    "kl_reference": "own_classes" if name in OWN_CLASSES else "fit",
                    "kl_mean": kl,
                    "kl_se": 0.031 * kl,
                    "kl_q05": 0.3 * kl,
                    "kl_q25": 0.5 * kl,
                    "kl_median": 0.8 * kl,
                    "kl_q75": 1.3 * kl,
                    "kl_q95": 3 * kl,
                    "kl_small_classes_mean": 0.45 * kl,
                    "loglik_gap_mean": 0.7 * kl,
                    "loglik_gap_se": 0.02 * kl,
                    "classes": 3 if family == "sound" else 6,
                    "heldout_loglik_mean": -9.2 - gap,
                    "heldout_gap_mean": gap,
                    "heldout_gap_se": 0.04 * abs(gap) + 0.01,
                    "heldout_gap_same_k_mean": gap + 0.4 if family == "sound" else gap,
                    "projected_share": min(1.0, kl / 40),
                    "mean_energy_kwh": 1.85,
                }
            )
    return pd.DataFrame(rows)


def without_folds(data: pd.DataFrame) -> pd.DataFrame:
    """Table ``cost`` of a study with too few households to hold any out."""
    held_out = [name for name in data.columns if name.startswith("heldout_")]
    return data.assign(**dict.fromkeys(held_out, np.nan))


def fidelity(mechanisms=("kl_published", "sound")) -> pd.DataFrame:
    levels = {"real": ("none", None, 0.04), "fit": ("none", None, 0.05)}
    levels |= {name: (MECHANISMS[name][0], 2.0, 0.05 + 0.1 * i) for i, name in enumerate(mechanisms)}
    rows = []
    for source, (family, epsilon, level) in levels.items():
        for measure in ("ks_mean", "sliced_wasserstein", "peak_wasserstein", "load_factor_ks", "density_tv"):
            rows.append((source, family, epsilon, measure, None, level, "1", 0.01, "made up"))
        rows.append((source, family, epsilon, "energy_mean_relative", None, level - 0.04, "1", 0.06, "made up"))
        rows.append((source, family, epsilon, "energy_hours_relative", None, 2 * level, "1", 0.02, "made up"))
        rows.append((source, family, epsilon, "ks_hour", 0, level, "1", 0.01, "made up"))
        rows.append((source, family, epsilon, "prediction_r2", None, 0.6 - level, "1", 0.01, "made up"))
    columns = ["source", "family", "epsilon", "measure", "entry", "value", "unit", "se", "note"]
    return pd.DataFrame(rows, columns=columns).astype({"entry": "Int32"})


def forecaster_comparison() -> pd.DataFrame:
    own, pooled = "household's own readings", "trained across homes, its privacy is not accounted for"
    rows = []
    for name, label, looks_at, ratio in (
        ("arma", "ARMA on the season", own, 1.0),
        ("rolling_mean", "mean of the last seven days", own, 1.1379),
        ("gradient_boosting", "gradient boosting", pooled, 0.9812),
    ):
        for scale, factor in (("log_kwh", 1.0), ("kwh", 0.93)):
            row = {"forecaster": name, "label": label, "looks_at": looks_at, "scale": scale}
            made = ratio * factor if ratio and name != "arma" else ratio
            values = {
                "mse": 0.92,
                "mse_ratio": 1,
                "mse_ratio_se": 0.013,
                "mse_ratio_median": 1.01,
                "won_share": 0.053,
            }
            values |= {"mae": 0.297, "mae_ratio": 1, "mae_ratio_se": 0.0057, "mae_ratio_median": 1.02}
            values |= {"mae_won_share": 0.307, "mase": 1.3509}
            values |= dict.fromkeys((*SUMS, "crps_kwh", "covered_50_share", "covered_90_share"))
            if scale == "kwh":
                values |= {
                    "rmse_mean_kwh": 0.531,
                    "sum_kwh": 60.1,
                    "sum_bias_kwh": 1.31,
                    "sum_rmse_kwh": 9.46 * (made or 1),
                }
                values |= {"sum_of_medians_bias_kwh": -12.8}
                values |= (
                    {"crps_kwh": 0.215, "covered_50_share": 0.517, "covered_90_share": 0.887}
                    if name == "arma"
                    else {}
                )
            row |= {k: None if made is None or v is None else v * made for k, v in values.items()}
            rows.append(row | {"household_count": 100, "origin_count": 24})
    return pd.DataFrame(rows)


SUMS = ("rmse_mean_kwh", "sum_kwh", "sum_bias_kwh", "sum_rmse_kwh", "sum_of_medians_bias_kwh")


def design_comparison() -> pd.DataFrame:
    rows = []
    for model in ("deterministic", "published"):
        for design, delta in (("none", 1.0), ("white", 0.8123), ("published", 0.7), ("joint", 0.03125)):
            row = {"design": design, "query_model": model, "rho": 300.0, "epsilon": 1.0, "delta": delta}
            row |= {"delta_published": 0.7, "ratio_to_published": delta / 0.7, "wasserstein_limit": 51.8}
            row |= {"share_of_limit": 300 / 51.8, "largest_squared_error": 300.0, "certified_gap": None}
            rows.append(row)
    return pd.DataFrame(rows)


def hide_among(sizes=(2, 5, 20), households=30) -> pd.DataFrame:
    """Sizes of more than the households are left out; white noise does not serve every group of 20."""
    rows = []
    for size in sizes:
        for design, error in (("white", 9.87), ("published", 9.87), ("joint", 0.0312), ("group_mean", 0.0278)):
            row = {"size": size, "design": design, "epsilon": 1.0, "delta": 1e-5}
            numbers = np.array([0.5, 1.0, 2.1, 1.4, 1.9, 0.8, 1.1]) * error * np.sqrt(size)
            few, served = size > households, design != "white" or size < 20
            row |= {"group_count": 0 if few else households // size, "smallest_group": 0 if few else size}
            row |= {"largest_group": 0 if few else size + 1, "household_count": 0 if few else households}
            row |= {"unserved_group_count": 0 if few or served else 1, "largest_delta": None if few else 9.7e-6}
            names = [f"error_kwh_{name}" for name in ("q25", "median", "q75", "mean", "rms")]
            names += ["absolute_error_kwh_median", "absolute_error_kwh_mean"]
            row |= dict(zip(names, numbers if served and not few else [None] * 7, strict=True))
            row |= {"explained_share": (1 - error if error < 1 else -178.9) if served and not few else None}
            row |= {"meaning": f"more than the {households} households" if few else "" if served else "no noise"}
            rows.append(row)
    return pd.DataFrame(rows)


def hide_among_yardsticks() -> pd.DataFrame:
    rows = [("energy", 0.1746, 0.5353, 30, 15), ("forecast_error", 0.105, 0.1742, 30, 15)]
    return pd.DataFrame(rows, columns=["yardstick", "median_kwh", "mean_kwh", "household_count", "interval_minutes"])


def group_forecast_errors() -> pd.DataFrame:
    rows = []
    guesses = {"own_mean": 0.31, "own_level": 0.52, "own_level_public_shape": 0.47, "public_shape": 0.73}
    for method, mae in (guesses | {"public_level": 0.76}).items():
        bias = -0.21 if "public_" in method and "own" not in method else 0.0
        rows.append({"method": method, "groups": "none", "draw_count": 1, "mae_kwh": mae, "energy_bias": bias})
    for epsilon, factor in ((0.5, 1.1), (8.0, 1.0)):
        told = {"epsilon": epsilon, "delta": 1e-5, "groups": "one", "group_count": 1, "draw_count": 20}
        for method, mae in (("group", 0.69), ("scaled", 0.41)):
            told |= {"coverage_50": 0.52 * factor, "coverage_90": 0.85 * factor, "mae_of_median_kwh": 0.9 * mae}
            rows.append({"method": method, "mae_kwh": factor * mae, "energy_bias": 0.031 * factor} | told)
    data = pd.DataFrame(rows)
    data["mae_median_kwh"] = 0.8 * data["mae_kwh"]
    data["energy_error"] = 1.7 * data["energy_bias"].abs()
    return data.assign(household_count=100, hour_count=168)


def feeder_errors(sizes=(5, 50, 500)) -> pd.DataFrame:
    facts = {"day_count": 7, "interval_minutes": 30, "household_count": 1403, "draw_count": 3}
    rows = []
    for window, share in (("days", 1.0), ("average_day", 0.4)):
        for grouping, size in (*(("random", float(n)) for n in sizes), ("own", 116.9)):
            at = facts | {"window": window, "grouping": grouping, "feeder_size": size, "feeder_count": 12}
            at |= {"mean_total_kwh": 0.75 * size}
            for method, kwh, epsilons in (
                ("sound", 8.0, EPSILONS),
                ("laplace", 400.0, EPSILONS),
                ("gaussian", 60.0, EPSILONS),
                ("laplace_one_reading", 1.2, EPSILONS),
                ("mean_profile", 0.7 * np.sqrt(size), (None,)),
            ):
                for epsilon in epsilons:
                    error = share * kwh / (epsilon or 1.0)
                    row = {"method": method, "protects": "nothing" if epsilon is None else "all readings"}
                    row |= {"epsilon": epsilon, "delta": None if epsilon is None else 1e-5}
                    row |= {"rmse_kwh": error, "mae_kwh": 0.7 * error, "relative_rmse": error / (0.75 * size)}
                    rows.append(at | row)
    return pd.DataFrame(rows)


def feeder_rules(sizes=(5, 50, 500)) -> pd.DataFrame:
    facts = {"interval_minutes": 30, "day_count": 7, "household_count": 1400, "feeder_count": 12}
    rules = [("4/50", "interval"), ("4/50", "period"), ("15/15", "interval"), ("15/15", "period"), ("100", "none")]
    rows = []
    for grouping, size in (*(("random", float(n)) for n in sizes), ("own", 116.9)):
        for rule, share_of in rules:
            withheld = float(size < 100) if rule == "100" else 0.996 if size < 50 else 0.004
            row = {"grouping": grouping, "feeder_size": size, "rule": rule, "share_of": share_of}
            row |= {"withheld_total_share": withheld, "withheld_energy_share": withheld}
            row |= {"exposed_reading_share": 1 - withheld, "exposed_household_share": 1 - withheld}
            rows.append(facts | row | {"exposed_greatest_error_kwh": 1e-15 if withheld < 1 else None})
    return pd.DataFrame(rows)


def household_scores(period: str = "simulated_year") -> pd.DataFrame:
    facts = {"period": period, "day_count": 365, "interval_minutes": 60, "household_count": 1409, "sample_count": 300}
    quantiles, sizes = ("0.1", "0.5", "0.9"), ("1", "10", "50", "100", "300")
    lags = ("1 interval", "2 intervals", "1 day", "1 week")
    rows = []
    for source, epsilon, factor in (("own_vectors", None, 0.04), ("released", 1.0, 2.0), ("released", 4.0, 0.9)):
        at = facts | {"source": source, "epsilon": epsilon, "delta": epsilon and 1e-5, "draw_count": 3}
        for statistic, details, unit, real, error_unit, error in (
            ("energy, quantiles of homes", quantiles, "kWh a day", 14.6, "%", 6.1),
            ("peak, quantiles of homes", quantiles, "kW", 8.14, "%", 7.3),
            ("diversified peak, homes", sizes, "kW a home", 4.44, "%", 9.2),
            ("autocorrelation", lags, "1", 0.512, "KS", 0.11),
            ("monthly energy", ("",), "kW", 1.23, "% rms", 8.7),
            ("share of days away", ("",), "1", 0.0, "%", np.nan),
        ):
            for number, detail in enumerate(details):
                off = factor * error * (1 + number / 8)
                row = {"statistic": statistic, "detail": detail, "unit": unit, "real": real, "error_unit": error_unit}
                row |= {"synthetic": real * (1 - off / 100), "error": -off, "absolute_error": off}
                rows.append(at | row | {"floor": None if detail == "300" else error * (1 + number / 8)})
        attack = {"statistic": "membership attack", "detail": "odds that it is right", "unit": "to 1", "real": 1.0}
        odds = {None: 9.5, 1.0: 1.01, 4.0: 1.24}[epsilon]
        attack |= {"synthetic": odds, "error": odds - 1, "absolute_error": odds - 1, "error_unit": "above a guess"}
        rows.append(at | attack | {"floor": None})
    return pd.DataFrame(rows)


def household_weeks() -> pd.DataFrame:
    hours, rows = np.arange(168.0), []
    for source, epsilon in (("real", None), ("released", 1.0)):
        for home in range(1, 11):
            kw = 0.1 * home**2 * (1.2 + np.sin(2 * np.pi * (hours - 12) / 24 + home))
            rows += [
                ("simulated_year", source, epsilon, home, hour, power) for hour, power in zip(hours, kw, strict=True)
            ]
    data = pd.DataFrame(rows, columns=["period", "source", "epsilon", "home", "hours_from_monday", "power_kw"])
    data.loc[5, "power_kw"] = None
    return data


def household_curves(days=tuple(f"2025-{month:02d}-01" for month in range(1, 13))) -> pd.DataFrame:
    empty = dict.fromkeys(("home_count", "time_share", "first_day"))
    shares, rows = np.linspace(0, 1, 201), []
    for source, epsilon, factor in (
        ("real", None, 1.0),
        ("own_vectors", None, 1.02),
        ("released", 1.0, 0.8),
        ("released", 4.0, 0.95),
    ):
        at = {"period": "simulated_year", "source": source, "epsilon": epsilon} | empty
        for size in (1, 10, 50, 100, 300):
            rows.append(at | {"curve": "diversity", "home_count": size, "power_kw": factor * (4 + 8 / size)})
        for share in shares:
            rows.append(at | {"curve": "duration", "time_share": share, "power_kw": factor * (4.5 - 4 * share**0.2)})
        for number, day in enumerate(days):
            rows.append(at | {"curve": "energy", "first_day": day, "power_kw": factor * (1.2 + 0.1 * number)})
    return pd.DataFrame(rows).astype({"home_count": "Int64"})


def federation_protects(circuits: int = 12, **settings) -> pd.DataFrame:
    federation = {"scheme": "edge_masks", "graph": "complete", "colluding": 2, "iterations": 20}
    federation |= settings
    names = [f"C{i:02d}" for i in range(circuits)]
    meters = pa.table({"household": pa.array(range(circuits), pa.int32()), "circuit": names})
    rows = protection_rows(Circuits.of(meters, federation), federation, 12, 6, 2.0, 1e-5)
    return pd.DataFrame(rows)


def total_load(days: int = 28, first: str = "2025-10-20") -> pd.DataFrame:
    """Quarters of an hour from a Monday on; higher in the evening, lower at weekends; the third one is unknown."""
    starts = pd.date_range(first, periods=96 * days, freq="15min", tz="UTC")
    hour = starts.hour + starts.minute / 60
    kw = (0.8 + 0.9 * np.exp(-((hour - 18.5) ** 2) / 8)) * np.where(starts.day_of_week >= 5, 0.9, 1.0)
    data = pd.DataFrame(
        {
            "interval_start_utc": starts,
            "day_local": starts.strftime("%Y-%m-%d"),
            "minute_of_day_local": starts.hour * 60 + starts.minute,
            "weekend": starts.day_of_week >= 5,
            "household_count": 1421,
            "mean_kw": kw,
        }
    )
    data.loc[2, ["household_count", "mean_kw"]] = [0, None]
    return data


def consumption_quantiles() -> pd.DataFrame:
    shares = np.linspace(0, 1, 501)
    parts = [
        pd.DataFrame({"statistic": statistic, "household_share": shares, "value": level * np.exp(1.2 * shares**2)})
        for statistic, level in (("daily_kwh", 9.0), ("peak_kw", 4.0))
    ]
    mean = np.repeat([13.3, 6.1], len(shares))
    return pd.concat(parts, ignore_index=True).assign(mean=mean, household_count=1421)


def peak_hours() -> pd.DataFrame:
    hours = np.arange(24)
    shares = np.exp(-((hours - 18.0) ** 2) / 6)
    largest = shares + 0.1
    return pd.DataFrame(
        {
            "hour_of_day_local": hours,
            "highest_mean_share": shares / shares.sum(),
            "largest_reading_share": largest / largest.sum(),
        }
    )


def class_load(classes: int = 6) -> pd.DataFrame:
    component = np.arange(classes + 1)
    return pd.DataFrame(
        {
            "component": component,
            "household_count": [12, *SIZES[:classes]],
            "mean_kw": 0.4 + 0.3 * component,
            "at_peak_kw": (0.4 + 0.3 * component) * np.where(component == 2, 2.5, 1.4),
            "weekend_ratio": np.where(component == 3, 2.9, np.where(component == 0, np.nan, 1.1)),
        }
    )


def group_use() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "list_column": ["dwelling", "dwelling", "tariff", "tariff"],
            "entry": ["flat", "house", "day", "night"],
            "household_count": [900, 521, 1200, 221],
            "left_out_count": [7, 0, 5, 2],
            "median_kw": [0.3, 0.8, 0.4, 0.9],
            "mean_kw": [0.35, 0.9, 0.45, 1.1],
            "at_peak_kw": [0.6, 1.9, 0.9, 1.5],
            "peak_minute_of_day_local": [1140, 1110, 1110, 1380],
            "highest_kw": [0.8, 2.4, 1.1, 1.9],
            "highest_day_local": ["2025-11-08", "2025-11-09", "2025-11-09", "2025-10-20"],
        }
    )


def group_profiles() -> pd.DataFrame:
    """Of a year: flats peak in the evening, houses use more in winter."""
    rows = [
        (entry, month, hour, 30, level * (1 + winter * np.cos(np.pi * (month - 1) / 6)) * (1 + (hour == peak)))
        for entry, level, winter, peak in (("flat", 0.35, 0.1, 19), ("house", 0.9, 0.7, 6))
        for month in range(1, 13)
        for hour in range(24)
    ]
    names = ["entry", "month_local", "hour_of_day_local", "interval_count", "mean_kw"]
    return pd.DataFrame(rows, columns=names).assign(list_column="dwelling")[["list_column", *names]]


def coincidence(sizes=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 1421)) -> pd.DataFrame:
    peak = np.array([1.7 + 5.1 / size**0.6 for size in sizes])
    columns = {"home_count": sizes, "group_count": [min(20, 1421 // size) for size in sizes], "peak_kw": peak}
    return pd.DataFrame(columns | {"lowest_kw": 0.8 * peak, "highest_kw": 1.6 * peak})


def example_households(days: int = 28, first: str = "2025-10-20") -> pd.DataFrame:
    load = total_load(days, first).drop(columns=["weekend", "household_count", "mean_kw"])
    parts = [load.assign(home=home, power_kw=0.1 * home + 0.01 * (np.arange(len(load)) % 96)) for home in range(1, 7)]
    data = pd.concat(parts, ignore_index=True)
    data.loc[5, "power_kw"] = None
    return data


def marginals(hours: int = 12, released=("kl_published", "sound")) -> pd.DataFrame:
    left, parts = np.linspace(-3.0, 1.9, 40), []
    for entry in range(hours):
        for source, shift in (("real", 0.0), ("fit", 0.1), *((name, 0.3) for name in released)):
            density = np.exp(-((left - 0.1 * entry + 0.5 - shift) ** 2) / 0.8) / np.sqrt(0.8 * np.pi)
            family, epsilon = (MECHANISMS[source][0], 1.0) if source in MECHANISMS else ("none", None)
            columns = {"source": source, "family": family, "epsilon": epsilon, "entry": entry}
            parts.append(pd.DataFrame(columns | {"log_kwh": left, "density": density}, index=range(40)))
    return pd.concat(parts, ignore_index=True)


def all_tables() -> dict[str, pd.DataFrame]:
    """Every table the figures and the report read, by name."""
    names = {*TABLES, *(table.name for figure in FIGURES for table in figure.tables)}
    return {name: globals()[name]() for name in sorted(names)}


def as_columns(table: Table, data: pd.DataFrame) -> dict[str, list]:
    """Columns as lists: what is not a number becomes null where the table allows nulls and stays NaN elsewhere."""
    columns = {name: data[name].tolist() for name in data.columns}
    for field in table.schema:
        if field.nullable:
            columns[field.name] = [None if pd.isna(value) else value for value in columns[field.name]]
    return columns


def write_all(folder: Path, tables: dict[str, pd.DataFrame]) -> dict[str, Path]:
    """Write tables under the audience's folder, as a study does; return the paths by table name."""
    declared = catalogue()
    paths = {}
    for name, data in tables.items():
        paths[name] = folder / declared[name].audience / f"{name}.parquet"
        write_table(paths[name], declared[name], as_columns(declared[name], data))
    return paths
