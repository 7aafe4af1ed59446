# From the readings of listed households to the proven forecast of their group (replace_one), its errors and a file per meter of the list.
# Needs:  private/log_load, private/meters.parquet.
# Gives:  study/group_forecast_errors.parquet, study/group_forecasts/<release id>.{parquet,json}, private/group_crosswalk.parquet.
#         Study mode: seeded, not for release.


rule group_forecast:
    input:
        salt=ancient(PRIVATE / "release_id_salt.txt"),
        log_load=expand(PRIVATE / "log_load/part-{shard}.parquet", shard=SHARDS),
        meters=PRIVATE / "meters.parquet",
        # Of an export without a household fit for a study only this is refused.
        fit_for_a_study=rules.gather_profiles.output.summary,
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
        config={
            name: config[name] for name in ("export", "profiles", "release", "seed")
        },
        code=code_of("group_forecast"),
    message:
        "Making group forecasts"
    script:
        "../scripts/group_forecast.py"
