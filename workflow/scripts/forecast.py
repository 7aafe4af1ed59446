"""Forecast the chosen households of one shard from rolling origins after the training window."""

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.bulk import fits_of
from meterdp.forecasting.study import shard_forecasts
from meterdp.forecasting.tables import (
    ARMA_FITS,
    FORECAST_LAWS,
    FORECAST_MARKS,
    FORECASTS,
    FORECASTS_KWH,
    GAUSSIAN_CHECKS,
    INTERVAL_ENDS,
)
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.seasonal import interval_bounds_kwh

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    fits = read_table(snakemake.input.fits, ARMA_FITS)
    load = read_log_load(
        [snakemake.input.log_load], fits["household"].to_numpy(), params.interval_minutes, params.time_zone
    )
    bounds_kwh = interval_bounds_kwh(params.clip_kwh_per_hour, params.interval_minutes)
    found = shard_forecasts(load, fits_of(fits), params.forecast, bounds_kwh)
    write(snakemake.output.forecasts, FORECASTS, found.forecasts)
    write(snakemake.output.ends, INTERVAL_ENDS, found.ends)
    write(snakemake.output.marks, FORECAST_MARKS, found.marks)
    write(snakemake.output.laws, FORECAST_LAWS, found.laws)
    write(snakemake.output.energy, FORECASTS_KWH, found.energy)
    write(snakemake.output.checks, GAUSSIAN_CHECKS, found.checks)
