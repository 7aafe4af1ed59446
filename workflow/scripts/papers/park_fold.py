"""Cluster one fold of Fig. 4 of Park et al. by every method under every variant."""

from meterdp.core.job import job
from meterdp_papers.common.datasets import registry
from meterdp_papers.park.clusters import run_fold
from meterdp_papers.park.data import records_of
from meterdp_papers.park.tables import PARK_FOLDS, starts_of

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    records = records_of("fig4", registry(snakemake.input.registry), params.data_dir, params.trials)
    starts = starts_of(params.trials)
    write(snakemake.output.fold, PARK_FOLDS, run_fold(records, int(snakemake.wildcards.number), params.seed, starts))
