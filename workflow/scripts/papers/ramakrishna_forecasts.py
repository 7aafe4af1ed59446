"""Forecast the chosen households as Ramakrishna et al. do: fixed season, coefficients estimated once."""

import pandas as pd

from meterdp.core.job import job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS, FORECAST_HOUSEHOLDS
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.grid import LocalTime
from meterdp_papers.ramakrishna.households import paper_forecasts
from meterdp_papers.ramakrishna.tables import RAMAKRISHNA_FORECAST_ERRORS

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    chosen = read_table(snakemake.input.households, FORECAST_HOUSEHOLDS)["household"].to_numpy()
    load = read_log_load(snakemake.input.log_load, chosen, LocalTime.of(params.local_time))
    scale = LogScale.of_interval(params.log_scale, params.local_time["interval_minutes"])
    found = paper_forecasts(load, params.forecast, scale, snakemake.threads)
    write(snakemake.output.distributions, FORECAST_DISTRIBUTIONS, found.distributions)
    write(snakemake.output.errors, RAMAKRISHNA_FORECAST_ERRORS, pd.DataFrame(found.errors))
