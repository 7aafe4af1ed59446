"""Release mixtures of half-days of the study's households: Table I, Figs 7 and 8 of Liu et al."""

from itertools import chain

from meterdp.core.job import job
from meterdp.mixture.gmm import EIGENVALUE_FLOOR
from meterdp.mixture.study import fit_from, start_labels
from meterdp.profiles.grid import LocalTime, read_shard_in_pieces
from meterdp_papers.liu.data import fixed_data_figures, half_days, load_profiles, table_1
from meterdp_papers.liu.normality import normality
from meterdp_papers.liu.tables import LIU_CURVE, LIU_DENSITIES, LIU_MARGINAL_DISTANCES, LIU_NORMALITY, LIU_TABLE1

with job(snakemake.input, snakemake.log) as write:
    params, output = snakemake.params, snakemake.output
    local = LocalTime.of(params.local_time)
    shards = chain.from_iterable(read_shard_in_pieces(path, local) for path in snakemake.input.readings)
    records = half_days(shards, params.quality, params.profiles)
    fit = fit_from(records, start_labels(records, params.mixture["classes"], params.seed))
    private, source = load_profiles(records.log_kwh[records.valid], fit, params.simulated)
    settings = (EIGENVALUE_FLOOR, params.trials, params.seed)
    hours = range(private.x.shape[1])
    curve, densities, distances = fixed_data_figures(
        ("fig7", "fig8"), private, source, hours, *settings, given_labels=False
    )
    write(output.table1, LIU_TABLE1, table_1(fit.counts, source))
    write(output.normality, LIU_NORMALITY, normality(private.x, fit))
    write(output.curve, LIU_CURVE, curve)
    write(output.densities, LIU_DENSITIES, densities)
    write(output.distances, LIU_MARGINAL_DISTANCES, distances)
