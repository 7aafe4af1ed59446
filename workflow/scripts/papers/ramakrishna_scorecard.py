"""Judge every claim of Ramakrishna et al. from the tables of the reproduction."""

from meterdp.core.job import job
from meterdp.core.parquet import metadata_of, read_parts, read_table
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.ramakrishna.scorecard import scorecard
from meterdp_papers.ramakrishna.tables import RAMAKRISHNA_DESCENTS
from meterdp_papers.registry import catalogue

with job(snakemake.input, snakemake.log) as write:
    declared, paths = catalogue(), dict(snakemake.input.items())
    descents = read_parts(paths.pop("descents"), RAMAKRISHNA_DESCENTS).to_pandas()
    tables = {name: read_table(p, declared[metadata_of(p)["table"]]).to_pandas() for name, p in paths.items()}
    write(snakemake.output.scorecard, SCORECARD, scorecard(tables | {"descents": descents}))
