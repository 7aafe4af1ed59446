"""Say what it costs to hide a household among k similar ones, and what to hold that against."""

import pandas as pd

from meterdp.class_noise.study import likeness
from meterdp.core.job import job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.evaluation.hide_among import ASKED, hide_among_rows, yardstick_rows
from meterdp.evaluation.tables import HIDE_AMONG, HIDE_AMONG_YARDSTICKS
from meterdp.forecasting.rolling import forecast_set
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS, FORECASTS
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.grid import LocalTime

with job(snakemake.input, snakemake.log) as write:
    inputs, params = snakemake.input, snakemake.params
    distributions = read_table(inputs.distributions, FORECAST_DISTRIBUTIONS)
    load = read_log_load(inputs.log_load, distributions["household"].to_numpy(), LocalTime.of(params.local_time))
    scale = LogScale.of_interval(params.log_scale, params.local_time["interval_minutes"])
    rows = hide_among_rows(distributions, likeness(load, params.train_days), ASKED, params.designs, scale)
    write(snakemake.output.costs, HIDE_AMONG, pd.DataFrame(rows, columns=HIDE_AMONG.schema.names))
    forecasts = forecast_set(read_table(inputs.forecasts, FORECASTS))
    yardsticks = yardstick_rows(forecasts, scale, params.local_time["interval_minutes"])
    write(snakemake.output.yardsticks, HIDE_AMONG_YARDSTICKS, pd.DataFrame(yardsticks))
