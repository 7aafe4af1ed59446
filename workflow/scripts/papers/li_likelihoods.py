"""Fit a mixture over nodes by every scheme: Fig. 2 of Li et al."""

from meterdp.core.job import job
from meterdp_papers.common.datasets import registry
from meterdp_papers.li.likelihoods import tabulate, voices
from meterdp_papers.li.tables import LI_LIKELIHOODS

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    records = voices(registry(snakemake.input.registry), params.data_dir)
    write(snakemake.output.likelihoods, LI_LIKELIHOODS, tabulate(records, params.trials, params.seed))
