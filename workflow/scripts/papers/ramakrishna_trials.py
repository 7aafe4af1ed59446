"""Run one batch of the synthetic sets behind Fig. 2 of Ramakrishna et al."""

from meterdp.core.job import job
from meterdp_papers.common.tables import batch
from meterdp_papers.ramakrishna.synthetic import run_trials
from meterdp_papers.ramakrishna.tables import RAMAKRISHNA_DESCENTS, RAMAKRISHNA_TRIALS, most_sets

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    sets = batch(int(snakemake.wildcards.batch), params.batches, most_sets(params.trials))
    curves, descents = run_trials(sets, params.seed, params.trials)
    write(snakemake.output.trials, RAMAKRISHNA_TRIALS, curves)
    write(snakemake.output.descents, RAMAKRISHNA_DESCENTS, descents)
