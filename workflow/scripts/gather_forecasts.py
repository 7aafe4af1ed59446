"""Join the shards' forecasts; count how the fits ended and how far the log load is from Gaussian."""

import pandas as pd

from meterdp.core.job import job
from meterdp.core.parquet import read_parts
from meterdp.forecasting.bulk import summary_columns
from meterdp.forecasting.gaussian import summary_rows
from meterdp.forecasting.tables import (
    ARMA_FITS,
    ARMA_SUMMARY,
    FORECAST_LAWS,
    FORECASTS,
    FORECASTS_KWH,
    GAUSSIAN_CHECKS,
    GAUSSIAN_SUMMARY,
)

TABLES = (ARMA_FITS, FORECASTS, FORECAST_LAWS, FORECASTS_KWH, GAUSSIAN_CHECKS)

with job(snakemake.input, snakemake.log) as write:
    joined = {table.name: read_parts(snakemake.input[table.name], table) for table in TABLES}
    for table in TABLES:
        write(snakemake.output[table.name], table, joined[table.name])
    write(snakemake.output.summary, ARMA_SUMMARY, summary_columns(joined["arma_fits"]["status"].to_pylist()))
    checks = joined["gaussian_checks"].to_pandas()
    write(snakemake.output.gaussian_summary, GAUSSIAN_SUMMARY, pd.DataFrame(summary_rows(checks)))
