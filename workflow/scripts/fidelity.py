"""Compare synthetic profiles of the fit and of every mechanism with real ones, whole and hour by hour."""

import pandas as pd

from meterdp.core.job import job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.evaluation.fidelity import hourly_densities, study_fidelity
from meterdp.evaluation.sample import study_sample
from meterdp.evaluation.tables import FIDELITY, MARGINALS
from meterdp.mechanisms.tables import VARIANT
from meterdp.mixture.tables import MIXTURE
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records
from meterdp.publish.tables import SYNTHETIC_PROFILES
from meterdp.release.synthetic import fit_source, released_source, synthetic_log_kwh

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    scale = LogScale.from_config(params.log_scale)
    records = study_sample(Records.from_table(read_table(snakemake.input.profiles, PROFILES)))
    fit = fit_source(read_table(snakemake.input.mixture, MIXTURE))
    sources = [(fit, synthetic_log_kwh(fit, int(records.valid.sum()), scale, params.seed))]
    for variant, synthetic in zip(snakemake.input.variants, snakemake.input.synthetic, strict=True):
        source = released_source(read_table(variant, VARIANT), params.epsilon)
        sources.append((source, Records.from_table(read_table(synthetic, SYNTHETIC_PROFILES)).log_kwh))
    rows = study_fidelity(records, sources, scale, params.mixture, params.seed)
    write(snakemake.output.fidelity, FIDELITY, pd.DataFrame(rows))
    write(snakemake.output.marginals, MARGINALS, hourly_densities(records, sources))
