"""Design the class-based noise of every (design, query model, rho)."""

from meterdp.classnoise.study import design_all, design_columns, report_columns
from meterdp.classnoise.tables import NEIGHBOUR_GRAPH, NOISE_DESIGN_REPORTS, NOISE_DESIGNS
from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_LAWS

with job(snakemake.input, snakemake.log) as write:
    laws = read_table(snakemake.input.laws, FORECAST_LAWS)
    noises = design_all(laws, read_table(snakemake.input.graph, NEIGHBOUR_GRAPH), snakemake.params.class_noise)
    write(snakemake.output.designs, NOISE_DESIGNS, design_columns(laws["household"].to_numpy(), noises))
    write(snakemake.output.reports, NOISE_DESIGN_REPORTS, report_columns(noises))
