"""Answer the two questions of class-based noise for every design: error for a guarantee, guarantee for an error."""

import pandas as pd

from meterdp.class_noise.inverse import answer_rows, askers
from meterdp.class_noise.study import studied
from meterdp.class_noise.tables import NEIGHBOUR_GRAPH, NOISE_ANSWERS
from meterdp.core.job import job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    distributions = read_table(snakemake.input.distributions, FORECAST_DISTRIBUTIONS)
    graph = read_table(snakemake.input.graph, NEIGHBOUR_GRAPH)
    scale = LogScale.of_interval(params.log_scale, params.interval_minutes)
    asked = studied(params.class_noise)
    found = askers(distributions, graph, asked, scale)
    rows = answer_rows(found, asked["guarantees"], asked["errors_kwh"])
    write(snakemake.output.answers, NOISE_ANSWERS, pd.DataFrame(rows, columns=NOISE_ANSWERS.schema.names))
