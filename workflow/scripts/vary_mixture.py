"""Run one mechanism at every epsilon: a mixture each, synthetic profiles of one, and its cost over many draws."""

from meterdp.core.job import carried_metadata, job
from meterdp.core.parquet import as_arrow, read_table, write_table
from meterdp.evaluation.study import vary
from meterdp.evaluation.tables import COST
from meterdp.mechanisms.tables import VARIANT
from meterdp.mixture.study import Records, fit_from
from meterdp.mixture.tables import LABELS
from meterdp.profiles.tables import PROFILES
from meterdp.release.synthetic import guarantee_in_words, released_source, synthetic_columns, synthetic_log_kwh
from meterdp.release.tables import SYNTHETIC_PROFILES

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    records = Records.from_table(read_table(snakemake.input.profiles, PROFILES))
    start = read_table(snakemake.input.labels, LABELS)["start_component"].to_numpy()
    fit = fit_from(records, start, params.mixture)
    settings = (params.mechanisms, params.mixture, params.profiles)
    variant, cost = vary(snakemake.wildcards.mechanism, records, fit, *settings, params.seed)
    write(snakemake.output.variant, VARIANT, variant)
    write(snakemake.output.cost, COST, cost)
    # As many as there are valid real profiles.
    source = released_source(as_arrow(VARIANT, variant), params.mechanisms["figure_epsilon"])
    log_kwh = synthetic_log_kwh(source, int(records.valid.sum()), params.profiles["clip_kwh_per_hour"], params.seed)
    metadata = carried_metadata(snakemake.input) | {"guarantee": guarantee_in_words(source)}
    write_table(snakemake.output.synthetic, SYNTHETIC_PROFILES, synthetic_columns(log_kwh), metadata)
