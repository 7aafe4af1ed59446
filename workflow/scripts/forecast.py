"""Fit a process to the chosen households of one shard, on every training window, and forecast with it."""

from meterdp.core.job import job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.forecasting.study import shard_forecasts, window_fit_columns, window_fits
from meterdp.forecasting.tables import (
    ARMA_FITS,
    FORECAST_DISTRIBUTIONS,
    FORECAST_HOUSEHOLDS,
    FORECAST_MARKS,
    FORECASTS,
    FORECASTS_KWH,
)
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.grid import LocalTime

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    chosen = read_table(snakemake.input.households, FORECAST_HOUSEHOLDS)["household"].to_numpy()
    load = read_log_load([snakemake.input.log_load], chosen, LocalTime.of(params.local_time))
    fits = window_fits(load, params.forecast)
    write(snakemake.output.fits, ARMA_FITS, window_fit_columns(load.household, fits))
    scale = LogScale.of_interval(params.log_scale, params.local_time["interval_minutes"])
    found = shard_forecasts(load, fits, params.forecast, scale)
    write(snakemake.output.forecasts, FORECASTS, found.forecasts)
    write(snakemake.output.marks, FORECAST_MARKS, found.marks)
    write(snakemake.output.distributions, FORECAST_DISTRIBUTIONS, found.distributions)
    write(snakemake.output.energy, FORECASTS_KWH, found.energy)
