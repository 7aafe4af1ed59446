"""Gather all folds of Fig. 4 of Park et al., average over them and show the first."""

from meterdp.core.job import job
from meterdp.core.parquet import read_parts
from meterdp_papers.common.datasets import registry
from meterdp_papers.park.clusters import on_the_map, summarise
from meterdp_papers.park.data import records_of
from meterdp_papers.park.tables import PARK_CLUSTERS, PARK_FOLDS, PARK_NICV

with job(snakemake.input, snakemake.log) as write:
    params, output = snakemake.params, snakemake.output
    records = records_of("fig4", registry(snakemake.input.registry), params.data_dir, params.trials)
    folds = read_parts(snakemake.input.parts, PARK_FOLDS).to_pandas()
    nicv = summarise(folds, records.source)
    write(output.folds, PARK_FOLDS, folds)
    write(output.nicv, PARK_NICV, nicv)
    write(output.map, PARK_CLUSTERS, on_the_map(folds, nicv, records))
