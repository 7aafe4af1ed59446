"""Gather all splits of Fig. 2 or 3 of Park et al. and average over them."""

from meterdp.core.job import job
from meterdp.core.parquet import read_parts
from meterdp_papers.common.datasets import registry
from meterdp_papers.park.data import records_of
from meterdp_papers.park.likelihoods import compare, summarise
from meterdp_papers.park.tables import PARK_CURVE, PARK_LIKELIHOODS, PARK_OURS

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    records = records_of(
        snakemake.wildcards.figure, registry(snakemake.input.registry), params.data_dir, params.trials
    )
    runs = read_parts(snakemake.input.parts, PARK_LIKELIHOODS).to_pandas()
    write(snakemake.output.whole, PARK_LIKELIHOODS, runs)
    write(snakemake.output.curve, PARK_CURVE, summarise(runs, records.source))
    write(snakemake.output.ours, PARK_OURS, compare(runs, records.source))
