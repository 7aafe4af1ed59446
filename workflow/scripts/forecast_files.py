"""Draw the noise of every household's forecast and write one file each under a random release id (study mode)."""

from pathlib import Path

from meterdp.class_noise.study import studied
from meterdp.class_noise.tables import DELTA_CURVES, NOISE_DESIGNS
from meterdp.core.job import carried_metadata, job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.grid import LocalTime
from meterdp.publish.tables import CROSSWALK, FORECAST_EXAMPLES
from meterdp.release.study_forecasts import public_settings, release_study_forecasts

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    salt = Path(snakemake.input.salt).read_text().strip()
    distributions = read_table(snakemake.input.distributions, FORECAST_DISTRIBUTIONS)
    designs = read_table(snakemake.input.designs, NOISE_DESIGNS)
    curves = read_table(snakemake.input.curves, DELTA_CURVES)
    export = params.export
    wanted = distributions["household"].to_numpy()
    load = read_log_load(snakemake.input.log_load, wanted, LocalTime.of(export))
    public = public_settings(export, params.forecast, params.profiles, params.neighbourhoods)
    scale = LogScale.of_interval(params.profiles, export["interval_minutes"])
    released = release_study_forecasts(
        distributions, designs, curves, load, studied(params.class_noise), public, scale, params.seed, salt
    )
    released.write_files(snakemake.output.folder, carried_metadata(snakemake.input))
    write(snakemake.output.crosswalk, CROSSWALK, released.crosswalk)
    write(snakemake.output.examples, FORECAST_EXAMPLES, released.examples)
