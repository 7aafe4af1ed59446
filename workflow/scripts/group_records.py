"""Forecast every listed household of one shard from rolling origins, for the group forecast of a study."""

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.study import point_forecasts, read_window_fits
from meterdp.forecasting.tables import ARMA_FITS, GROUP_RECORDS
from meterdp.groupforecast.study import public_list
from meterdp.ingest.tables import METERS
from meterdp.profiles.dense import read_log_load

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    listed, _ = public_list(read_table(snakemake.input.meters, METERS), params.households)
    load = read_log_load([snakemake.input.log_load], listed, params.interval_minutes, params.time_zone)
    known = read_window_fits(read_table(snakemake.input.fits, ARMA_FITS))
    write(snakemake.output.records, GROUP_RECORDS, point_forecasts(load, params.forecast, snakemake.threads, known))
