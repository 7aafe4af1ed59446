"""Estimate what corrupt nodes learn from simulated transcripts: Fig. 3 of Li et al., and the size of masks."""

from meterdp.core.job import job
from meterdp_papers.li.exposure import masks_of_finite_size, tabulate
from meterdp_papers.li.tables import LI_LEAKAGE, LI_MASKS

with job(snakemake.input, snakemake.log) as write:
    write(snakemake.output.leakage, LI_LEAKAGE, tabulate(snakemake.params.trials, snakemake.params.seed))
    write(snakemake.output.masks, LI_MASKS, masks_of_finite_size())
