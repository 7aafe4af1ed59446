"""Run one split of Fig. 2 or 3 of Park et al. under every variant."""

from meterdp.core.job import job
from meterdp_papers.common.datasets import registry
from meterdp_papers.park.data import records_of
from meterdp_papers.park.likelihoods import run_split
from meterdp_papers.park.tables import PARK_LIKELIHOODS

with job(snakemake.input, snakemake.log) as write:
    params, wildcards = snakemake.params, snakemake.wildcards
    records = records_of(wildcards.figure, registry(snakemake.input.registry), params.data_dir, params.trials)
    runs = run_split(wildcards.figure, records, int(wildcards.number), params.trials, params.seed)
    write(snakemake.output.runs, PARK_LIKELIHOODS, runs)
