"""Forecast the chosen households of one shard from rolling origins after the training window."""

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.bulk import fits_of
from meterdp.forecasting.study import shard_forecasts
from meterdp.forecasting.tables import ARMA_FITS, FORECAST_LAWS, FORECASTS
from meterdp.profiles.dense import read_log_load

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    fits = read_table(snakemake.input.fits, ARMA_FITS)
    load = read_log_load(
        [snakemake.input.log_load], fits["household"].to_numpy(), params.interval_minutes, params.time_zone
    )
    forecasts, laws = shard_forecasts(load, fits_of(fits), params.train_days, params.horizon_steps, params.origins)
    write(snakemake.output.forecasts, FORECASTS, forecasts)
    write(snakemake.output.laws, FORECAST_LAWS, laws)
