"""Compute delta(epsilon) of every noise design: the worst pair of neighbours, Chernoff and Monte Carlo."""

import pandas as pd

from meterdp.classnoise.tables import DELTA_CURVES, NEIGHBOUR_GRAPH, NOISE_DESIGNS
from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_LAWS
from meterdp.release.study_curves import study_curves

with job(snakemake.input, snakemake.log) as write:
    laws = read_table(snakemake.input.laws, FORECAST_LAWS)
    graph = read_table(snakemake.input.graph, NEIGHBOUR_GRAPH)
    designs = read_table(snakemake.input.designs, NOISE_DESIGNS)
    rows = study_curves(laws, graph, designs, snakemake.params.class_noise, snakemake.params.seed)
    write(snakemake.output.curves, DELTA_CURVES, pd.DataFrame(rows, columns=DELTA_CURVES.schema.names))
