"""Read the export into canonical readings and count every row that is not used."""

from meterdp.core.job import job
from meterdp.ingest.ingest import ingest
from meterdp.ingest.meter_list import read_meter_list
from meterdp.ingest.settings import ExportSettings

with job(snakemake.input, snakemake.log):
    meters = snakemake.input.get("meters") or None
    ingest(
        snakemake.input.export,
        ExportSettings.from_config({**snakemake.params.export, "meters": meters}),
        meter_list=None if meters is None else read_meter_list(meters),
        readings_paths=snakemake.output.readings,
        meters_path=snakemake.output.meters,
        report_path=snakemake.output.report,
        changes_path=snakemake.output.changes,
        kept_folder=snakemake.params.kept,
        months_of=snakemake.params.export["time_zone"],
        threads=snakemake.threads,
        memory_bytes=snakemake.resources.mem_mb << 20,
        metadata={"synthetic": "yes" if snakemake.params.simulated else "no"},
    )
