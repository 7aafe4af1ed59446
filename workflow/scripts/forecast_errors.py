"""Judge forecasts, naive forecasts and released forecasts against held-out readings."""

import pandas as pd

from meterdp.class_noise.tables import NEIGHBOUR_GRAPH, NOISE_DESIGNS
from meterdp.core.job import job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.evaluation.forecast_errors import judge_forecasts
from meterdp.evaluation.tables import FORECAST_ERRORS, FORECAST_INTERVALS
from meterdp.forecasting.tables import FORECASTS, INTERVAL_ENDS

with job(snakemake.input, snakemake.log) as write:
    inputs, params = snakemake.input, snakemake.params
    errors, intervals = judge_forecasts(
        read_table(inputs.forecasts, FORECASTS),
        read_table(inputs.ends, INTERVAL_ENDS),
        read_table(inputs.graph, NEIGHBOUR_GRAPH),
        read_table(inputs.designs, NOISE_DESIGNS),
        LogScale.of_interval(params.log_scale, params.interval_minutes),
    )
    write(snakemake.output.errors, FORECAST_ERRORS, pd.DataFrame(errors))
    write(snakemake.output.intervals, FORECAST_INTERVALS, pd.DataFrame(intervals))
