"""Run every mechanism at every epsilon: mixtures, synthetic profiles of one, and what each mechanism costs."""

from meterdp.core.job import carried_metadata, job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow, read_table, write_table
from meterdp.evaluation.cost import study_folds, vary
from meterdp.evaluation.sample import labelled_sample
from meterdp.evaluation.tables import COST
from meterdp.federated.fitted import read_fitted
from meterdp.federated.shared_noise import shares_of
from meterdp.ingest.tables import METERS
from meterdp.mechanisms.tables import VARIANT
from meterdp.mixture.study import fit_from
from meterdp.mixture.tables import LABELS
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records
from meterdp.publish.tables import SYNTHETIC_PROFILES
from meterdp.release.synthetic import guarantee_sentence, released_source, synthetic_columns, synthetic_log_kwh

with job(snakemake.input, snakemake.log) as write:
    params, mechanisms, seed = snakemake.params, snakemake.params.mechanisms, snakemake.params.seed
    records = Records.from_table(read_table(snakemake.input.profiles, PROFILES))
    labels = read_table(snakemake.input.labels, LABELS)["start_component"].to_numpy()
    began, fitted = read_fitted(snakemake.input.elsewhere)
    records, start = labelled_sample(records, labels, params.mixture["classes"], seed, began)
    fit = fit_from(records, start, fitted)
    settings = (fit, mechanisms, params.mixture, params.profiles, seed)
    shares = shares_of(params.federation, read_table(snakemake.input.meters, METERS))
    folds, costs = study_folds(records, params.mixture, seed), {}
    files = zip(mechanisms["variants"], snakemake.output.variants, snakemake.output.synthetic, strict=True)
    for name, variant_file, synthetic_file in files:
        variant, cost = vary(name, records, *settings, folds, shares)
        write(variant_file, VARIANT, variant)
        # As many as there are valid real profiles.
        source = released_source(as_arrow(VARIANT, variant), params.epsilon)
        log_kwh = synthetic_log_kwh(source, int(records.valid.sum()), LogScale.from_config(params.profiles), seed)
        metadata = carried_metadata(snakemake.input) | {"guarantee": guarantee_sentence(source)}
        write_table(synthetic_file, SYNTHETIC_PROFILES, synthetic_columns(log_kwh), metadata)
        costs = {column: [*costs.get(column, []), *values] for column, values in cost.items()}
    write(snakemake.output.cost, COST, costs)
