"""Measure the group forecast at every epsilon and write one draw of it as files (study mode)."""

from pathlib import Path

from meterdp.core.job import carried_metadata, job
from meterdp.core.parquet import read_table
from meterdp.evaluation.group_errors import group_error_columns
from meterdp.evaluation.tables import GROUP_FORECAST_ERRORS
from meterdp.groupforecast.study import STUDIED, public_list, read_last_hours
from meterdp.ingest.tables import METERS
from meterdp.publish.tables import CROSSWALK
from meterdp.release.study_forecasts import write_group_forecasts

with job(snakemake.input, snakemake.log) as write:
    config, meters = snakemake.params.config, read_table(snakemake.input.meters, METERS)
    listed = min(config["release"]["forecast_households"] or len(meters), STUDIED["households"])
    household, circuit = public_list(meters, listed)
    hours = read_last_hours(snakemake.input.log_load, household, config)
    write(snakemake.output.errors, GROUP_FORECAST_ERRORS, group_error_columns(hours, circuit, config, config["seed"]))
    salt, facts = Path(snakemake.input.salt).read_text().strip(), carried_metadata(snakemake.input)
    crosswalk = write_group_forecasts(household, circuit, hours, config, snakemake.output.folder, salt, facts)
    write(snakemake.output.crosswalk, CROSSWALK, crosswalk)
