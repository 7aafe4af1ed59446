"""Compute delta(epsilon) of every noise design: exact, for the worst pair of neighbours, and under a prior."""

import pandas as pd

from meterdp.class_noise.curves import study_curves
from meterdp.class_noise.study import studied
from meterdp.class_noise.tables import DELTA_CURVES, DELTA_UNDER_PRIOR, NEIGHBOUR_GRAPH, NOISE_DESIGNS, WORST_PAIRS
from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS

with job(snakemake.input, snakemake.log) as write:
    distributions = read_table(snakemake.input.distributions, FORECAST_DISTRIBUTIONS)
    graph = read_table(snakemake.input.graph, NEIGHBOUR_GRAPH)
    designs = read_table(snakemake.input.designs, NOISE_DESIGNS)
    rows = study_curves(distributions, graph, designs, studied(snakemake.params.class_noise))
    files = (snakemake.output.curves, snakemake.output.worst_pairs, snakemake.output.priors)
    for file, table, some in zip(files, (DELTA_CURVES, WORST_PAIRS, DELTA_UNDER_PRIOR), rows, strict=True):
        write(file, table, pd.DataFrame(some, columns=table.schema.names))
