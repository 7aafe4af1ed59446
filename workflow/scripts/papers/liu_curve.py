"""Summarise all trials of one of Figs 1 to 4 of Liu et al."""

from meterdp.core.job import job
from meterdp.core.parquet import read_parts
from meterdp_papers.liu.synthetic import summarise
from meterdp_papers.liu.tables import LIU_CURVE, LIU_TRIALS

with job(snakemake.input, snakemake.log) as write:
    write(snakemake.output.curve, LIU_CURVE, summarise(read_parts(snakemake.input.parts, LIU_TRIALS).to_pandas()))
