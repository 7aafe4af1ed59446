"""Judge every claim of Li et al. from the tables of the reproduction."""

from meterdp.core.job import job
from meterdp.core.parquet import metadata_of, read_table
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.li.scorecard import scorecard
from meterdp_papers.registry import catalogue

with job(snakemake.input, snakemake.log) as write:
    declared = catalogue()
    paths = dict(snakemake.input.items())
    tables = {name: read_table(p, declared[metadata_of(p)["table"]]).to_pandas() for name, p in paths.items()}
    write(snakemake.output.scorecard, SCORECARD, scorecard(tables))
