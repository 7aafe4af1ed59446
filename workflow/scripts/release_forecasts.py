"""Release a forecast for every listed household."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.ingest.meter_list import read_meter_list
from meterdp.publish.tables import RELEASE_CROSSWALK
from meterdp.release import forecasts
from meterdp.release.asked import run

with job(snakemake.input, snakemake.log) as write:
    config, folder = snakemake.params.config, Path(snakemake.output.files[0]).parent
    release_id = run(forecasts, dict(snakemake.input.items()), config, snakemake.params.simulated, folder)
    meter_id = forecasts.recipients(config, read_meter_list(snakemake.input.meters))
    write(snakemake.output.crosswalk, RELEASE_CROSSWALK, {"release_id": release_id, "meter_id": meter_id})
