# What all reproduced papers share: drawing, one scorecard, the errata, one page.
# Needs:  reproduce/<paper>/*.parquet.
# Gives:  reproduce/<paper>/fig<n>.svg, reproduce/{scorecard,errata}.parquet, reproduce/report.html.


# Every figure and table of the papers, and a scorecard of their claims.
rule reproduce:
    input:
        scorecard=REPRODUCE / "scorecard.parquet",
        report=REPRODUCE / "report.html",
        errata=REPRODUCE / "errata.parquet",


rule draw_reproduction:
    input:
        table=REPRODUCE / "{paper}/{figure}.parquet",
    output:
        figure=REPRODUCE / "{paper}/{figure}.svg",
    log:
        PRIVATE / "logs/draw_reproduction/{paper}_{figure}.log",
    benchmark:
        PRIVATE / "benchmarks/draw_reproduction/{paper}_{figure}.tsv"
    wildcard_constraints:
        paper="|".join(PAPERS),
        figure="|".join(f.name for paper in PAPERS.values() for f in paper.figures),
    conda:
        "../../envs/meterdp.yaml"
    params:
        code=code_of("papers/draw"),
    message:
        "Drawing {wildcards.figure} of {wildcards.paper}"
    script:
        "../../scripts/papers/draw.py"


rule reproduce_scorecard:
    input:
        parts=[REPRODUCE / paper / "scorecard.parquet" for paper in PAPERS],
    output:
        whole=REPRODUCE / "scorecard.parquet",
    log:
        PRIVATE / "logs/reproduce_scorecard.log",
    benchmark:
        PRIVATE / "benchmarks/reproduce_scorecard.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        code=code_of("papers/join_scorecards"),
    message:
        "Joining the scorecards"
    script:
        "../../scripts/papers/join_scorecards.py"


# The defects of all papers, one row per number; docs/measured/errata.csv has the same with another seed.
rule reproduce_errata:
    output:
        errata=REPRODUCE / "errata.parquet",
    log:
        PRIVATE / "logs/reproduce_errata.log",
    benchmark:
        PRIVATE / "benchmarks/reproduce_errata.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        seed=config["seed"],
        code=code_of("papers/errata"),
    message:
        "Computing the errata"
    script:
        "../../scripts/papers/errata.py"


rule reproduce_paper_report:
    input:
        scorecards=[REPRODUCE / "{paper}/scorecard.parquet"],
        tables=lambda wildcards: printed(wildcards.paper),
        figures=lambda wildcards: drawn(wildcards.paper),
    output:
        report=REPRODUCE / "{paper}/report.html",
    log:
        PRIVATE / "logs/reproduce_report/{paper}.log",
    benchmark:
        PRIVATE / "benchmarks/reproduce_report/{paper}.tsv"
    wildcard_constraints:
        paper="|".join(PAPERS),
    conda:
        "../../envs/meterdp.yaml"
    params:
        simulated=SIMULATED,
        trials=config["trials"],
        code=code_of("papers/report"),
    message:
        "Writing the report of {wildcards.paper}"
    script:
        "../../scripts/papers/report.py"


rule reproduce_report:
    input:
        scorecards=[REPRODUCE / paper / "scorecard.parquet" for paper in PAPERS],
        tables=[table for paper in PAPERS for table in printed(paper)],
        figures=[figure for paper in PAPERS for figure in drawn(paper)],
    output:
        report=REPRODUCE / "report.html",
    log:
        PRIVATE / "logs/reproduce_report.log",
    benchmark:
        PRIVATE / "benchmarks/reproduce_report.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        simulated=SIMULATED,
        trials=config["trials"],
        code=code_of("papers/report"),
    message:
        "Writing the report of all papers"
    script:
        "../../scripts/papers/report.py"
