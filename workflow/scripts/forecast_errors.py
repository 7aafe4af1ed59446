"""Judge forecasts, naive forecasts and released forecasts against held-out readings."""

import pandas as pd

from meterdp.classnoise.study import all_errors
from meterdp.classnoise.tables import NOISE_DESIGNS
from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_ERRORS, FORECASTS
from meterdp.profiles.seasonal import interval_bounds_kwh

with job(snakemake.input, snakemake.log) as write:
    forecasts = read_table(snakemake.input.forecasts, FORECASTS)
    bounds_kwh = interval_bounds_kwh(snakemake.params.clip_kwh_per_hour, snakemake.params.interval_minutes)
    rows = all_errors(forecasts, read_table(snakemake.input.designs, NOISE_DESIGNS), bounds_kwh)
    write(snakemake.output.errors, FORECAST_ERRORS, pd.DataFrame(rows))
