# From canonical readings to log load, seasonal mean and profile vectors.
# Needs:  private/{readings,meters.parquet}.    Gives:  private/log_load, private/{quality,profiles}.parquet, study/quality_summary.parquet.


rule profile_shard:
    input:
        readings=PRIVATE / "readings/part-{shard}.parquet",
    output:
        quality=PRIVATE / "quality/part-{shard}.parquet",
        log_load=PRIVATE / "log_load/part-{shard}.parquet",
        profiles=PRIVATE / "profiles/part-{shard}.parquet",
        read_months=PRIVATE / "read_months/part-{shard}.parquet",
    log:
        PRIVATE / "logs/profile_shard/{shard}.log",
    benchmark:
        PRIVATE / "benchmarks/profile_shard/{shard}.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        quality=config["quality"],
        profiles=config["profiles"],
        train_days=lookup("train_days", within=config["forecast"]),
        horizon_steps=lookup("horizon_steps", within=config["forecast"]),
        code=code_of("profile_shard"),
    message:
        "Checking readings and making load profiles, shard {wildcards.shard}"
    script:
        "../scripts/profile_shard.py"


rule gather_profiles:
    input:
        quality=expand(PRIVATE / "quality/part-{shard}.parquet", shard=SHARDS),
        profiles=expand(PRIVATE / "profiles/part-{shard}.parquet", shard=SHARDS),
        read_months=expand(PRIVATE / "read_months/part-{shard}.parquet", shard=SHARDS),
        # For the rows of the export that another one replaces.
        meters=PRIVATE / "meters.parquet",
    output:
        quality=PRIVATE / "quality.parquet",
        profiles=PRIVATE / "profiles.parquet",
        summary=STUDY / "quality_summary.parquet",
        hours=STUDY / "profile_hours.parquet",
    log:
        PRIVATE / "logs/gather_profiles.log",
    benchmark:
        PRIVATE / "benchmarks/gather_profiles.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        profiles=config["profiles"],
        listed=lookup("meters", within=config["export"]) is not None or SIMULATED,
        code=code_of("gather_profiles"),
    message:
        "Gathering load profiles"
    script:
        "../scripts/gather_profiles.py"
