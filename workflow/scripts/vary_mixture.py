"""Run one mechanism at every epsilon: a perturbed mixture each, and what the mechanism costs over many draws."""

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.evaluation.study import vary
from meterdp.evaluation.tables import COST
from meterdp.mechanisms.tables import VARIANT
from meterdp.mixture.study import Records, fit_from
from meterdp.mixture.tables import LABELS
from meterdp.profiles.tables import PROFILES

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    records = Records.from_table(read_table(snakemake.input.profiles, PROFILES))
    start = read_table(snakemake.input.labels, LABELS)["start_component"].to_numpy()
    fit = fit_from(records, start, params.mixture)
    settings = (params.mechanisms, params.mixture, params.profiles)
    variant, cost = vary(snakemake.wildcards.mechanism, records, fit, *settings, params.seed)
    write(snakemake.output.variant, VARIANT, variant)
    write(snakemake.output.cost, COST, cost)
