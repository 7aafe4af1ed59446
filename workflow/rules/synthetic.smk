# From synthetic load profiles to how faithful they are. Study mode: seeded, not for release.
# Needs:  private/profiles.parquet, study/mixture.parquet, study/{variants,synthetic}/*.parquet.
# Gives:  study/{fidelity,marginals}.parquet.


rule fidelity:
    input:
        profiles=PRIVATE / "profiles.parquet",
        mixture=STUDY / "mixture.parquet",
        variants=expand(
            STUDY / "variants/{mechanism}.parquet",
            mechanism=config["mechanisms"]["variants"],
        ),
        synthetic=expand(
            STUDY / "synthetic/{mechanism}.parquet",
            mechanism=config["mechanisms"]["variants"],
        ),
    output:
        fidelity=STUDY / "fidelity.parquet",
        marginals=STUDY / "marginals.parquet",
    log:
        PRIVATE / "logs/fidelity.log",
    benchmark:
        PRIVATE / "benchmarks/fidelity.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        epsilon=shown_epsilon(config),
        log_scale=some_of(config["profiles"], SCALE_KEYS),
        mixture=config["mixture"],
        seed=config["seed"],
        code=code_of("fidelity"),
    message:
        "Comparing synthetic load profiles with real ones"
    script:
        "../scripts/fidelity.py"
