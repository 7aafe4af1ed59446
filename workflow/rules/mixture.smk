# From profile vectors to classes of households and the Gaussian mixture that nothing protects.
# Needs:  private/profiles.parquet.    Gives:  private/labels.parquet, study/{mixture,class_table,normality}.parquet.


rule fit_mixture:
    input:
        profiles=PRIVATE / "profiles.parquet",
        hours=STUDY / "profile_hours.parquet",
    output:
        labels=PRIVATE / "labels.parquet",
        mixture=STUDY / "mixture.parquet",
        class_table=STUDY / "class_table.parquet",
        normality=STUDY / "normality.parquet",
    log:
        PRIVATE / "logs/fit_mixture.log",
    benchmark:
        PRIVATE / "benchmarks/fit_mixture.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        mixture=lookup("mixture", within=config),
        seed=lookup("seed", within=config),
        code=code_of("fit_mixture"),
    script:
        "../scripts/fit_mixture.py"
