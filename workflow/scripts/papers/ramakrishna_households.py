"""Run the household figures of Ramakrishna et al. on the forecasts of the study."""

from meterdp.classnoise.tables import NEIGHBOUR_GRAPH
from meterdp.core.job import job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_LAWS
from meterdp.profiles.dense import read_log_load
from meterdp.release.tables import FORECAST_EXAMPLES
from meterdp_papers.ramakrishna import households
from meterdp_papers.ramakrishna.tables import (
    RAMAKRISHNA_DESCENTS,
    RAMAKRISHNA_FIG3_ERRORS,
    RAMAKRISHNA_FIG4,
    RAMAKRISHNA_NUMBERS,
)

with job(snakemake.input, snakemake.log) as write:
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    laws, graph = read_table(inputs.laws, FORECAST_LAWS), read_table(inputs.graph, NEIGHBOUR_GRAPH)
    wanted = laws["household"].to_numpy()
    load = read_log_load(inputs.log_load, wanted, params.interval_minutes, params.time_zone)
    scale = LogScale.of_interval(params.log_scale, params.interval_minutes)
    curves, descents = households.fig4(laws, graph, params.simulated)
    write(outputs.curves, RAMAKRISHNA_FIG4, curves)
    write(outputs.numbers, RAMAKRISHNA_NUMBERS, households.printed_beside_ours(curves))
    write(outputs.descents, RAMAKRISHNA_DESCENTS, descents)
    examples, errors = households.fig3(laws, graph, load, scale, params.seed, params.simulated)
    write(outputs.examples, FORECAST_EXAMPLES, examples)
    write(outputs.errors, RAMAKRISHNA_FIG3_ERRORS, errors)
