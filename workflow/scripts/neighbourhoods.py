"""Find the households whose forecasts must not reveal which is whose, and write the graph."""

from meterdp.class_noise.neighbourhoods import graph_columns, neighbourhood_columns, summary_columns
from meterdp.class_noise.study import study_neighbourhoods
from meterdp.class_noise.tables import NEIGHBOUR_GRAPH, NEIGHBOURHOOD_SUMMARY, NEIGHBOURHOODS
from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_HOUSEHOLDS
from meterdp.ingest.tables import INGEST_REPORT, METERS
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.grid import LocalTime

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    chosen = read_table(snakemake.input.households, FORECAST_HOUSEHOLDS)["household"].to_numpy()
    load = read_log_load(snakemake.input.log_load, chosen, LocalTime.of(params.local_time))
    meters = read_table(snakemake.input.meters, METERS)
    reasons = read_table(snakemake.input.report, INGEST_REPORT)["reason"].to_pylist()
    all_read = "file_unreadable" not in reasons
    found = study_neighbourhoods(
        load, meters, params.neighbourhoods, params.train_days, params.seed, all_read=all_read
    )
    write(snakemake.output.neighbourhoods, NEIGHBOURHOODS, neighbourhood_columns(load.household, found.neighbourhood))
    graph = graph_columns(load.household, found.neighbourhood, found.pairs)
    write(snakemake.output.graph, NEIGHBOUR_GRAPH, graph)
    write(snakemake.output.summary, NEIGHBOURHOOD_SUMMARY, summary_columns(found))
