"""Write what was charged for releases so far as a page, with the released months side by side."""

from meterdp.core.job import job
from meterdp.privacy.ledger import Ledger
from meterdp.report.ledger import write_ledger_page

with job(snakemake.input, snakemake.log):
    write_ledger_page(Ledger(snakemake.params.ledger), snakemake.output.page)
