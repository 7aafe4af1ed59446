# From the distribution of the forecasts to class-based noise, its privacy curves and one file per household.
# Needs:  private/{forecast_distributions,forecasts}.parquet.
# Gives:  private/{neighbourhoods,neighbour_graph,noise_designs,crosswalk}.parquet, study/{delta_curves,hide_among}.parquet,
#         study/forecasts/<release id>.{parquet,json}. Study mode: seeded, not for release.


rule neighbourhoods:
    input:
        log_load=expand(PRIVATE / "log_load/part-{shard}.parquet", shard=SHARDS),
        households=PRIVATE / "forecast_households.parquet",
        meters=PRIVATE / "meters.parquet",
        report=PRIVATE / "ingest_report.parquet",
        edges=branch(
            lookup("by", within=config["neighbourhoods"]) == "file",
            then=config["neighbourhoods"]["file"] or [],
        ),
    output:
        neighbourhoods=PRIVATE / "neighbourhoods.parquet",
        graph=PRIVATE / "neighbour_graph.parquet",
        summary=STUDY / "neighbourhood_summary.parquet",
    log:
        PRIVATE / "logs/neighbourhoods.log",
    benchmark:
        PRIVATE / "benchmarks/neighbourhoods.tsv"
    priority: 20
    conda:
        "../envs/meterdp.yaml"
    params:
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        train_days=lookup("train_days", within=config["forecast"]),
        neighbourhoods=config["neighbourhoods"],
        seed=config["seed"],
        code=code_of("neighbourhoods"),
    message:
        "Finding the households a forecast is hidden among"
    script:
        "../scripts/neighbourhoods.py"


rule design_noise:
    input:
        distributions=PRIVATE / "forecast_distributions.parquet",
        graph=PRIVATE / "neighbour_graph.parquet",
    output:
        designs=PRIVATE / "noise_designs.parquet",
        comparison=STUDY / "design_comparison.parquet",
    log:
        PRIVATE / "logs/design_noise.log",
    benchmark:
        PRIVATE / "benchmarks/design_noise.tsv"
    priority: 20
    conda:
        "../envs/meterdp.yaml"
    params:
        class_noise=config["class_noise"],
        code=code_of("design_noise"),
    message:
        "Designing noise on forecasts"
    script:
        "../scripts/design_noise.py"


rule delta_curves:
    input:
        distributions=PRIVATE / "forecast_distributions.parquet",
        graph=PRIVATE / "neighbour_graph.parquet",
        designs=PRIVATE / "noise_designs.parquet",
    output:
        curves=STUDY / "delta_curves.parquet",
    log:
        PRIVATE / "logs/delta_curves.log",
    benchmark:
        PRIVATE / "benchmarks/delta_curves.tsv"
    # Forecast files and their examples wait for it.
    priority: 10
    conda:
        "../envs/meterdp.yaml"
    params:
        class_noise=config["class_noise"],
        code=code_of("delta_curves"),
    message:
        "Computing exact privacy curves of forecasts"
    script:
        "../scripts/delta_curves.py"


rule hide_among:
    input:
        log_load=expand(PRIVATE / "log_load/part-{shard}.parquet", shard=SHARDS),
        distributions=PRIVATE / "forecast_distributions.parquet",
        forecasts=PRIVATE / "forecasts.parquet",
    output:
        costs=STUDY / "hide_among.parquet",
        yardsticks=STUDY / "hide_among_yardsticks.parquet",
    log:
        PRIVATE / "logs/hide_among.log",
    benchmark:
        PRIVATE / "benchmarks/hide_among.tsv"
    priority: 4
    conda:
        "../envs/meterdp.yaml"
    params:
        designs=lookup("designs", within=config["class_noise"]),
        log_scale=some_of(config["profiles"], SCALE_KEYS),
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        train_days=lookup("train_days", within=config["forecast"]),
        code=code_of("hide_among"),
    message:
        "Computing what it costs to hide among k households"
    script:
        "../scripts/hide_among.py"


rule make_salt:
    input:
        # Only once the export could be read.
        after=ancient(PRIVATE / "ingest_report.parquet"),
    output:
        # Kept if it is there: new ids would be new names for the same households.
        salt=update(PRIVATE / "release_id_salt.txt"),
    log:
        PRIVATE / "logs/make_salt.log",
    benchmark:
        PRIVATE / "benchmarks/make_salt.tsv"
    localrule: True
    conda:
        "../envs/meterdp.yaml"
    params:
        code=code_of("make_salt"),
    message:
        "Drawing a salt for random file names"
    script:
        "../scripts/make_salt.py"


rule forecast_files:
    input:
        salt=ancient(PRIVATE / "release_id_salt.txt"),
        distributions=PRIVATE / "forecast_distributions.parquet",
        designs=PRIVATE / "noise_designs.parquet",
        curves=STUDY / "delta_curves.parquet",
        log_load=expand(PRIVATE / "log_load/part-{shard}.parquet", shard=SHARDS),
    output:
        folder=directory(STUDY / "forecasts"),
        crosswalk=PRIVATE / "crosswalk.parquet",
        examples=STUDY / "forecast_examples.parquet",
    log:
        PRIVATE / "logs/forecast_files.log",
    benchmark:
        PRIVATE / "benchmarks/forecast_files.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        class_noise=config["class_noise"],
        export=config["export"],
        forecast=config["forecast"],
        profiles=config["profiles"],
        neighbourhoods=config["neighbourhoods"],
        seed=config["seed"],
        code=code_of("forecast_files"),
    message:
        "Writing a forecast file for each household"
    script:
        "../scripts/forecast_files.py"
