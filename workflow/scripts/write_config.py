"""Write out the configuration the study really used, defaults filled in."""

import yaml

from meterdp.core.job import job
from meterdp.core.parquet import atomic_path

with job(snakemake.input, snakemake.log), atomic_path(snakemake.output.config) as path:
    path.write_text(yaml.safe_dump(snakemake.params.config, sort_keys=False, allow_unicode=True))
