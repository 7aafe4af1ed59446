"""Answer the two questions of class-based noise for every design: error for a guarantee, guarantee for an error."""

import pandas as pd

from meterdp.classnoise.inverse import answer_rows, askers
from meterdp.classnoise.tables import NEIGHBOUR_GRAPH, NOISE_ANSWERS
from meterdp.core.job import job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_LAWS

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    laws = read_table(snakemake.input.laws, FORECAST_LAWS)
    graph = read_table(snakemake.input.graph, NEIGHBOUR_GRAPH)
    scale = LogScale.of_interval(params.log_scale, params.interval_minutes)
    asked = params.class_noise["answers"]
    found = askers(laws, graph, params.class_noise, scale)
    rows = answer_rows(found, asked["guarantees"], asked["errors_kwh"])
    write(snakemake.output.answers, NOISE_ANSWERS, pd.DataFrame(rows, columns=NOISE_ANSWERS.schema.names))
