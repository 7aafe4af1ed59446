"""Release households over the whole period."""

from meterdp.core.job import job
from meterdp.release import households
from meterdp.release.asked import run

params = snakemake.params
with job(snakemake.input, snakemake.log):
    run(households, dict(snakemake.input.items()), params.config, params.simulated, params.folder)
