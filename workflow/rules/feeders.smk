# From cleaned readings to what feeder totals cost by size and epsilon, and what regulators' rules withhold and give away.
# Needs:  private/log_load, private/meters.parquet, and the public list of meters if there is one.
# Gives:  study/{feeder_errors,feeder_rules,feeder_attacks}.parquet.


rule feeder_study:
    input:
        log_load=expand(PRIVATE / "log_load/part-{shard}.parquet", shard=SHARDS),
        meters=PRIVATE / "meters.parquet",
        listed=rules.ingest.input.meters,
    output:
        errors=STUDY / "feeder_errors.parquet",
        rules=STUDY / "feeder_rules.parquet",
        attacks=STUDY / "feeder_attacks.parquet",
    log:
        PRIVATE / "logs/feeder_study.log",
    benchmark:
        PRIVATE / "benchmarks/feeder_study.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        typical_daily_kwh=lookup("feeder_typical_daily_kwh", within=config["release"]),
        delta=lookup("delta", within=config["mechanisms"]),
        log_scale=some_of(config["profiles"], SCALE_KEYS),
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        seed=config["seed"],
        code=code_of("feeder_study"),
    message:
        "Measuring the error of feeder totals and what regulators' rules give away"
    script:
        "../scripts/feeder_study.py"
