# From every household's forecast to the sound forecast of its group (replace_one), its errors and a file per meter of its list.
# Needs:  private/{forecasts,meters}.parquet.
# Gives:  study/group_forecast_errors.parquet, study/group_forecasts/<release id>.{parquet,json}, private/group_crosswalk.parquet.
#         Study mode: seeded, not for release.


rule group_forecast:
    input:
        salt=ancient(PRIVATE / "release_id_salt.txt"),
        forecasts=PRIVATE / "forecasts.parquet",
        meters=PRIVATE / "meters.parquet",
    output:
        errors=STUDY / "group_forecast_errors.parquet",
        folder=directory(STUDY / "group_forecasts"),
        crosswalk=PRIVATE / "group_crosswalk.parquet",
    log:
        PRIVATE / "logs/group_forecast.log",
    benchmark:
        PRIVATE / "benchmarks/group_forecast.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        group_forecast=lookup("group_forecast", within=config),
        households=lookup("forecast/households", within=config),
        default_kwh_per_hour=lookup("profiles/default_kwh_per_hour", within=config),
        clip_kwh_per_hour=lookup("profiles/clip_kwh_per_hour", within=config),
        export=lookup("export", within=config),
        seed=lookup("seed", within=config),
        code=code_of("group_forecast"),
    script:
        "../scripts/group_forecast.py"
