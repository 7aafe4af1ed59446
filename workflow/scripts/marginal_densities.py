"""Tabulate the marginal densities per class and hour: histogram, fit and one release per mechanism."""

from meterdp.core.job import job
from meterdp.core.parquet import read_parts, read_table
from meterdp.evaluation.sample import labelled_sample
from meterdp.federated.fitted import read_fitted
from meterdp.mechanisms.registry import find_own_classes
from meterdp.mechanisms.tables import VARIANT
from meterdp.mixture.study import fit_from, marginal_columns
from meterdp.mixture.tables import LABELS, MARGINALS
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records

with job(snakemake.input, snakemake.log) as write:
    records = Records.from_table(read_table(snakemake.input.profiles, PROFILES))
    labels = read_table(snakemake.input.labels, LABELS)["start_component"].to_numpy()
    began, fitted = read_fitted(snakemake.input.elsewhere)
    records, start = labelled_sample(records, labels, snakemake.params.classes, snakemake.params.seed, began)
    fit = fit_from(records, start, fitted)
    variants = read_parts(snakemake.input.variants, VARIANT)
    x = records.log_kwh[records.valid]
    own = find_own_classes(variants["mechanism"].to_pylist())
    columns = marginal_columns(x, fit, variants, snakemake.params.epsilon, own)
    write(snakemake.output.marginals, MARGINALS, columns)
