"""Fit an ARMA model to the chosen households of one shard."""

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.arma import ArmaSettings
from meterdp.forecasting.bulk import fit_columns, fit_households
from meterdp.forecasting.tables import ARMA_FITS, FORECAST_HOUSEHOLDS
from meterdp.profiles.dense import read_log_load

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    chosen = read_table(snakemake.input.households, FORECAST_HOUSEHOLDS)["household"].to_numpy()
    load = read_log_load([snakemake.input.log_load], chosen, params.interval_minutes, params.time_zone)
    settings = ArmaSettings.from_config(params.arma)
    fits = fit_households(load.training_residual(params.train_days), settings, snakemake.threads)
    write(snakemake.output.fits, ARMA_FITS, fit_columns(load.household, fits))
