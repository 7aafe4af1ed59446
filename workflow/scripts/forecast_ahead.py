"""Forecast the listed households of one shard past the end of their readings, for a release."""

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.study import forecast_ahead
from meterdp.forecasting.tables import FORECASTS_AHEAD
from meterdp.groupforecast.study import public_list
from meterdp.ingest.tables import METERS
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.grid import LocalTime

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    listed, _ = public_list(read_table(snakemake.input.known, METERS), params.households)
    load = read_log_load([snakemake.input.log_load], listed, LocalTime.of(params.local_time))
    forecasts = forecast_ahead(load, params.forecast, params.season, snakemake.threads)
    columns = {"household": load.household, "forecast_log_kwh": list(forecasts)}
    write(snakemake.output.forecasts, FORECASTS_AHEAD, columns)
