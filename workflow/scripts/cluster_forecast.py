"""Measure the sound forecast at every epsilon and write one draw of it as files (study mode)."""

from pathlib import Path

from meterdp.core.job import carried_metadata, job
from meterdp.core.parquet import read_table
from meterdp.evaluation.tables import CLUSTER_FORECAST_ERRORS
from meterdp.exports.tables import METERS
from meterdp.forecasting.tables import FORECASTS
from meterdp.profiles.seasonal import interval_bounds_kwh
from meterdp.release.group_forecasts import ClusterStudy
from meterdp.release.tables import CROSSWALK

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    study = ClusterStudy.from_tables(
        read_table(snakemake.input.forecasts, FORECASTS),
        read_table(snakemake.input.meters, METERS),
        params.export["interval_minutes"],
        params.default_kwh_per_hour,
        params.cluster,
        params.seed,
    )
    write(snakemake.output.errors, CLUSTER_FORECAST_ERRORS, study.error_columns())
    salt = Path(snakemake.input.salt).read_text().strip()
    bounds_kwh = interval_bounds_kwh(params.clip_kwh_per_hour, params.export["interval_minutes"])
    facts = carried_metadata(snakemake.input)
    crosswalk = study.write_files(snakemake.output.folder, salt, bounds_kwh, params.export["time_zone"], facts)
    write(snakemake.output.crosswalk, CROSSWALK, crosswalk)
