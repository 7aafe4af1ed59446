"""Run the household figures of Ramakrishna et al. on the forecasts of the study."""

from meterdp.class_noise.tables import NEIGHBOUR_GRAPH
from meterdp.core.job import job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.grid import LocalTime
from meterdp.publish.tables import FORECAST_EXAMPLES
from meterdp_papers.ramakrishna import households
from meterdp_papers.ramakrishna.tables import (
    RAMAKRISHNA_DESCENTS,
    RAMAKRISHNA_FIG3_ERRORS,
    RAMAKRISHNA_FIG4,
    RAMAKRISHNA_NUMBERS,
)

with job(snakemake.input, snakemake.log) as write:
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    distributions, graph = (
        read_table(inputs.distributions, FORECAST_DISTRIBUTIONS),
        read_table(inputs.graph, NEIGHBOUR_GRAPH),
    )
    wanted = distributions["household"].to_numpy()
    load = read_log_load(inputs.log_load, wanted, LocalTime.of(params.local_time))
    scale = LogScale.of_interval(params.log_scale, params.local_time["interval_minutes"])
    curves, descents = households.fig4(distributions, graph, params.simulated)
    write(outputs.curves, RAMAKRISHNA_FIG4, curves)
    write(outputs.numbers, RAMAKRISHNA_NUMBERS, households.printed_beside_ours(curves))
    write(outputs.descents, RAMAKRISHNA_DESCENTS, descents)
    examples, errors = households.fig3(distributions, graph, load, scale, params.seed, params.simulated)
    write(outputs.examples, FORECAST_EXAMPLES, examples)
    write(outputs.errors, RAMAKRISHNA_FIG3_ERRORS, errors)
