# Every figure and table of Ramakrishna et al., and a verdict on each of its claims. Study mode: seeded, not for release.
# Needs:  private/{forecast_households,neighbour_graph,log_load}.
# Gives:  reproduce/ramakrishna/{fig<1..4>,fig3_errors,numbers,scorecard}.parquet.

RAMAKRISHNA = REPRODUCE / "ramakrishna"
RAMAKRISHNA_LOGS = PRIVATE / "logs/reproduce_ramakrishna"
RAMAKRISHNA_BENCHMARKS = PRIVATE / "benchmarks/reproduce_ramakrishna"
# Jobs the synthetic sets are split into; results do not depend on it.
RAMAKRISHNA_BATCHES = min(4, config["trials"])


rule reproduce_ramakrishna_trials:
    output:
        trials=RAMAKRISHNA / "trials/{batch}.parquet",
        descents=RAMAKRISHNA / "descents/{batch}.parquet",
    log:
        RAMAKRISHNA_LOGS / "trials/{batch}.log",
    benchmark:
        RAMAKRISHNA_BENCHMARKS / "trials/{batch}.tsv"
    wildcard_constraints:
        batch=r"\d+",
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        batches=RAMAKRISHNA_BATCHES,
        seed=config["seed"],
        code=code_of("papers/ramakrishna_trials"),
    message:
        "Ramakrishna et al., Figs 1 and 2: trials, batch {wildcards.batch}"
    script:
        "../../scripts/papers/ramakrishna_trials.py"


rule reproduce_ramakrishna_synthetic:
    input:
        parts=[
            RAMAKRISHNA / f"trials/{batch}.parquet"
            for batch in range(RAMAKRISHNA_BATCHES)
        ],
    output:
        classes=RAMAKRISHNA / "fig1.parquet",
        curves=RAMAKRISHNA / "fig2.parquet",
    log:
        RAMAKRISHNA_LOGS / "synthetic.log",
    benchmark:
        RAMAKRISHNA_BENCHMARKS / "synthetic.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        seed=config["seed"],
        code=code_of("papers/ramakrishna_synthetic"),
    message:
        "Ramakrishna et al., Figs 1 and 2: means over trials"
    script:
        "../../scripts/papers/ramakrishna_synthetic.py"


rule reproduce_ramakrishna_forecasts:
    input:
        households=PRIVATE / "forecast_households.parquet",
        log_load=expand(PRIVATE / "log_load/part-{shard}.parquet", shard=SHARDS),
    output:
        distributions=PRIVATE / "reproduce_ramakrishna/forecast_distributions.parquet",
        errors=RAMAKRISHNA / "forecast_errors.parquet",
    log:
        RAMAKRISHNA_LOGS / "forecasts.log",
    benchmark:
        RAMAKRISHNA_BENCHMARKS / "forecasts.tsv"
    conda:
        "../../envs/meterdp.yaml"
    threads: 8
    params:
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        log_scale=some_of(config["profiles"], SCALE_KEYS),
        forecast=studied(config["forecast"]),
        code=code_of("papers/ramakrishna_forecasts"),
    message:
        "Ramakrishna et al.: forecasting households"
    script:
        "../../scripts/papers/ramakrishna_forecasts.py"


rule reproduce_ramakrishna_households:
    input:
        distributions=rules.reproduce_ramakrishna_forecasts.output.distributions,
        graph=PRIVATE / "neighbour_graph.parquet",
        log_load=expand(PRIVATE / "log_load/part-{shard}.parquet", shard=SHARDS),
    output:
        examples=RAMAKRISHNA / "fig3.parquet",
        errors=RAMAKRISHNA / "fig3_errors.parquet",
        curves=RAMAKRISHNA / "fig4.parquet",
        numbers=RAMAKRISHNA / "numbers.parquet",
        descents=RAMAKRISHNA / "descents/households.parquet",
    log:
        RAMAKRISHNA_LOGS / "households.log",
    benchmark:
        RAMAKRISHNA_BENCHMARKS / "households.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        log_scale=some_of(config["profiles"], SCALE_KEYS),
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        seed=config["seed"],
        simulated=SIMULATED,
        code=code_of("papers/ramakrishna_households"),
    message:
        "Ramakrishna et al., Figs 3 and 4: households"
    script:
        "../../scripts/papers/ramakrishna_households.py"


rule reproduce_ramakrishna_comparison:
    input:
        distributions=rules.reproduce_ramakrishna_forecasts.output.distributions,
        graph=PRIVATE / "neighbour_graph.parquet",
    output:
        part=RAMAKRISHNA / "comparisons/{model}.parquet",
    log:
        RAMAKRISHNA_LOGS / "comparison/{model}.log",
    benchmark:
        RAMAKRISHNA_BENCHMARKS / "comparison/{model}.tsv"
    wildcard_constraints:
        model="deterministic|stochastic|published",
    conda:
        "../../envs/meterdp.yaml"
    params:
        code=code_of("papers/ramakrishna_comparison"),
    message:
        "Ramakrishna et al.: comparing designs, {wildcards.model} queries"
    script:
        "../../scripts/papers/ramakrishna_comparison.py"


rule gather_ramakrishna_comparison:
    input:
        parts=[
            RAMAKRISHNA / f"comparisons/{model}.parquet"
            for model in ("deterministic", "stochastic", "published")
        ],
    output:
        whole=RAMAKRISHNA / "comparison.parquet",
    log:
        RAMAKRISHNA_LOGS / "comparison.log",
    benchmark:
        RAMAKRISHNA_BENCHMARKS / "comparison.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        table="design_comparison",
        code=code_of("concatenate"),
    message:
        "Ramakrishna et al.: gathering comparisons"
    script:
        "../../scripts/concatenate.py"


rule reproduce_ramakrishna_scorecard:
    input:
        fig2=rules.reproduce_ramakrishna_synthetic.output.curves,
        fig4=rules.reproduce_ramakrishna_households.output.curves,
        numbers=rules.reproduce_ramakrishna_households.output.numbers,
        fig3_errors=rules.reproduce_ramakrishna_households.output.errors,
        forecast_errors=rules.reproduce_ramakrishna_forecasts.output.errors,
        descents=[
            RAMAKRISHNA / f"descents/{part}.parquet"
            for part in [*range(RAMAKRISHNA_BATCHES), "households"]
        ],
    output:
        scorecard=RAMAKRISHNA / "scorecard.parquet",
    log:
        RAMAKRISHNA_LOGS / "scorecard.log",
    benchmark:
        RAMAKRISHNA_BENCHMARKS / "scorecard.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        paper="ramakrishna",
        code=code_of("papers/scorecard"),
    message:
        "Ramakrishna et al.: judging claims"
    script:
        "../../scripts/papers/scorecard.py"


rule reproduce_ramakrishna:
    input:
        report=REPRODUCE / "ramakrishna/report.html",
        errors=RAMAKRISHNA / "fig3_errors.parquet",
        errata=REPRODUCE / "errata.parquet",
