"""Release a forecast file for every listed household through gate and ledger, and hand the files over."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.core.parquet import read_parts, read_table
from meterdp.forecasting.tables import FORECASTS_AHEAD
from meterdp.groupforecast.study import public_list
from meterdp.ingest.meter_list import read_meter_list
from meterdp.ingest.tables import METERS
from meterdp.release.gate import check_meters
from meterdp.release.household_forecasts import on_the_list, release_household_forecasts
from meterdp.release.service import ReleaseService
from meterdp.release.tables import RELEASE_CROSSWALK

with job(snakemake.input, snakemake.log) as write:
    config = snakemake.params.config
    known, path = read_table(snakemake.input.known, METERS), Path(snakemake.input.meters)
    meter_ids = known["meter_id"].to_pylist()
    check_meters(meter_ids, read_meter_list(path).meter_ids, len(meter_ids))
    listed, circuit = public_list(known, config["release"]["forecast_households"])
    own = on_the_list(read_parts(snakemake.input.forecasts, FORECASTS_AHEAD), listed, config["forecast"])
    service = ReleaseService(config, path.read_bytes(), snakemake.params.simulated)
    delivery = release_household_forecasts(own, circuit, service)
    service.hand_over(delivery.files, Path(snakemake.output.files[0]).parent)
    columns = {"release_id": delivery.release_id, "meter_id": [meter_ids[h] for h in listed]}
    write(snakemake.output.crosswalk, RELEASE_CROSSWALK, columns)
    delivery.handed_over()
