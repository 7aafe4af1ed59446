"""Write what was charged for releases so far as a page, with the released months side by side."""

from meterdp.core.job import job
from meterdp.figures.ledger import write_ledger_page
from meterdp.privacy.ledger import Ledger

with job(snakemake.input, snakemake.log):
    write_ledger_page(Ledger(snakemake.params.ledger), snakemake.output.page)
