# From every household's forecast to the proven forecast of its group (replace_one), its errors and a file per meter of its list.
# Needs:  private/log_load, private/meters.parquet.
# Gives:  private/group_records, study/group_forecast_errors.parquet, study/group_forecasts/<release id>.{parquet,json}, private/group_crosswalk.parquet.
#         Study mode: seeded, not for release.


rule group_records:
    input:
        log_load=PRIVATE / "log_load/part-{shard}.parquet",
        meters=PRIVATE / "meters.parquet",
        # Of the households that have their own forecast, by the same process on the same windows.
        fits=PRIVATE / "arma_fits/part-{shard}.parquet",
    output:
        records=PRIVATE / "group_records/part-{shard}.parquet",
    log:
        PRIVATE / "logs/group_records/{shard}.log",
    benchmark:
        PRIVATE / "benchmarks/group_records/{shard}.tsv"
    # Several, and what follows is long.
    priority: 8
    conda:
        "../envs/meterdp.yaml"
    params:
        interval_minutes=lookup("interval_minutes", within=config["export"]),
        time_zone=lookup("time_zone", within=config["export"]),
        forecast=some_of(studied(config["forecast"]), PROCESS + POINTS),
        households=lookup("forecast_households", within=config["release"]),
        code=code_of("group_records"),
    script:
        "../scripts/group_records.py"


rule group_forecast:
    input:
        salt=ancient(PRIVATE / "release_id_salt.txt"),
        records=expand(PRIVATE / "group_records/part-{shard}.parquet", shard=SHARDS),
        meters=PRIVATE / "meters.parquet",
    output:
        errors=STUDY / "group_forecast_errors.parquet",
        folder=directory(STUDY / "group_forecasts"),
        crosswalk=PRIVATE / "group_crosswalk.parquet",
    log:
        PRIVATE / "logs/group_forecast.log",
    benchmark:
        PRIVATE / "benchmarks/group_forecast.tsv"
    priority: 8
    conda:
        "../envs/meterdp.yaml"
    params:
        households=lookup("forecast_households", within=config["release"]),
        groups=lookup("forecast_groups", within=config["release"]),
        epsilon=lookup("forecast_epsilon", within=config["release"]),
        default_kwh_per_hour=lookup("default_kwh_per_hour", within=config["profiles"]),
        log_scale=some_of(config["profiles"], SCALE_KEYS),
        export=config["export"],
        seed=config["seed"],
        code=code_of("group_forecast"),
    script:
        "../scripts/group_forecast.py"
