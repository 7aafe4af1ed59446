"""Release mixtures of Iris: Figs 5 and 6 of Liu et al."""

from meterdp.core.job import job
from meterdp.mixture.gmm import EIGENVALUE_FLOOR
from meterdp_papers.liu.data import fixed_data_figures, iris
from meterdp_papers.liu.tables import LIU_CURVE, LIU_DENSITIES, LIU_MARGINAL_DISTANCES

with job(snakemake.input, snakemake.log) as write:
    params, output = snakemake.params, snakemake.output
    private, source = iris(EIGENVALUE_FLOOR)
    settings = (EIGENVALUE_FLOOR, params.trials, params.seed)
    curve, densities, distances = fixed_data_figures(("fig5", "fig6"), private, source, range(1), *settings)
    write(output.curve, LIU_CURVE, curve)
    write(output.densities, LIU_DENSITIES, densities)
    write(output.distances, LIU_MARGINAL_DISTANCES, distances)
