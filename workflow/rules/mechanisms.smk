# From the mixture to privacy mechanisms and what each costs. Study mode: seeded, not for release.
# Needs:  private/{profiles,labels,meters}.parquet.    Gives:  study/{variants,synthetic}/*.parquet, study/cost.parquet.


# One job for all mechanisms: starting six, and fitting the folds in each, takes longer than most of them.
rule vary_mixture:
    input:
        profiles=PRIVATE / "profiles.parquet",
        labels=PRIVATE / "labels.parquet",
        elsewhere=FITTED_ELSEWHERE,
        meters=PRIVATE / "meters.parquet",
        graph=GRAPH_FILE or [],
        prior_mixture=PRIOR_MIXTURE,
    output:
        variants=[
            STUDY / f"variants/{mechanism}.parquet"
            for mechanism in config["mechanisms"]["variants"]
        ],
        synthetic=[
            STUDY / f"synthetic/{mechanism}.parquet"
            for mechanism in config["mechanisms"]["variants"]
        ],
        cost=STUDY / "cost.parquet",
    log:
        PRIVATE / "logs/vary_mixture.log",
    benchmark:
        PRIVATE / "benchmarks/vary_mixture.tsv"
    # Fidelity and densities wait for it.
    priority: 10
    conda:
        "../envs/meterdp.yaml"
    params:
        mechanisms=config["mechanisms"],
        epsilon=shown_epsilon(config),
        mixture=config["mixture"],
        profiles=config["profiles"],
        federation=FEDERATION,
        seed=config["seed"],
        code=code_of("vary_mixture"),
    message:
        "Making private mixtures and measuring their cost"
    script:
        "../scripts/vary_mixture.py"
