# From canonical readings to log load, seasonal mean and profile vectors.
# Needs:  private/{readings,meters.parquet}.    Gives:  private/log_load, private/{quality,profiles}.parquet, study/quality_summary.parquet.


rule profile_shard:
    input:
        readings=PRIVATE / "readings/part-{shard}.parquet",
    output:
        quality=PRIVATE / "quality/part-{shard}.parquet",
        log_load=PRIVATE / "log_load/part-{shard}.parquet",
        profiles=PRIVATE / "profiles/part-{shard}.parquet",
    log:
        PRIVATE / "logs/profile_shard/{shard}.log",
    benchmark:
        PRIVATE / "benchmarks/profile_shard/{shard}.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        interval_minutes=lookup("export/interval_minutes", within=config),
        time_zone=lookup("export/time_zone", within=config),
        quality=lookup("quality", within=config),
        profiles=lookup("profiles", within=config),
        train_days=lookup("forecast/train_days", within=config),
        horizon_steps=lookup("forecast/horizon_steps", within=config),
        code=code_of("profile_shard"),
    script:
        "../scripts/profile_shard.py"


rule gather_profiles:
    input:
        quality=expand(PRIVATE / "quality/part-{shard}.parquet", shard=SHARDS),
        profiles=expand(PRIVATE / "profiles/part-{shard}.parquet", shard=SHARDS),
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
        profiles=lookup("profiles", within=config),
        listed=lookup("export/meters", within=config) is not None or SIMULATED,
        policies=lookup("quality/policies", within=config),
        code=code_of("gather_profiles"),
    script:
        "../scripts/gather_profiles.py"
