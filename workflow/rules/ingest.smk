# From a meter export to canonical readings.
# Needs:  config[export], or config[simulate] when there is no export.
# Gives:  private/readings/part-*.parquet, private/meters.parquet, private/ingest_report.parquet, private/ingest_changes.parquet.


rule simulate:
    input:
        parameters=shipped("resources/simulator.yaml"),
    output:
        export=PRIVATE / "export/simulated.csv.gz",
        meters=PRIVATE / "export/meters.csv",
    log:
        PRIVATE / "logs/simulate.log",
    benchmark:
        PRIVATE / "benchmarks/simulate.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        simulate=config["simulate"],
        seed=config["seed"],
        code=code_of("simulate"),
    message:
        "Simulating an export"
    script:
        "../scripts/simulate.py"


rule ingest:
    input:
        export=branch(
            SIMULATED,
            then=rules.simulate.output.export,
            otherwise=config["export"]["path"],
        ),
        # The public list of meters, if there is one.
        meters=branch(
            SIMULATED,
            then=rules.simulate.output.meters,
            otherwise=config["export"]["meters"] or [],
        ),
    output:
        readings=expand(PRIVATE / "readings/part-{shard}.parquet", shard=SHARDS),
        meters=PRIVATE / "meters.parquet",
        report=PRIVATE / "ingest_report.parquet",
        changes=PRIVATE / "ingest_changes.parquet",
    log:
        PRIVATE / "logs/ingest.log",
    benchmark:
        PRIVATE / "benchmarks/ingest.tsv"
    conda:
        "../envs/meterdp.yaml"
    threads: 4
    # No params, which would read the export again where only the machine is another.
    resources:
        mem_mb=int(1024 * config["memory_gib"]),
    params:
        export=config["export"],
        simulated=SIMULATED,
        folder_state=FOLDER_STATE,
        # Not an output: Snakemake takes those away before a job runs.
        kept=PRIVATE / "export_kept" if config["export"]["incremental"] else None,
        code=code_of("ingest"),
    message:
        "Reading the export"
    script:
        "../scripts/ingest.py"
