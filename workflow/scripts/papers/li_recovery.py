"""Read records off transcripts of Li et al., and solve for them from sums over iterations of EM."""

from meterdp.core.job import job
from meterdp_papers.common.datasets import registry
from meterdp_papers.li.likelihoods import voices
from meterdp_papers.li.recovery import read_off, tabulate
from meterdp_papers.li.tables import LI_READ_OFF, LI_RECOVERY

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    records = voices(registry(snakemake.input.registry), params.data_dir)
    write(snakemake.output.read_off, LI_READ_OFF, read_off(records, params.trials, params.seed))
    write(snakemake.output.recovery, LI_RECOVERY, tabulate(params.trials, params.seed))
