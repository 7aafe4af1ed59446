"""Watch Algorithm 1 of Liu et al. converge, and time its semi-definite program."""

from meterdp.core.job import job
from meterdp.papers.liu.algorithm import convergence, sdp_times
from meterdp.papers.liu.tables import LIU_CONVERGENCE, LIU_SDP_TIMES

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    write(
        snakemake.output.convergence,
        LIU_CONVERGENCE,
        convergence(params.trials, params.eigenvalue_floor, params.seed),
    )
    write(snakemake.output.sdp_times, LIU_SDP_TIMES, sdp_times(params.eigenvalue_floor, params.seed))
