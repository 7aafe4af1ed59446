"""Design the class-based noise of every (design, query model, rho) and compare the designs at equal budgets."""

import numpy as np
import pandas as pd

from meterdp.classnoise.comparison import design_comparison_rows
from meterdp.classnoise.study import design_all, design_columns, queries_of, report_columns
from meterdp.classnoise.tables import DESIGN_COMPARISON, NEIGHBOUR_GRAPH, NOISE_DESIGN_REPORTS, NOISE_DESIGNS
from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_LAWS

with job(snakemake.input, snakemake.log) as write:
    settings = snakemake.params.class_noise
    laws = read_table(snakemake.input.laws, FORECAST_LAWS)
    graph = read_table(snakemake.input.graph, NEIGHBOUR_GRAPH)
    noises = design_all(laws, graph, settings)
    write(snakemake.output.designs, NOISE_DESIGNS, design_columns(laws["household"].to_numpy(), noises))
    write(snakemake.output.reports, NOISE_DESIGN_REPORTS, report_columns(noises))
    queries = {model: queries_of(laws, graph, model) for model in settings["query_models"]}
    rows = design_comparison_rows(queries, noises, np.array(settings["epsilons"]), settings["accuracy_convention"])
    comparison = pd.DataFrame(rows, columns=DESIGN_COMPARISON.schema.names)
    write(snakemake.output.comparison, DESIGN_COMPARISON, comparison)
