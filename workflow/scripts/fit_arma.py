"""Fit a process to the chosen households of one shard, on every training window."""

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.study import window_fit_columns, window_fits
from meterdp.forecasting.tables import ARMA_FITS, FORECAST_HOUSEHOLDS
from meterdp.profiles.dense import read_log_load

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    chosen = read_table(snakemake.input.households, FORECAST_HOUSEHOLDS)["household"].to_numpy()
    load = read_log_load([snakemake.input.log_load], chosen, params.interval_minutes, params.time_zone)
    fits = window_fits(load, params.forecast, snakemake.threads)
    write(snakemake.output.fits, ARMA_FITS, window_fit_columns(load.household, fits))
