"""Analyse the factors of faces with and without noise: Fig. 5 of Park et al."""

from meterdp.core.job import job
from meterdp.papers.common.datasets import registry
from meterdp.papers.park.data import faces
from meterdp.papers.park.factor_faces import tabulate
from meterdp.papers.park.tables import PARK_FACE_NUMBERS, PARK_FACES

with job(snakemake.input, snakemake.log) as write:
    entries = registry(snakemake.input.registry)
    columns, numbers = tabulate(faces(entries["olivetti"], snakemake.params.data_dir), snakemake.params.seed)
    write(snakemake.output.faces, PARK_FACES, columns)
    write(snakemake.output.numbers, PARK_FACE_NUMBERS, numbers)
