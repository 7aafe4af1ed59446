# From the study's tables to figures and the report.
# Needs:  study/*.parquet and the counts of private/ingest_report.parquet.
# Gives:  study/figures/*.svg, study/report.html, study/config.yaml.


# Inputs, section and caption of a figure are those of its entry in src/meterdp/figures.
rule draw:
    input:
        unpack(tables_of),
    output:
        figure=report(
            STUDY / "figures/{figure}.svg",
            caption="../report/figure.rst",
            category=lambda wildcards: figure_of(wildcards.figure).category,
            labels=lambda wildcards: {"figure": wildcards.figure.replace("_", " ")},
        ),
    log:
        PRIVATE / "logs/draw/{figure}.log",
    benchmark:
        PRIVATE / "benchmarks/draw/{figure}.tsv"
    wildcard_constraints:
        figure="|".join(DRAWINGS),
    conda:
        "../envs/meterdp.yaml"
    params:
        options=lambda wildcards: DRAWINGS[wildcards.figure],
        caption=lambda wildcards: figure_of(wildcards.figure).look_for,
        code=code_of("draw"),
    script:
        "../scripts/draw.py"


rule write_config:
    input:
        after=rules.ingest.output.report,
    output:
        config=STUDY / "config.yaml",
    log:
        PRIVATE / "logs/write_config.log",
    benchmark:
        PRIVATE / "benchmarks/write_config.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        config=config,
        code=code_of("write_config"),
    script:
        "../scripts/write_config.py"


rule report:
    input:
        **{name: RESULTS / table.file for name, table in TABLES.items()},
        figures=expand(STUDY / "figures/{figure}.svg", figure=DRAWINGS),
    output:
        report=STUDY / "report.html",
    log:
        PRIVATE / "logs/report.log",
    benchmark:
        PRIVATE / "benchmarks/report.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        config=config,
        simulated=SIMULATED,
        code=code_of("report"),
    script:
        "../scripts/report.py"
