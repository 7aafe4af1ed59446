"""Set the study's forecast beside other forecasters on the same households."""

import pandas as pd

from meterdp.core.job import job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.evaluation.forecasters import comparison_rows
from meterdp.evaluation.tables import FORECASTER_COMPARISON
from meterdp.forecasting.forecasters import Task
from meterdp.forecasting.rolling import forecast_set
from meterdp.forecasting.study import rolling_of
from meterdp.forecasting.tables import FORECASTS
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.grid import LocalTime

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    own = forecast_set(read_table(snakemake.input.forecasts, FORECASTS))
    load = read_log_load(snakemake.input.log_load, own.household, LocalTime.of(params.local_time))
    scale = LogScale.of_interval(params.log_scale, params.local_time["interval_minutes"])
    task = Task(load, rolling_of(load.calendar, params.forecast), params.forecast, snakemake.threads, scale)
    rows = comparison_rows(own, task, params.forecast["compare"])
    write(snakemake.output.comparison, FORECASTER_COMPARISON, pd.DataFrame(rows))
