"""Release mixtures of handwritten digits and classify with them: Figs 9 and 10 of Liu et al."""

from meterdp.core.job import job
from meterdp.mixture.gmm import EIGENVALUE_FLOOR
from meterdp_papers.common.datasets import registry
from meterdp_papers.liu.data import image_figures, images
from meterdp_papers.liu.setting import share_of
from meterdp_papers.liu.tables import LIU_ACCURACY, LIU_CURVE

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    data = images(registry(snakemake.input.registry)["mnist"], params.data_dir)
    # Classifying takes long, and means differ by many standard errors.
    curve, accuracy = image_figures(data, EIGENVALUE_FLOOR, share_of(params.trials, 0.25), params.seed)
    write(snakemake.output.curve, LIU_CURVE, curve)
    write(snakemake.output.accuracy, LIU_ACCURACY, accuracy)
