"""Draw the noise of every household's forecast and write one file each under a random release id (study mode)."""

from pathlib import Path

from meterdp.classnoise.tables import CROSSWALK, FORECAST_EXAMPLES, NOISE_DESIGNS
from meterdp.core.job import carried_metadata, job
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_LAWS
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.seasonal import interval_bounds_kwh
from meterdp.release.study_forecasts import release_study_forecasts

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    salt = Path(snakemake.input.salt).read_text().strip()
    laws = read_table(snakemake.input.laws, FORECAST_LAWS)
    designs = read_table(snakemake.input.designs, NOISE_DESIGNS)
    wanted = laws["household"].to_numpy()
    load = read_log_load(snakemake.input.log_load, wanted, params.interval_minutes, params.time_zone)
    bounds_kwh = interval_bounds_kwh(params.clip_kwh_per_hour, params.interval_minutes)
    released = release_study_forecasts(laws, designs, load, params.class_noise, bounds_kwh, params.seed, salt)
    released.write_files(snakemake.output.folder, carried_metadata(snakemake.input))
    write(snakemake.output.crosswalk, CROSSWALK, released.crosswalk)
    write(snakemake.output.examples, FORECAST_EXAMPLES, released.examples)
