"""Analyse the factors of faces with and without noise: Fig. 5 of Park et al."""

from meterdp.core.job import job
from meterdp_papers.common.datasets import registry
from meterdp_papers.park.clusters import tabulate
from meterdp_papers.park.data import records_of
from meterdp_papers.park.tables import PARK_FACE_NUMBERS, PARK_FACES

with job(snakemake.input, snakemake.log) as write:
    params = snakemake.params
    records = records_of("fig5", registry(snakemake.input.registry), params.data_dir, params.trials)
    columns, numbers = tabulate(records, params.seed)
    write(snakemake.output.faces, PARK_FACES, columns)
    write(snakemake.output.numbers, PARK_FACE_NUMBERS, numbers)
