"""Measure what feeder totals cost, and what regulators' rules withhold of exact ones and give away."""

from functools import partial

from meterdp.core.job import job
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import read_table
from meterdp.feeders.attack import attack_rows, rule_rows
from meterdp.feeders.listed import feeders_of_study
from meterdp.feeders.plan import TYPICAL_DAILY_KWH
from meterdp.feeders.study import STUDIED, FeederStudy, error_rows, study_households
from meterdp.feeders.tables import FEEDER_ATTACKS, FEEDER_ERRORS, FEEDER_RULES
from meterdp.ingest.meter_list import read_meter_list
from meterdp.ingest.tables import METERS
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.grid import LocalTime

with job(snakemake.input, snakemake.log) as write:
    inputs, params = snakemake.input, snakemake.params
    meters = read_table(inputs.meters, METERS)
    own = feeders_of_study(meters, read_meter_list(inputs.listed) if inputs.listed else None)
    local, households = LocalTime.of(params.local_time), study_households(len(meters), own, STUDIED["households"])
    parts = (read_log_load([path], households, local) for path in inputs.log_load)
    scale = LogScale.of_interval(params.log_scale, local.interval_minutes)
    settings = {**STUDIED, "typical_daily_kwh": params.typical_daily_kwh or TYPICAL_DAILY_KWH}
    study = FeederStudy.from_parts(parts, own, scale, settings, params.delta)
    noise_of = partial(StudyNoise, params.seed)
    tables = {
        "errors": (FEEDER_ERRORS, error_rows(study, noise_of)),
        "rules": (FEEDER_RULES, rule_rows(study)),
        "attacks": (FEEDER_ATTACKS, attack_rows(study, noise_of)),
    }
    for name, (table, rows) in tables.items():
        write(snakemake.output[name], table, {column: [row[column] for row in rows] for column in table.schema.names})
