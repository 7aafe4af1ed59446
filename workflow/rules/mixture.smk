# From profile vectors to classes of households and the Gaussian mixture that nothing protects.
# Needs:  private/profiles.parquet; to fit it over circuits private/meters.parquet.
# Gives:  private/labels.parquet, study/{mixture,class_table}.parquet; over circuits
#         study/{federated_mixture,federation,federation_protects}.parquet.


# Only with federation.by.
rule federate_mixture:
    input:
        profiles=PRIVATE / "profiles.parquet",
        meters=PRIVATE / "meters.parquet",
        graph=GRAPH_FILE or [],
    output:
        mixture=STUDY / "federated_mixture.parquet",
        federation=STUDY / "federation.parquet",
        protects=STUDY / "federation_protects.parquet",
    log:
        PRIVATE / "logs/federate_mixture.log",
    benchmark:
        PRIVATE / "benchmarks/federate_mixture.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        federation=FEDERATION,
        mixture=config["mixture"],
        epsilon=shown_epsilon(config),
        delta=lookup("delta", within=config["mechanisms"]),
        seed=config["seed"],
        code=code_of("federate_mixture"),
    message:
        "Fitting one mixture over circuits"
    script:
        "../scripts/federate_mixture.py"


rule fit_mixture:
    input:
        profiles=PRIVATE / "profiles.parquet",
        hours=STUDY / "profile_hours.parquet",
        elsewhere=FITTED_ELSEWHERE,
    output:
        labels=PRIVATE / "labels.parquet",
        mixture=STUDY / "mixture.parquet",
        class_table=STUDY / "class_table.parquet",
    log:
        PRIVATE / "logs/fit_mixture.log",
    benchmark:
        PRIVATE / "benchmarks/fit_mixture.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        mixture=config["mixture"],
        seed=config["seed"],
        code=code_of("fit_mixture"),
    message:
        "Fitting the mixture"
    script:
        "../scripts/fit_mixture.py"
