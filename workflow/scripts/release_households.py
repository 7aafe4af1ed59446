"""Release households over the whole period."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.release import households
from meterdp.release.asked import run

with job(snakemake.input, snakemake.log):
    folder = Path(snakemake.output.files[0]).parent
    run(households, dict(snakemake.input.items()), snakemake.params.config, snakemake.params.simulated, folder)
