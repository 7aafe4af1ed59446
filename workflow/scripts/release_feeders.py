"""Release the energy per feeder through gate and ledger, and hand over its files."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.exports.roster import read_roster
from meterdp.exports.tables import METERS
from meterdp.feeders.records import listed_records
from meterdp.release.desk import Desk
from meterdp.release.feeders import Feeders, feeder_window, release_feeders
from meterdp.release.gate import check_meters

with job(snakemake.input, snakemake.log):
    config = snakemake.params.config
    known, roster = read_table(snakemake.input.known, METERS), read_roster(snakemake.input.meters)
    records = listed_records(snakemake.input.log_load, known.num_rows, feeder_window(config), config)
    check_meters(known["meter_id"].to_pylist(), roster.meter_ids, len(records))
    desk = Desk(config, Path(snakemake.input.meters).read_bytes(), snakemake.params.simulated)
    files, handed_over = release_feeders(records, Feeders.of_roster(roster), desk)
    desk.hand_over(files, Path(snakemake.output.files[0]).parent)
    handed_over()
