"""Release means of invented people again and again: Fig. 1 of Park et al."""

from meterdp.core.job import job
from meterdp_papers.park.marital import tabulate
from meterdp_papers.park.tables import PARK_DISTANCES, PARK_MAP

with job(snakemake.input, snakemake.log) as write:
    places, distances = tabulate(snakemake.params.trials, snakemake.params.seed)
    write(snakemake.output.map, PARK_MAP, places)
    write(snakemake.output.distances, PARK_DISTANCES, distances)
