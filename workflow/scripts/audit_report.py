"""Draw the figure of the audit and write its page."""

from meterdp.core.job import job
from meterdp.report.audit import AUDIT_FIGURE, build_audit_report

with job(snakemake.input, snakemake.log):
    AUDIT_FIGURE.draw(audit=snakemake.input.audit, output=snakemake.output.figure)
    build_audit_report(snakemake.input.audit, snakemake.output.figure, snakemake.output.report)
