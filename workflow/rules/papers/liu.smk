# Every figure and table of Liu et al., and a verdict on each of its claims. Study mode: seeded, not for release.
# Needs:  private/readings, resources/datasets.yaml, data_dir.
# Gives:  reproduce/liu/{fig<1..10>,table1,normality,scorecard}.parquet.

LIU = REPRODUCE / "liu"
LIU_LOGS = PRIVATE / "logs/reproduce_liu"
LIU_BENCHMARKS = PRIVATE / "benchmarks/reproduce_liu"
# Jobs a figure's trials are split into; results do not depend on it.
LIU_BATCHES = min(4, config["trials"])


rule reproduce_liu_trials:
    output:
        trials=LIU / "trials/{sweep}/{batch}.parquet",
    log:
        LIU_LOGS / "trials/{sweep}_{batch}.log",
    benchmark:
        LIU_BENCHMARKS / "trials/{sweep}_{batch}.tsv"
    wildcard_constraints:
        sweep=r"fig[1-4]",
        batch=r"\d+",
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        batches=LIU_BATCHES,
        seed=config["seed"],
        code=code_of("papers/liu_trials"),
    message:
        "Liu et al., {wildcards.sweep}: trials, batch {wildcards.batch}"
    script:
        "../../scripts/papers/liu_trials.py"


rule reproduce_liu_curve:
    input:
        parts=expand(
            LIU / "trials/{{sweep}}/{batch}.parquet",
            batch=range(LIU_BATCHES),
        ),
    output:
        curve=LIU / "{sweep}.parquet",
    log:
        LIU_LOGS / "curve/{sweep}.log",
    benchmark:
        LIU_BENCHMARKS / "curve/{sweep}.tsv"
    wildcard_constraints:
        sweep=r"fig[1-4]",
    conda:
        "../../envs/meterdp.yaml"
    params:
        code=code_of("papers/liu_curve"),
    message:
        "Liu et al., {wildcards.sweep}: means over trials"
    script:
        "../../scripts/papers/liu_curve.py"


rule reproduce_liu_iris:
    output:
        curve=LIU / "fig5.parquet",
        densities=LIU / "fig6.parquet",
        distances=LIU / "fig6_distances.parquet",
    log:
        LIU_LOGS / "iris.log",
    benchmark:
        LIU_BENCHMARKS / "iris.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        seed=config["seed"],
        code=code_of("papers/liu_iris"),
    message:
        "Liu et al., Figs 5 and 6: irises"
    script:
        "../../scripts/papers/liu_iris.py"


rule reproduce_liu_profiles:
    input:
        readings=expand(PRIVATE / "readings/part-{shard}.parquet", shard=SHARDS),
    output:
        table1=LIU / "table1.parquet",
        normality=LIU / "normality.parquet",
        curve=LIU / "fig7.parquet",
        densities=LIU / "fig8.parquet",
        distances=LIU / "fig8_distances.parquet",
    log:
        LIU_LOGS / "profiles.log",
    benchmark:
        LIU_BENCHMARKS / "profiles.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        local_time=some_of(config["export"], LOCAL_TIME_KEYS),
        quality=config["quality"],
        profiles=config["profiles"],
        mixture=config["mixture"],
        trials=config["trials"],
        seed=config["seed"],
        simulated=SIMULATED,
        code=code_of("papers/liu_profiles"),
    message:
        "Liu et al., Figs 7 and 8 and Table 1: load profiles"
    script:
        "../../scripts/papers/liu_profiles.py"


rule reproduce_liu_images:
    input:
        registry=shipped("resources/datasets.yaml"),
    output:
        curve=LIU / "fig9.parquet",
        accuracy=LIU / "fig10.parquet",
    log:
        LIU_LOGS / "images.log",
    benchmark:
        LIU_BENCHMARKS / "images.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        data_dir=config["data_dir"],
        seed=config["seed"],
        code=code_of("papers/liu_images"),
    message:
        "Liu et al., Figs 9 and 10: images"
    script:
        "../../scripts/papers/liu_images.py"


rule reproduce_liu_algorithm:
    output:
        convergence=LIU / "convergence.parquet",
        sdp_work=LIU / "sdp_work.parquet",
    log:
        LIU_LOGS / "algorithm.log",
    benchmark:
        LIU_BENCHMARKS / "algorithm.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        seed=config["seed"],
        code=code_of("papers/liu_algorithm"),
    message:
        "Liu et al.: steps of the algorithm"
    script:
        "../../scripts/papers/liu_algorithm.py"


rule reproduce_liu_scorecard:
    input:
        fig1=LIU / "fig1.parquet",
        fig2=LIU / "fig2.parquet",
        fig3=LIU / "fig3.parquet",
        fig4=LIU / "fig4.parquet",
        fig5=rules.reproduce_liu_iris.output.curve,
        fig6_distances=rules.reproduce_liu_iris.output.distances,
        fig7=rules.reproduce_liu_profiles.output.curve,
        fig8_distances=rules.reproduce_liu_profiles.output.distances,
        fig9=rules.reproduce_liu_images.output.curve,
        fig10=rules.reproduce_liu_images.output.accuracy,
        convergence=rules.reproduce_liu_algorithm.output.convergence,
        sdp_work=rules.reproduce_liu_algorithm.output.sdp_work,
        normality=rules.reproduce_liu_profiles.output.normality,
    output:
        scorecard=LIU / "scorecard.parquet",
    log:
        LIU_LOGS / "scorecard.log",
    benchmark:
        LIU_BENCHMARKS / "scorecard.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        paper="liu",
        code=code_of("papers/scorecard"),
    message:
        "Liu et al.: judging claims"
    script:
        "../../scripts/papers/scorecard.py"


rule reproduce_liu:
    input:
        report=REPRODUCE / "liu/report.html",
        errata=REPRODUCE / "errata.parquet",
