"""Fit the mixture over the circuits of the export, and tell what that shows to whom."""

import pandas as pd

from meterdp.core.job import job
from meterdp.core.noise import keyed_generator
from meterdp.core.parquet import read_table
from meterdp.federated.circuits import Circuits
from meterdp.federated.study import announce, fit_over_circuits, iteration_columns, mixture_columns, protection_rows
from meterdp.federated.tables import FEDERATED_MIXTURE, FEDERATION, FEDERATION_PROTECTS
from meterdp.ingest.tables import METERS
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records

with job(snakemake.input, snakemake.log) as write:
    params, output = snakemake.params, snakemake.output
    records = Records.from_table(read_table(snakemake.input.profiles, PROFILES))
    circuits = Circuits.of(read_table(snakemake.input.meters, METERS), params.federation)
    shape = (records.log_kwh.shape[1], params.mixture["classes"])
    announce(circuits, params.federation, *shape)
    rows = protection_rows(circuits, params.federation, *shape, params.epsilon, params.delta)
    masks = keyed_generator(params.seed, "federation")
    fit = fit_over_circuits(records, circuits, params.federation, params.mixture, masks)
    write(output.mixture, FEDERATED_MIXTURE, mixture_columns(fit))
    write(output.federation, FEDERATION, iteration_columns(fit, params.federation["scheme"]))
    write(output.protects, FEDERATION_PROTECTS, pd.DataFrame(rows))
