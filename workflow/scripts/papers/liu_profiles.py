"""Release mixtures of the study's load profiles: Table I, Figs 7 and 8 of Liu et al."""

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.federated.fitted import read_fitted
from meterdp.mixture.gmm import EIGENVALUE_FLOOR
from meterdp.mixture.study import fit_from
from meterdp.mixture.tables import LABELS
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records
from meterdp_papers.liu.data import fixed_data_figures, load_profiles, table_1
from meterdp_papers.liu.tables import LIU_CURVE, LIU_DENSITIES, LIU_MARGINAL_DISTANCES, LIU_TABLE1

with job(snakemake.input, snakemake.log) as write:
    params, output = snakemake.params, snakemake.output
    records = Records.from_table(read_table(snakemake.input.profiles, PROFILES))
    start = read_table(snakemake.input.labels, LABELS)["start_component"].to_numpy()
    fit = fit_from(records, start, read_fitted(snakemake.input.elsewhere)[1])
    private, source = load_profiles(records.log_kwh[records.valid], fit, params.simulated)
    settings = (EIGENVALUE_FLOOR, params.trials, params.seed)
    hours = range(private.x.shape[1])
    curve, densities, distances = fixed_data_figures(
        ("fig7", "fig8"), private, source, hours, *settings, given_labels=False
    )
    write(output.table1, LIU_TABLE1, table_1(fit.counts, source))
    write(output.curve, LIU_CURVE, curve)
    write(output.densities, LIU_DENSITIES, densities)
    write(output.distances, LIU_MARGINAL_DISTANCES, distances)
