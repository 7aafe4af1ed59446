"""Forecast the chosen households of one shard from rolling origins after the training window."""

from meterdp.core.job import job
from meterdp.core.log_scale import LogScale
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

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    fits = read_table(snakemake.input.fits, ARMA_FITS)
    load = read_log_load(
        [snakemake.input.log_load], fits["household"].to_numpy(), params.interval_minutes, params.time_zone
    )
    scale = LogScale.of_interval(params.log_scale, params.interval_minutes)
    found = shard_forecasts(load, fits_of(fits), params.forecast, scale)
    write(snakemake.output.forecasts, FORECASTS, found.forecasts)
    write(snakemake.output.ends, INTERVAL_ENDS, found.ends)
    write(snakemake.output.marks, FORECAST_MARKS, found.marks)
    write(snakemake.output.laws, FORECAST_LAWS, found.laws)
    write(snakemake.output.energy, FORECASTS_KWH, found.energy)
    write(snakemake.output.checks, GAUSSIAN_CHECKS, found.checks)
