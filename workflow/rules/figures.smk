# From the study's tables to figures and the report.
# Needs:  study/*.parquet and the counts of private/ingest_report.parquet.
# Gives:  study/figures, study/report.html, study/config.yaml.


# Tables, section and caption of a figure are those of its entry in src/meterdp/report. One job draws all of them:
# starting Python and Matplotlib takes longer than drawing one.
rule draw:
    input:
        **{
            table.name: RESULTS / table.file
            for name in DRAWINGS
            for table in figure_of(name).tables
        },
    output:
        figures=report(
            directory(STUDY / "figures"),
            patterns=["{figure}.svg"],
            caption="../report/figure.rst",
            category=lambda wildcards: figure_of(wildcards.figure).category,
            labels=lambda wildcards: {"figure": wildcards.figure.replace("_", " ")},
        ),
    log:
        PRIVATE / "logs/draw.log",
    benchmark:
        PRIVATE / "benchmarks/draw.tsv"
    conda:
        "../envs/meterdp.yaml"
    # The last but one of a study: what it does not use stands idle.
    threads: 8
    params:
        drawings=DRAWINGS,
        captions={name: figure_of(name).look_for for name in DRAWINGS},
        code=code_of("draw"),
    message:
        "Drawing figures"
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
    localrule: True
    conda:
        "../envs/meterdp.yaml"
    params:
        config=config,
        code=code_of("write_config"),
    message:
        "Writing down the configuration"
    script:
        "../scripts/write_config.py"


rule report:
    input:
        **{name: RESULTS / table.file for name, table in REPORTED.items()},
        figures=rules.draw.output.figures,
    output:
        report=STUDY / "report.html",
    log:
        PRIVATE / "logs/report.log",
    benchmark:
        PRIVATE / "benchmarks/report.tsv"
    # It says what a release would be worth, with the modules that release.
    localrule: True
    conda:
        "../envs/meterdp.yaml"
    params:
        config=config,
        simulated=SIMULATED,
        drawings=DRAWINGS,
        code=code_of("report"),
    message:
        "Writing the report"
    script:
        "../scripts/report.py"
