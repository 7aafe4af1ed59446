"""Run one batch of the synthetic sets behind Fig. 2 of Ramakrishna et al."""

from meterdp.core.job import job
from meterdp_papers.common.tables import batch
from meterdp_papers.ramakrishna.synthetic import run_trials
from meterdp_papers.ramakrishna.tables import RAMAKRISHNA_DESCENTS, RAMAKRISHNA_TRIALS

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    curves, descents = run_trials(batch(int(snakemake.wildcards.batch), params.batches, params.trials), params.seed)
    write(snakemake.output.trials, RAMAKRISHNA_TRIALS, curves)
    write(snakemake.output.descents, RAMAKRISHNA_DESCENTS, descents)
