# From log load of the whole period to a vector for each household, and to what synthetic households are worth.
# Needs:  private/{log_load,meters.parquet}.
# Gives:  private/release/{household_vectors,household_deviations}, study/household_{scores,weeks,curves}.parquet (seeded, not for release).
from meterdp.households.columns import FEWEST_DAYS

HOUSEHOLD_SETTINGS = {
    "export": config["export"],
    "profiles": config["profiles"],
    "release": {
        "household_holidays": lookup("household_holidays", within=config["release"])
    },
}
OF_SIMULATED_YEAR = SIMULATED and config["simulate"]["days"] < FEWEST_DAYS


rule household_vectors:
    input:
        log_load=PRIVATE / "log_load/part-{shard}.parquet",
    output:
        vectors=PRIVATE / "release/household_vectors/part-{shard}.parquet",
        deviations=PRIVATE / "release/household_deviations/part-{shard}.parquet",
    log:
        PRIVATE / "logs/household_vectors/{shard}.log",
    benchmark:
        PRIVATE / "benchmarks/household_vectors/{shard}.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        config=HOUSEHOLD_SETTINGS,
        code=code_of("household_vectors"),
    message:
        "Describing households over the period, shard {wildcards.shard}"
    script:
        "../scripts/household_vectors.py"


# Without an export the study's households are a simulated year, if fewer than eight weeks are simulated.
rule household_study:
    input:
        meters=PRIVATE / "meters.parquet",
        log_load=(
            []
            if OF_SIMULATED_YEAR
            else expand(PRIVATE / "log_load/part-{shard}.parquet", shard=SHARDS)
        ),
        vectors=(
            []
            if OF_SIMULATED_YEAR
            else expand(rules.household_vectors.output.vectors, shard=SHARDS)
        ),
        deviations=(
            []
            if OF_SIMULATED_YEAR
            else expand(rules.household_vectors.output.deviations, shard=SHARDS)
        ),
        simulator=shipped("resources/simulator.yaml") if OF_SIMULATED_YEAR else [],
    output:
        household_scores=STUDY / "household_scores.parquet",
        household_weeks=STUDY / "household_weeks.parquet",
        household_curves=STUDY / "household_curves.parquet",
    log:
        PRIVATE / "logs/household_study.log",
    benchmark:
        PRIVATE / "benchmarks/household_study.tsv"
    # The longest job, which waits for little.
    priority: 25
    conda:
        "../envs/meterdp.yaml"
    params:
        config=HOUSEHOLD_SETTINGS,
        delta=lookup("delta", within=config["mechanisms"]),
        seed=config["seed"],
        code=code_of("household_study"),
    message:
        "Comparing synthetic households with real ones over the period"
    script:
        "../scripts/household_study.py"
