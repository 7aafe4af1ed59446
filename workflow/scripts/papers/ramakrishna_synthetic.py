"""Summarise the synthetic sets of Ramakrishna et al.: the classes shown and their curves."""

from meterdp.core.job import job
from meterdp.core.parquet import read_parts
from meterdp_papers.ramakrishna.synthetic import set_columns, summarise, trial_set
from meterdp_papers.ramakrishna.tables import RAMAKRISHNA_CLASSES, RAMAKRISHNA_FIG2, RAMAKRISHNA_TRIALS

with job(snakemake.input, snakemake.log) as write:
    write(snakemake.output.classes, RAMAKRISHNA_CLASSES, set_columns(trial_set(0, snakemake.params.seed)))
    trials = read_parts(snakemake.input.parts, RAMAKRISHNA_TRIALS).to_pandas()
    write(snakemake.output.curves, RAMAKRISHNA_FIG2, summarise(trials))
