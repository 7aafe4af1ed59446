"""Release the energy per feeder through gate and ledger, and hand over its files."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.feeders.records import listed_records
from meterdp.ingest.meter_list import read_meter_list
from meterdp.ingest.tables import METERS
from meterdp.release.feeders import Feeders, feeder_window, release_feeders
from meterdp.release.gate import check_meters
from meterdp.release.service import ReleaseService

with job(snakemake.input, snakemake.log):
    config = snakemake.params.config
    known, meter_list = read_table(snakemake.input.known, METERS), read_meter_list(snakemake.input.meters)
    records = listed_records(snakemake.input.log_load, known.num_rows, feeder_window(config), config)
    check_meters(known["meter_id"].to_pylist(), meter_list.meter_ids, len(records))
    service = ReleaseService(config, Path(snakemake.input.meters).read_bytes(), snakemake.params.simulated)
    files, handed_over = release_feeders(records, Feeders.of_meter_list(meter_list), service)
    service.hand_over(files, Path(snakemake.output.files[0]).parent)
    handed_over()
