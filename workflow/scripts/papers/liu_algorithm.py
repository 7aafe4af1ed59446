"""Watch Algorithm 1 of Liu et al. converge, and time its semi-definite program."""

from meterdp.core.job import job
from meterdp.mixture.gmm import EIGENVALUE_FLOOR
from meterdp_papers.liu.synthetic import convergence, sdp_work
from meterdp_papers.liu.tables import LIU_CONVERGENCE, LIU_SDP_WORK

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    write(
        snakemake.output.convergence,
        LIU_CONVERGENCE,
        convergence(params.trials, EIGENVALUE_FLOOR, params.seed),
    )
    write(snakemake.output.sdp_work, LIU_SDP_WORK, sdp_work(params.trials, EIGENVALUE_FLOOR, params.seed))
