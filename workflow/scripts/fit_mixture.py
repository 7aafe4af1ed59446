"""Label the valid households, fit the mixture, and describe its classes (Table I of Liu et al.)."""

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.federated.fitted import read_fitted
from meterdp.mixture.describe import class_table
from meterdp.mixture.study import fit_from, label_rows, mixture_rows, start_labels
from meterdp.mixture.tables import CLASS_TABLE, LABELS, MIXTURE
from meterdp.profiles.tables import PROFILE_HOURS, PROFILES
from meterdp.profiles.vector import Records, scale_of

with job(snakemake.input, snakemake.log) as write:
    records = Records.from_table(read_table(snakemake.input.profiles, PROFILES))
    hours = read_table(snakemake.input.hours, PROFILE_HOURS).to_pandas()
    settings, (began, fitted) = snakemake.params.mixture, read_fitted(snakemake.input.elsewhere)
    start = start_labels(records, settings["classes"], snakemake.params.seed, began)
    fit = fit_from(records, start, fitted)
    x = records.log_kwh[records.valid]
    write(snakemake.output.labels, LABELS, label_rows(records, start, fit))
    write(snakemake.output.mixture, MIXTURE, mixture_rows(fit))
    write(
        snakemake.output.class_table,
        CLASS_TABLE,
        class_table(x, fit, hours["hour_of_day_local"].to_numpy(), scale_of(hours)),
    )
