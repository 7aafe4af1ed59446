"""Audit one part: run its mechanisms on neighbouring data sets and bound epsilon from below."""

from meterdp.audit.study import audit_part
from meterdp.audit.tables import AUDIT
from meterdp.core.job import job
from meterdp.simulate.parameters import SimulationParameters

with job(snakemake.input, snakemake.log) as write:
    parameters = SimulationParameters.from_yaml(snakemake.input.parameters)
    write(snakemake.output.audit, AUDIT, audit_part(snakemake.wildcards.part, snakemake.params.config, parameters))
