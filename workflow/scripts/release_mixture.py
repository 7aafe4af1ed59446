"""Release the mixture."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.release import mixture
from meterdp.release.asked import run

with job(snakemake.input, snakemake.log):
    folder = Path(snakemake.output.files[0]).parent
    run(mixture, dict(snakemake.input.items()), snakemake.params.config, snakemake.params.simulated, folder)
