"""Sample synthetic profiles from one mechanism's mixture, as many as there are valid real ones (study mode)."""

from meterdp.core.job import carried_metadata, job
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table, write_table
from meterdp.mechanisms.tables import VARIANT
from meterdp.profiles.tables import PROFILES
from meterdp.release.synthetic import guarantee_in_words, released_source, synthetic_columns, synthetic_log_kwh
from meterdp.release.tables import SYNTHETIC_PROFILES

with job(snakemake.input, snakemake.log):
    params = snakemake.params
    valid = read_table(snakemake.input.profiles, PROFILES, columns=["valid"])["valid"].to_numpy(zero_copy_only=False)
    source = released_source(read_table(snakemake.input.variant, VARIANT), params.epsilon)
    log_kwh = synthetic_log_kwh(source, int(valid.sum()), LogScale.from_config(params.log_scale), params.seed)
    metadata = carried_metadata(snakemake.input) | {"guarantee": guarantee_in_words(source)}
    write_table(snakemake.output.synthetic, SYNTHETIC_PROFILES, synthetic_columns(log_kwh), metadata)
