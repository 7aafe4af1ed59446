# From cleaned readings to how much households use, when, how high they peak together, and which classes cause the peak.
# Needs:  private/{log_load,quality.parquet,labels.parquet,meters.parquet}, and the public list of meters if there is one.
# Gives:  study/{total_load,consumption_quantiles,peak_hours,class_load,group_use,group_profiles,coincidence,
#         example_households}.parquet.


rule consumption:
    input:
        log_load=expand(PRIVATE / "log_load/part-{shard}.parquet", shard=SHARDS),
        quality=PRIVATE / "quality.parquet",
        labels=PRIVATE / "labels.parquet",
        meters=PRIVATE / "meters.parquet",
        listed=rules.ingest.input.meters,
    output:
        total_load=STUDY / "total_load.parquet",
        consumption_quantiles=STUDY / "consumption_quantiles.parquet",
        peak_hours=STUDY / "peak_hours.parquet",
        class_load=STUDY / "class_load.parquet",
        group_use=STUDY / "group_use.parquet",
        group_profiles=STUDY / "group_profiles.parquet",
        coincidence=STUDY / "coincidence.parquet",
        example_households=STUDY / "example_households.parquet",
    log:
        PRIVATE / "logs/consumption.log",
    benchmark:
        PRIVATE / "benchmarks/consumption.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        log_scale=some_of(config["profiles"], SCALE_KEYS),
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        code=code_of("consumption"),
    message:
        "Summing up consumption, load and peaks"
    script:
        "../scripts/consumption.py"
