"""Join the shards' forecasts; count how the fits ended and what to be wary of."""

import pandas as pd

from meterdp.core.job import job
from meterdp.core.parquet import read_parts
from meterdp.forecasting.arma import summary_columns
from meterdp.forecasting.plausible import mark_rows
from meterdp.forecasting.tables import (
    ARMA_FITS,
    ARMA_SUMMARY,
    FORECAST_DISTRIBUTIONS,
    FORECAST_MARKS,
    FORECAST_MARKS_SUMMARY,
    FORECASTS,
    FORECASTS_KWH,
)

TABLES = (ARMA_FITS, FORECASTS, FORECAST_DISTRIBUTIONS, FORECASTS_KWH, FORECAST_MARKS)

with job(snakemake.input, snakemake.log) as write:
    joined = {table.name: read_parts(snakemake.input[table.name], table) for table in TABLES}
    for table in TABLES:
        write(snakemake.output[table.name], table, joined[table.name])
    fits = joined["arma_fits"].select(["status", "window"]).to_pydict()
    write(snakemake.output.summary, ARMA_SUMMARY, summary_columns(fits["status"], fits["window"]))
    marks = joined["forecast_marks"]["mark"].to_pylist()
    write(snakemake.output.marks, FORECAST_MARKS_SUMMARY, pd.DataFrame(mark_rows(marks)))
