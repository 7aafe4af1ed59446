"""Make the private salt of the study's release ids, once; it is kept until somebody deletes it."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.core.noise import new_salt
from meterdp.core.parquet import atomic_path

with job(snakemake.input, snakemake.log):
    if not Path(snakemake.output.salt).exists():
        with atomic_path(snakemake.output.salt) as path:
            path.touch(mode=0o600)
            path.write_text(new_salt() + "\n")
