# Through policy and ledger to released files. Noise is drawn once a request; a rerun publishes the same files.
# Every rule that charges has said_before_release among its inputs: what it is expected to be worth is said, or it is refused.
# Needs:  private/{profiles,meters}.parquet, private/{readings,log_load}, the public list of meters, config[release].
# Gives:  release/{mixture,households,forecasts,feeders}; private/release/crosswalk.parquet says whose each random name is, private/release/ledger.html
#         what everything so far cost.
# What opens the ledger runs where Snakemake runs (localrule): one place charges it, as SQLite and its locks cannot be trusted
# on the file systems that the nodes of a cluster share.


rule release_mixture:
    input:
        records=PRIVATE / "profiles.parquet",
        known=rules.ingest.output.meters,
        meters=rules.ingest.input.meters,
        plan=said_before_release,
        prior_mixture=PRIOR_MIXTURE,
        graph=GRAPH_FILE or [],
    output:
        # Not the released files: of a job that fails Snakemake would delete them, or restore some of those before.
        published=touch(PRIVATE / "release/mixture.published"),
    log:
        PRIVATE / "logs/release_mixture.log",
    benchmark:
        PRIVATE / "benchmarks/release_mixture.tsv"
    localrule: True
    conda:
        "../envs/meterdp.yaml"
    params:
        folder=str(RESULTS / "release/mixture"),
        config=config,
        simulated=SIMULATED,
        code=code_of("release_mixture"),
    message:
        "Releasing the mixture"
    script:
        "../scripts/release_mixture.py"


rule release_households:
    input:
        records=expand(rules.household_vectors.output.vectors, shard=SHARDS),
        deviations=expand(rules.household_vectors.output.deviations, shard=SHARDS),
        known=rules.ingest.output.meters,
        meters=rules.ingest.input.meters,
        plan=said_before_release,
    output:
        published=touch(PRIVATE / "release/households.published"),
    log:
        PRIVATE / "logs/release_households.log",
    benchmark:
        PRIVATE / "benchmarks/release_households.tsv"
    localrule: True
    conda:
        "../envs/meterdp.yaml"
    params:
        folder=str(RESULTS / "release/households"),
        config=config,
        simulated=SIMULATED,
        code=code_of("release_households"),
    message:
        "Releasing households"
    script:
        "../scripts/release_households.py"


rule forecast_ahead:
    input:
        log_load=PRIVATE / "log_load/part-{shard}.parquet",
        known=rules.ingest.output.meters,
    output:
        forecasts=PRIVATE / "release/forecasts_ahead/part-{shard}.parquet",
    log:
        PRIVATE / "logs/forecast_ahead/{shard}.log",
    benchmark:
        PRIVATE / "benchmarks/forecast_ahead/{shard}.tsv"
    conda:
        "../envs/meterdp.yaml"
    threads: 8
    params:
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        forecast=some_of(studied(config["forecast"]), AHEAD),
        season={**SEASON, "log_scale": config["profiles"]["log_scale"]},
        households=lookup("forecast_households", within=config["release"]),
        code=code_of("forecast_ahead"),
    message:
        "Forecasting beyond the period, shard {wildcards.shard}"
    script:
        "../scripts/forecast_ahead.py"


rule recent_load:
    input:
        readings=PRIVATE / "readings/part-{shard}.parquet",
    output:
        load=PRIVATE / "release/recent_load/part-{shard}.parquet",
    log:
        PRIVATE / "logs/recent_load/{shard}.log",
    benchmark:
        PRIVATE / "benchmarks/recent_load/{shard}.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        last_day=lookup("last_day", within=config["export"]),
        feeder_days=lookup("feeder_days", within=config["release"]),
        quality=config["quality"],
        profiles=config["profiles"],
        code=code_of("recent_load"),
    message:
        "Checking readings of the last days, shard {wildcards.shard}"
    script:
        "../scripts/recent_load.py"


rule group_records:
    input:
        load=rules.recent_load.output.load,
    output:
        records=PRIVATE / "release/group_records/part-{shard}.parquet",
    log:
        PRIVATE / "logs/group_records/{shard}.log",
    benchmark:
        PRIVATE / "benchmarks/group_records/{shard}.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        config={name: config[name] for name in ("export", "profiles")},
        code=code_of("group_records"),
    message:
        "Reading the records of a forecast for groups, shard {wildcards.shard}"
    script:
        "../scripts/group_records.py"


rule release_forecasts:
    input:
        # Files that hide whom they belong to hold own forecasts, group forecasts are made of readings.
        records=expand(
            (
                rules.forecast_ahead.output.forecasts
                if config["release"]["forecast_protects"] == "label"
                else rules.group_records.output.records
            ),
            shard=SHARDS,
        ),
        known=rules.ingest.output.meters,
        meters=rules.ingest.input.meters,
        plan=said_before_release,
    output:
        published=touch(PRIVATE / "release/forecasts.published"),
        crosswalk=PRIVATE / "release/crosswalk.parquet",
    log:
        PRIVATE / "logs/release_forecasts.log",
    benchmark:
        PRIVATE / "benchmarks/release_forecasts.tsv"
    localrule: True
    conda:
        "../envs/meterdp.yaml"
    params:
        folder=str(RESULTS / "release/forecasts"),
        config=config,
        simulated=SIMULATED,
        code=code_of("release_forecasts"),
    message:
        "Releasing forecasts"
    script:
        "../scripts/release_forecasts.py"


rule release_feeders:
    input:
        records=expand(rules.recent_load.output.load, shard=SHARDS),
        known=rules.ingest.output.meters,
        meters=rules.ingest.input.meters,
        plan=said_before_release,
    output:
        published=touch(PRIVATE / "release/feeders.published"),
    log:
        PRIVATE / "logs/release_feeders.log",
    benchmark:
        PRIVATE / "benchmarks/release_feeders.tsv"
    localrule: True
    conda:
        "../envs/meterdp.yaml"
    params:
        folder=str(RESULTS / "release/feeders"),
        config=config,
        simulated=SIMULATED,
        code=code_of("release_feeders"),
    message:
        "Releasing feeder totals"
    script:
        "../scripts/release_feeders.py"


rule ledger_page:
    input:
        what_to_release,
    output:
        page=PRIVATE / "release/ledger.html",
    log:
        PRIVATE / "logs/ledger_page.log",
    benchmark:
        PRIVATE / "benchmarks/ledger_page.tsv"
    localrule: True
    conda:
        "../envs/meterdp.yaml"
    params:
        ledger=lookup("ledger", within=config["release"]),
        code=code_of("ledger_page"),
    message:
        "Drawing the ledger"
    script:
        "../scripts/ledger_page.py"
