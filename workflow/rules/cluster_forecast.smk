# From every household's forecast to the sound forecast of its group (replace_one), its errors and one file per household.
# Needs:  private/{forecasts,meters}.parquet.
# Gives:  study/cluster_forecast_errors.parquet, study/cluster_forecasts/<release id>.{parquet,json}, private/cluster_crosswalk.parquet.
#         Study mode: seeded, not for release.


rule cluster_forecast:
    input:
        salt=ancient(PRIVATE / "release_id_salt.txt"),
        forecasts=PRIVATE / "forecasts.parquet",
        meters=PRIVATE / "meters.parquet",
    output:
        errors=STUDY / "cluster_forecast_errors.parquet",
        folder=directory(STUDY / "cluster_forecasts"),
        crosswalk=PRIVATE / "cluster_crosswalk.parquet",
    log:
        PRIVATE / "logs/cluster_forecast.log",
    benchmark:
        PRIVATE / "benchmarks/cluster_forecast.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        cluster=lookup("class_noise/cluster", within=config),
        default_kwh_per_hour=lookup("profiles/default_kwh_per_hour", within=config),
        clip_kwh_per_hour=lookup("profiles/clip_kwh_per_hour", within=config),
        export=lookup("export", within=config),
        seed=lookup("seed", within=config),
        code=code_of("cluster_forecast"),
    script:
        "../scripts/cluster_forecast.py"
