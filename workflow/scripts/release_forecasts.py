"""Release a forecast for every listed household."""

from meterdp.core.job import job
from meterdp.ingest.meter_list import read_meter_list
from meterdp.publish.tables import RELEASE_CROSSWALK
from meterdp.release import forecasts
from meterdp.release.asked import run

params = snakemake.params
with job(snakemake.input, snakemake.log) as write:
    release_id = run(forecasts, dict(snakemake.input.items()), params.config, params.simulated, params.folder)
    meter_id = forecasts.recipients(params.config, read_meter_list(snakemake.input.meters))
    write(snakemake.output.crosswalk, RELEASE_CROSSWALK, {"release_id": release_id, "meter_id": meter_id})
