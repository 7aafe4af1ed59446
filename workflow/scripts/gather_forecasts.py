"""Join the shards' forecasts; count how the fits ended, what to be wary of and how far log load is from Gaussian."""

import pandas as pd

from meterdp.core.job import job
from meterdp.core.parquet import read_parts
from meterdp.forecasting.arma import summary_columns
from meterdp.forecasting.gaussian import summary_rows
from meterdp.forecasting.plausible import mark_rows
from meterdp.forecasting.tables import (
    ARMA_FITS,
    ARMA_SUMMARY,
    FORECAST_DISTRIBUTIONS,
    FORECAST_MARKS,
    FORECAST_MARKS_SUMMARY,
    FORECASTS,
    FORECASTS_KWH,
    GAUSSIAN_CHECKS,
    GAUSSIAN_SUMMARY,
    INTERVAL_ENDS,
)

TABLES = (ARMA_FITS, FORECASTS, INTERVAL_ENDS, FORECAST_DISTRIBUTIONS, FORECASTS_KWH, GAUSSIAN_CHECKS, FORECAST_MARKS)

with job(snakemake.input, snakemake.log) as write:
    joined = {table.name: read_parts(snakemake.input[table.name], table) for table in TABLES}
    for table in TABLES:
        write(snakemake.output[table.name], table, joined[table.name])
    fits = joined["arma_fits"].select(["status", "window"]).to_pydict()
    write(snakemake.output.summary, ARMA_SUMMARY, summary_columns(fits["status"], fits["window"]))
    marks = joined["forecast_marks"]["mark"].to_pylist()
    write(snakemake.output.marks, FORECAST_MARKS_SUMMARY, pd.DataFrame(mark_rows(marks)))
    checks = joined["gaussian_checks"].to_pandas()
    write(snakemake.output.gaussian_summary, GAUSSIAN_SUMMARY, pd.DataFrame(summary_rows(checks)))
