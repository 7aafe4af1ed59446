# Every figure of Li et al. and two of our own, and a verdict on each of its claims. Study mode: seeded, not for release.
# Needs:  resources/datasets.yaml, data_dir.
# Gives:  reproduce/li/{fig<1..5>,read_off,masks,recovery,exponents,scorecard}.parquet.

LI = REPRODUCE / "li"
LI_LOGS = PRIVATE / "logs/reproduce_li"
LI_BENCHMARKS = PRIVATE / "benchmarks/reproduce_li"


rule reproduce_li_network:
    output:
        network=LI / "fig1.parquet",
    log:
        LI_LOGS / "network.log",
    benchmark:
        LI_BENCHMARKS / "network.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        code=code_of("papers/li_network"),
    message:
        "Li et al., Fig. 1: the network"
    script:
        "../../scripts/papers/li_network.py"


rule reproduce_li_likelihoods:
    input:
        registry=shipped("resources/datasets.yaml"),
    output:
        likelihoods=LI / "fig2.parquet",
    log:
        LI_LOGS / "likelihoods.log",
    benchmark:
        LI_BENCHMARKS / "likelihoods.tsv"
    priority: 10
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        data_dir=config["data_dir"],
        seed=config["seed"],
        code=code_of("papers/li_likelihoods"),
    message:
        "Li et al., Fig. 2: likelihoods"
    script:
        "../../scripts/papers/li_likelihoods.py"


rule reproduce_li_exposure:
    output:
        leakage=LI / "fig3.parquet",
        masks=LI / "masks.parquet",
    log:
        LI_LOGS / "exposure.log",
    benchmark:
        LI_BENCHMARKS / "exposure.tsv"
    priority: 10
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        seed=config["seed"],
        code=code_of("papers/li_exposure"),
    message:
        "Li et al., Fig. 3: what nodes learn"
    script:
        "../../scripts/papers/li_exposure.py"


rule reproduce_li_recovery:
    input:
        registry=shipped("resources/datasets.yaml"),
    output:
        read_off=LI / "read_off.parquet",
        recovery=LI / "recovery.parquet",
    log:
        LI_LOGS / "recovery.log",
    benchmark:
        LI_BENCHMARKS / "recovery.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        data_dir=config["data_dir"],
        seed=config["seed"],
        code=code_of("papers/li_recovery"),
    message:
        "Li et al.: solving for records from sums"
    script:
        "../../scripts/papers/li_recovery.py"


rule reproduce_li_consensus:
    output:
        consensus=LI / "fig4.parquet",
    log:
        LI_LOGS / "consensus.log",
    benchmark:
        LI_BENCHMARKS / "consensus.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        seed=config["seed"],
        code=code_of("papers/li_consensus"),
    message:
        "Li et al., Fig. 4: consensus"
    script:
        "../../scripts/papers/li_consensus.py"


rule reproduce_li_cost:
    output:
        cost=LI / "fig5.parquet",
        exponents=LI / "exponents.parquet",
    log:
        LI_LOGS / "cost.log",
    benchmark:
        LI_BENCHMARKS / "cost.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        seed=config["seed"],
        code=code_of("papers/li_cost"),
    message:
        "Li et al., Fig. 5: cost"
    script:
        "../../scripts/papers/li_cost.py"


rule reproduce_li_scorecard:
    input:
        read_off=rules.reproduce_li_recovery.output.read_off,
        recovery=rules.reproduce_li_recovery.output.recovery,
        fig2=rules.reproduce_li_likelihoods.output.likelihoods,
        fig3=rules.reproduce_li_exposure.output.leakage,
    output:
        scorecard=LI / "scorecard.parquet",
    log:
        LI_LOGS / "scorecard.log",
    benchmark:
        LI_BENCHMARKS / "scorecard.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        paper="li",
        code=code_of("papers/scorecard"),
    message:
        "Li et al.: judging claims"
    script:
        "../../scripts/papers/scorecard.py"


rule reproduce_li:
    input:
        report=REPRODUCE / "li/report.html",
        errata=REPRODUCE / "errata.parquet",
