"""Judge every claim of Liu et al. from the tables of the reproduction."""

from meterdp.core.job import job
from meterdp.core.parquet import metadata_of, read_table
from meterdp.profiles.tables import PROFILE_HOURS
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.liu.scorecard import scorecard
from meterdp_papers.registry import catalogue

with job(snakemake.input, snakemake.log) as write:
    declared = catalogue()
    paths = dict(snakemake.input.items())
    hours = read_table(paths.pop("hours"), PROFILE_HOURS).num_rows
    tables = {name: read_table(p, declared[metadata_of(p)["table"]]).to_pandas() for name, p in paths.items()}
    write(snakemake.output.scorecard, SCORECARD, scorecard(tables, hours, snakemake.params.simulated))
