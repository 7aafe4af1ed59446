# From log load of the whole period to a vector for each household.
# Needs:  private/log_load.    Gives:  private/release/household_vectors.


rule household_vectors:
    input:
        log_load=PRIVATE / "log_load/part-{shard}.parquet",
    output:
        vectors=PRIVATE / "release/household_vectors/part-{shard}.parquet",
    log:
        PRIVATE / "logs/household_vectors/{shard}.log",
    benchmark:
        PRIVATE / "benchmarks/household_vectors/{shard}.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        config={
            "export": config["export"],
            "profiles": config["profiles"],
            "release": {
                "household_holidays": lookup(
                    "household_holidays", within=config["release"]
                )
            },
        },
        code=code_of("household_vectors"),
    script:
        "../scripts/household_vectors.py"
