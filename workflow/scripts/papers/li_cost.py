"""Count what one iteration of distributed EM sends, against the number of nodes and the dimension."""

from meterdp.core.job import job
from meterdp_papers.li.likelihoods import cost_table, exponents
from meterdp_papers.li.tables import LI_COST, LI_EXPONENTS

with job(snakemake.input, snakemake.log) as write:
    cost = cost_table(snakemake.params.trials, snakemake.params.seed)
    write(snakemake.output.cost, LI_COST, cost)
    write(snakemake.output.exponents, LI_EXPONENTS, exponents(cost))
