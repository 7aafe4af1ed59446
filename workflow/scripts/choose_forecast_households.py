"""Choose the households to forecast by a fixed order that looks at no reading; refuse too short an export."""

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.select import check_room, choose_households, study_calendar
from meterdp.forecasting.tables import FORECAST_HOUSEHOLDS
from meterdp.profiles.grid import LocalTime
from meterdp.profiles.tables import QUALITY

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    quality = read_table(snakemake.input.quality, QUALITY).to_pandas()
    slots = int(quality["expected_readings"].max()) if len(quality) else 0
    calendar = study_calendar(snakemake.input.log_load, slots, LocalTime.of(params.local_time))
    if calendar is not None:
        check_room(calendar, params.train_days, params.horizon_steps, params.origins)
    kept = quality.loc[quality["kept"], "household"].to_numpy()
    write(snakemake.output.households, FORECAST_HOUSEHOLDS, {"household": choose_households(kept, params.households)})
