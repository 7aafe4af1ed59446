"""Compute the numbers that show every defect of the published texts."""

from itertools import chain

from meterdp.core.job import job
from meterdp.core.noise import StudyNoise
from meterdp_papers.common.tables import ERRATA
from meterdp_papers.errata import as_columns, measure

with job(snakemake.input, snakemake.log) as write:
    findings = measure(lambda defect: StudyNoise(snakemake.params.seed, "errata", defect))
    write(snakemake.output.errata, ERRATA, as_columns(chain.from_iterable(findings.values())))
