"""Tabulate the marginal densities per class and hour: histogram, fit and one release per mechanism."""

from meterdp.core.job import job
from meterdp.core.parquet import read_parts, read_table
from meterdp.mechanisms.tables import VARIANT
from meterdp.mixture.describe import marginals
from meterdp.mixture.study import Records, fit_from, mixtures_by_mechanism
from meterdp.mixture.tables import LABELS, MARGINALS
from meterdp.profiles.tables import PROFILES

with job(snakemake.input, snakemake.log) as write:
    records = Records.from_table(read_table(snakemake.input.profiles, PROFILES))
    start = read_table(snakemake.input.labels, LABELS)["start_component"].to_numpy()
    fit = fit_from(records, start, snakemake.params.mixture)
    variants = read_parts(snakemake.input.variants, VARIANT)
    released = mixtures_by_mechanism(variants, snakemake.params.epsilon, fit.mixture)
    write(snakemake.output.marginals, MARGINALS, marginals(records.log_kwh[records.valid], fit, released))
