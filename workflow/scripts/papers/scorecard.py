"""Judge every claim of a paper from the tables of the reproduction."""

from meterdp.core.job import job
from meterdp.core.parquet import metadata_of, read_parts
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.li import scorecard as li
from meterdp_papers.liu import scorecard as liu
from meterdp_papers.park import scorecard as park
from meterdp_papers.ramakrishna import scorecard as ramakrishna
from meterdp_papers.registry import catalogue

CLAIMS = {"liu": liu.CLAIMS, "ramakrishna": ramakrishna.CLAIMS, "park": park.CLAIMS, "li": li.CLAIMS}

with job(snakemake.input, snakemake.log) as write:
    declared, tables = catalogue(), {}
    for name, paths in snakemake.input.items():
        parts = [paths] if isinstance(paths, str) else paths
        tables[name] = read_parts(parts, declared[metadata_of(parts[0])["table"]]).to_pandas()
    write(snakemake.output.scorecard, SCORECARD, CLAIMS[snakemake.params.paper].scorecard(tables))
