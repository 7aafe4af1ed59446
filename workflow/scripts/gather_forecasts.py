"""Join the shards' fits, forecasts and laws; count which step of the fallback chain served how many."""

from meterdp.core.job import job
from meterdp.core.parquet import read_parts
from meterdp.forecasting.bulk import summary_columns
from meterdp.forecasting.tables import ARMA_FITS, ARMA_SUMMARY, FORECAST_LAWS, FORECASTS

with job(snakemake.input, snakemake.log) as write:
    fits = read_parts(snakemake.input.arma_fits, ARMA_FITS)
    write(snakemake.output.arma_fits, ARMA_FITS, fits)
    write(snakemake.output.forecasts, FORECASTS, read_parts(snakemake.input.forecasts, FORECASTS))
    write(snakemake.output.forecast_laws, FORECAST_LAWS, read_parts(snakemake.input.forecast_laws, FORECAST_LAWS))
    write(snakemake.output.summary, ARMA_SUMMARY, summary_columns(fits["status"].to_pylist()))
