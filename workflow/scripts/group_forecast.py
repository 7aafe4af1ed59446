"""Measure the group forecast at every epsilon and write one draw of it as files (study mode)."""

from pathlib import Path

from meterdp.core.job import carried_metadata, job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_parts, read_table
from meterdp.evaluation.group_errors import group_error_columns
from meterdp.evaluation.tables import GROUP_FORECAST_ERRORS
from meterdp.forecasting.tables import GROUP_RECORDS
from meterdp.groupforecast.study import STUDIED, GroupStudy
from meterdp.ingest.tables import METERS
from meterdp.publish.tables import CROSSWALK
from meterdp.release.study_forecasts import write_group_forecasts

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    study = GroupStudy.from_tables(
        read_parts(snakemake.input.records, GROUP_RECORDS),
        read_table(snakemake.input.meters, METERS),
        params.households,
        params.export["interval_minutes"],
        params.default_kwh_per_hour,
        STUDIED,
        LogScale.of_interval(params.log_scale, params.export["interval_minutes"]),
    )
    write(snakemake.output.errors, GROUP_FORECAST_ERRORS, group_error_columns(study, params.seed))
    salt = Path(snakemake.input.salt).read_text().strip()
    facts, zone = carried_metadata(snakemake.input), params.export["time_zone"]
    crosswalk = write_group_forecasts(
        study, params.groups, params.epsilon, snakemake.output.folder, params.seed, salt, zone, facts
    )
    write(snakemake.output.crosswalk, CROSSWALK, crosswalk)
