# From deseasonalised log load to ARMA fits, rolling forecasts and the distribution of the forecast that is released.
# Needs:  private/log_load, private/quality.parquet.
# Gives:  private/{arma_fits,forecasts,forecast_marks,forecast_distributions,forecasts_kwh}.parquet,
#         study/{arma_summary,forecast_marks_summary,forecaster_comparison}.parquet.


rule choose_forecast_households:
    input:
        quality=PRIVATE / "quality.parquet",
        log_load=expand(PRIVATE / "log_load/part-{shard}.parquet", shard=SHARDS),
    output:
        households=PRIVATE / "forecast_households.parquet",
    log:
        PRIVATE / "logs/choose_forecast_households.log",
    benchmark:
        PRIVATE / "benchmarks/choose_forecast_households.tsv"
    # First what the longest chain of a study waits for: it ends with the files of forecasts.
    priority: 20
    conda:
        "../envs/meterdp.yaml"
    params:
        households=lookup("households", within=config["forecast"]),
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        train_days=lookup("train_days", within=config["forecast"]),
        horizon_steps=lookup("horizon_steps", within=config["forecast"]),
        origins=lookup("origins", within=config["forecast"]),
        code=code_of("choose_forecast_households"),
    message:
        "Choosing the households to forecast"
    script:
        "../scripts/choose_forecast_households.py"


# Fits and what is forecast with them: a second job would take longer to start than to forecast.
rule forecast:
    input:
        log_load=PRIVATE / "log_load/part-{shard}.parquet",
        households=PRIVATE / "forecast_households.parquet",
    output:
        fits=PRIVATE / "arma_fits/part-{shard}.parquet",
        forecasts=PRIVATE / "forecasts/part-{shard}.parquet",
        marks=PRIVATE / "forecast_marks/part-{shard}.parquet",
        distributions=PRIVATE / "forecast_distributions/part-{shard}.parquet",
        energy=PRIVATE / "forecasts_kwh/part-{shard}.parquet",
    log:
        PRIVATE / "logs/forecast/{shard}.log",
    benchmark:
        PRIVATE / "benchmarks/forecast/{shard}.tsv"
    priority: 20
    conda:
        "../envs/meterdp.yaml"
    params:
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        log_scale=some_of(config["profiles"], SCALE_KEYS),
        forecast=studied(config["forecast"]),
        code=code_of("forecast"),
    message:
        "Forecasting, shard {wildcards.shard}"
    script:
        "../scripts/forecast.py"


rule gather_forecasts:
    input:
        arma_fits=expand(PRIVATE / "arma_fits/part-{shard}.parquet", shard=SHARDS),
        forecasts=expand(PRIVATE / "forecasts/part-{shard}.parquet", shard=SHARDS),
        forecast_marks=expand(
            PRIVATE / "forecast_marks/part-{shard}.parquet", shard=SHARDS
        ),
        forecast_distributions=expand(
            PRIVATE / "forecast_distributions/part-{shard}.parquet", shard=SHARDS
        ),
        forecasts_kwh=expand(
            PRIVATE / "forecasts_kwh/part-{shard}.parquet", shard=SHARDS
        ),
    output:
        arma_fits=PRIVATE / "arma_fits.parquet",
        forecasts=PRIVATE / "forecasts.parquet",
        forecast_marks=PRIVATE / "forecast_marks.parquet",
        forecast_distributions=PRIVATE / "forecast_distributions.parquet",
        forecasts_kwh=PRIVATE / "forecasts_kwh.parquet",
        summary=STUDY / "arma_summary.parquet",
        marks=STUDY / "forecast_marks_summary.parquet",
    log:
        PRIVATE / "logs/gather_forecasts.log",
    benchmark:
        PRIVATE / "benchmarks/gather_forecasts.tsv"
    priority: 20
    conda:
        "../envs/meterdp.yaml"
    params:
        code=code_of("gather_forecasts"),
    message:
        "Gathering forecasts"
    script:
        "../scripts/gather_forecasts.py"


rule compare_forecasters:
    input:
        log_load=expand(PRIVATE / "log_load/part-{shard}.parquet", shard=SHARDS),
        forecasts=PRIVATE / "forecasts.parquet",
    output:
        comparison=STUDY / "forecaster_comparison.parquet",
    log:
        PRIVATE / "logs/compare_forecasters.log",
    benchmark:
        PRIVATE / "benchmarks/compare_forecasters.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        forecast=some_of(studied(config["forecast"]), PROCESS + POINTS + ("compare",)),
        log_scale=some_of(config["profiles"], SCALE_KEYS),
        code=code_of("compare_forecasters"),
    message:
        "Comparing forecasters"
    script:
        "../scripts/compare_forecasters.py"
