"""Design the class-based noise of every (design, query model, rho) and compare the designs at equal budgets."""

import numpy as np
import pandas as pd

from meterdp.class_noise.curves import design_comparison_rows
from meterdp.class_noise.study import design_all, design_columns, queries_of, studied
from meterdp.class_noise.tables import DESIGN_COMPARISON, NEIGHBOUR_GRAPH, NOISE_DESIGNS
from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS

with job(snakemake.input, snakemake.log) as write:
    settings = studied(snakemake.params.class_noise)
    distributions = read_table(snakemake.input.distributions, FORECAST_DISTRIBUTIONS)
    graph = read_table(snakemake.input.graph, NEIGHBOUR_GRAPH)
    noises = design_all(distributions, graph, settings)
    write(snakemake.output.designs, NOISE_DESIGNS, design_columns(distributions["household"].to_numpy(), noises))
    queries = {model: queries_of(distributions, graph, model) for model in settings["query_models"]}
    rows = design_comparison_rows(queries, noises, np.array(settings["epsilons"]), settings["accuracy_convention"])
    comparison = pd.DataFrame(rows, columns=DESIGN_COMPARISON.schema.names)
    write(snakemake.output.comparison, DESIGN_COMPARISON, comparison)
