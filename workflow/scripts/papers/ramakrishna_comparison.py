"""Compare our noise designs with those of Ramakrishna et al. at equal budgets, on the forecasts of the study."""

import pandas as pd

from meterdp.class_noise.tables import DESIGN_COMPARISON, NEIGHBOUR_GRAPH
from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS
from meterdp_papers.ramakrishna.households import comparison

with job(snakemake.input, snakemake.log) as write:
    distributions = read_table(snakemake.input.distributions, FORECAST_DISTRIBUTIONS)
    graph = read_table(snakemake.input.graph, NEIGHBOUR_GRAPH)
    rows = comparison(distributions, graph, snakemake.wildcards.model)
    write(snakemake.output.part, DESIGN_COMPARISON, pd.DataFrame(rows, columns=DESIGN_COMPARISON.schema.names))
