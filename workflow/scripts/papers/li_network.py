"""Write down the example of Li et al.: Fig. 1."""

from meterdp.core.job import job
from meterdp_papers.li.exposure import example_table
from meterdp_papers.li.tables import LI_NETWORK

with job(snakemake.input, snakemake.log) as write:
    write(snakemake.output.network, LI_NETWORK, example_table())
