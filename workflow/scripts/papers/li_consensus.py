"""Follow the average consensus of Li et al. round by round, for dual noise of many sizes."""

from meterdp.core.job import job
from meterdp_papers.li.likelihoods import consensus_table
from meterdp_papers.li.tables import LI_CONSENSUS

with job(snakemake.input, snakemake.log) as write:
    write(snakemake.output.consensus, LI_CONSENSUS, consensus_table(snakemake.params.seed))
