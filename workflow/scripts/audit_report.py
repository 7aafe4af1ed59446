"""Draw the figure of the audit and write its page."""

from meterdp.core.job import job
from meterdp.report.audit import audit_bounds, build_audit_report

with job(snakemake.input, snakemake.log):
    audit_bounds.draw(snakemake.input.audit, output=snakemake.output.figure)
    build_audit_report(snakemake.input.audit, snakemake.output.figure, snakemake.output.report)
