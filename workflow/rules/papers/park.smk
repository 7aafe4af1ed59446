# Every figure and table of Park et al., and a verdict on each of its claims. Study mode: seeded, not for release.
# Needs:  resources/datasets.yaml, data_dir.
# Gives:  reproduce/park/{fig<1..5>,distances,nicv,face_numbers,scorecard}.parquet.
from meterdp_papers.park.tables import splits_of

PARK = REPRODUCE / "park"
PARK_LOGS = PRIVATE / "logs/reproduce_park"
PARK_BENCHMARKS = PRIVATE / "benchmarks/reproduce_park"
# Splits of Figs 2 and 3 and folds of Fig. 4, a job each.
PARK_SPLITS = range(splits_of(config["trials"]))


rule reproduce_park_split:
    input:
        registry=shipped("resources/datasets.yaml"),
    output:
        runs=PARK / "splits/{figure}/{number}.parquet",
    log:
        PARK_LOGS / "splits/{figure}_{number}.log",
    benchmark:
        PARK_BENCHMARKS / "splits/{figure}_{number}.tsv"
    wildcard_constraints:
        figure="fig2|fig3",
        number=r"\d+",
    priority: 10
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        data_dir=config["data_dir"],
        seed=config["seed"],
        code=code_of("papers/park_split"),
    message:
        "Park et al., {wildcards.figure}: split {wildcards.number}"
    script:
        "../../scripts/papers/park_split.py"


rule reproduce_park_curve:
    input:
        parts=[PARK / f"splits/{{figure}}/{n}.parquet" for n in PARK_SPLITS],
        registry=shipped("resources/datasets.yaml"),
    output:
        whole=PARK / "{figure}_splits.parquet",
        curve=PARK / "{figure}.parquet",
        ours=PARK / "{figure}_ours.parquet",
    log:
        PARK_LOGS / "curve/{figure}.log",
    benchmark:
        PARK_BENCHMARKS / "curve/{figure}.tsv"
    wildcard_constraints:
        figure="fig2|fig3",
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        data_dir=config["data_dir"],
        code=code_of("papers/park_curve"),
    message:
        "Park et al., {wildcards.figure}: means over splits"
    script:
        "../../scripts/papers/park_curve.py"


rule reproduce_park_marital:
    output:
        map=PARK / "fig1.parquet",
        distances=PARK / "distances.parquet",
    log:
        PARK_LOGS / "marital.log",
    benchmark:
        PARK_BENCHMARKS / "marital.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        seed=config["seed"],
        code=code_of("papers/park_marital"),
    message:
        "Park et al., Fig. 1: map and distances"
    script:
        "../../scripts/papers/park_marital.py"


rule reproduce_park_fold:
    input:
        registry=shipped("resources/datasets.yaml"),
    output:
        fold=PARK / "folds/{number}.parquet",
    log:
        PARK_LOGS / "folds/{number}.log",
    benchmark:
        PARK_BENCHMARKS / "folds/{number}.tsv"
    wildcard_constraints:
        number=r"\d+",
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        data_dir=config["data_dir"],
        seed=config["seed"],
        code=code_of("papers/park_fold"),
    message:
        "Park et al., Fig. 4: fold {wildcards.number}"
    script:
        "../../scripts/papers/park_fold.py"


rule reproduce_park_clusters:
    input:
        parts=[PARK / f"folds/{n}.parquet" for n in PARK_SPLITS],
        registry=shipped("resources/datasets.yaml"),
    output:
        folds=PARK / "folds.parquet",
        nicv=PARK / "nicv.parquet",
        map=PARK / "fig4.parquet",
    log:
        PARK_LOGS / "clusters.log",
    benchmark:
        PARK_BENCHMARKS / "clusters.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        data_dir=config["data_dir"],
        code=code_of("papers/park_clusters"),
    message:
        "Park et al., Fig. 4: clusters"
    script:
        "../../scripts/papers/park_clusters.py"


rule reproduce_park_faces:
    input:
        registry=shipped("resources/datasets.yaml"),
    output:
        faces=PARK / "fig5.parquet",
        numbers=PARK / "face_numbers.parquet",
    log:
        PARK_LOGS / "faces.log",
    benchmark:
        PARK_BENCHMARKS / "faces.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        trials=config["trials"],
        data_dir=config["data_dir"],
        seed=config["seed"],
        code=code_of("papers/park_faces"),
    message:
        "Park et al., Fig. 5: faces"
    script:
        "../../scripts/papers/park_faces.py"


rule reproduce_park_scorecard:
    input:
        distances=rules.reproduce_park_marital.output.distances,
        fig2=PARK / "fig2.parquet",
        fig3=PARK / "fig3.parquet",
        fig2_splits=PARK / "fig2_splits.parquet",
        fig3_splits=PARK / "fig3_splits.parquet",
        nicv=rules.reproduce_park_clusters.output.nicv,
        folds=rules.reproduce_park_clusters.output.folds,
        face_numbers=rules.reproduce_park_faces.output.numbers,
    output:
        scorecard=PARK / "scorecard.parquet",
    log:
        PARK_LOGS / "scorecard.log",
    benchmark:
        PARK_BENCHMARKS / "scorecard.tsv"
    conda:
        "../../envs/meterdp.yaml"
    params:
        paper="park",
        code=code_of("papers/scorecard"),
    message:
        "Park et al.: judging claims"
    script:
        "../../scripts/papers/scorecard.py"


rule reproduce_park:
    input:
        report=REPRODUCE / "park/report.html",
        distances=PARK / "distances.parquet",
        errata=REPRODUCE / "errata.parquet",
