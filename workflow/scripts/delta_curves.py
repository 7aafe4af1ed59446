"""Compute delta(epsilon) of every noise design: exact, for the worst pair of neighbours."""

import pandas as pd

from meterdp.class_noise.curves import study_curves
from meterdp.class_noise.study import studied
from meterdp.class_noise.tables import DELTA_CURVES, NEIGHBOUR_GRAPH, NOISE_DESIGNS
from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS

with job(snakemake.input, snakemake.log) as write:
    distributions = read_table(snakemake.input.distributions, FORECAST_DISTRIBUTIONS)
    graph = read_table(snakemake.input.graph, NEIGHBOUR_GRAPH)
    designs = read_table(snakemake.input.designs, NOISE_DESIGNS)
    rows = study_curves(distributions, graph, designs, studied(snakemake.params.class_noise))
    write(snakemake.output.curves, DELTA_CURVES, pd.DataFrame(rows, columns=DELTA_CURVES.schema.names))
