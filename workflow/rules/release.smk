# Through gate and ledger to what may leave the building. Noise is drawn once a request; a rerun hands over the same files.
# Needs:  private/profiles.parquet, the public list of meters, config[release].    Gives:  release/mixture.


rule release_mixture:
    input:
        profiles=what_may_be_released,
        known=rules.ingest.output.meters,
        meters=rules.ingest.input.meters,
    output:
        # Not removed before the job: a refused release leaves what was handed over before.
        files=update(expand(RESULTS / "release/mixture/{name}", name=MIXTURE_FILES)),
    log:
        PRIVATE / "logs/release_mixture.log",
    benchmark:
        PRIVATE / "benchmarks/release_mixture.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        config=config,
        simulated=SIMULATED,
        code=code_of("release_mixture"),
    script:
        "../scripts/release_mixture.py"
