"""Release the mixture through gate and ledger, and hand over its files."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.mixture.study import Records
from meterdp.profiles.tables import PROFILES
from meterdp.release.mixture import release_mixture
from meterdp.release.publish import publish

with job(snakemake.input, snakemake.log):
    records = Records.from_table(read_table(snakemake.input.profiles, PROFILES))
    files = release_mixture(
        records.log_kwh,
        Path(snakemake.input.meters).read_bytes(),
        snakemake.params.config,
        simulated=snakemake.params.simulated,
    )
    publish(files, Path(snakemake.output.files[0]).parent)
