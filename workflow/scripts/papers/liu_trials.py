"""Run one batch of the trials behind Figs 1 to 4 of Liu et al."""

from meterdp.core.job import job
from meterdp.mixture.gmm import EIGENVALUE_FLOOR
from meterdp_papers.common.tables import batch
from meterdp_papers.liu.setting import share_of
from meterdp_papers.liu.synthetic import SWEEPS, run_trials
from meterdp_papers.liu.tables import LIU_TRIALS

with job(snakemake.input, snakemake.log) as write:
    params, wildcards = snakemake.params, snakemake.wildcards
    trials = batch(int(wildcards.batch), params.batches, share_of(params.trials, SWEEPS[wildcards.sweep].share))
    rows = run_trials(wildcards.sweep, trials, EIGENVALUE_FLOOR, params.seed)
    write(snakemake.output.trials, LIU_TRIALS, rows)
