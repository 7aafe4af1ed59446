"""Release the mixture through gate and ledger, and hand over its files."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.ingest.meter_list import read_meter_list
from meterdp.ingest.tables import METERS
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records
from meterdp.release.gate import check_meters
from meterdp.release.mixture import release_mixture
from meterdp.release.service import ReleaseService

with job(snakemake.input, snakemake.log):
    records = Records.from_table(read_table(snakemake.input.profiles, PROFILES))
    known = read_table(snakemake.input.known, METERS)
    check_meters(
        known["meter_id"].to_pylist(), read_meter_list(snakemake.input.meters).meter_ids, len(records.log_kwh)
    )
    meter_list = Path(snakemake.input.meters).read_bytes()
    service = ReleaseService(snakemake.params.config, meter_list, snakemake.params.simulated)
    shared, federation = None, snakemake.params.config["federation"]
    if federation["by"] is not None:
        from meterdp.federated.configured import shared_noise

        shared = shared_noise(federation, known)
    files, handed_over = release_mixture(records.log_kwh, service, shared)
    service.hand_over(files, Path(snakemake.output.files[0]).parent)
    handed_over()
