# From the study's tables to figures and the report.
# Needs:  study/*.parquet and the counts of private/ingest_report.parquet.
# Gives:  study/figures/*.svg, study/report.html, study/config.yaml.

# Further files of a study, for the report's list of where things are: path below results_dir -> declared table.
ARTEFACTS = {
    "private/readings/part-*.parquet": "readings",
    "private/meters.parquet": "meters",
    "private/quality.parquet": "quality",
    "private/log_load/part-*.parquet": "log_load",
    "private/profiles.parquet": "profiles",
    "private/labels.parquet": "labels",
    "private/arma_fits.parquet": "arma_fits",
    "private/forecasts.parquet": "forecasts",
    "private/forecast_laws.parquet": "forecast_laws",
    "private/forecasts_kwh.parquet": "forecasts_kwh",
    "private/gaussian_checks.parquet": "gaussian_checks",
    "private/neighbourhoods.parquet": "neighbourhoods",
    "private/neighbour_graph.parquet": "neighbour_graph",
    "private/noise_designs.parquet": "noise_designs",
    "private/crosswalk.parquet": "crosswalk",
    "study/mixture.parquet": "mixture",
    "study/marginals.parquet": "marginals",
    "study/variants/<mechanism>.parquet": "variant",
    "study/synthetic/<mechanism>.parquet": "synthetic_profiles",
    "study/fidelity.parquet": "fidelity",
    "study/noise_design_reports.parquet": "noise_design_reports",
    "study/forecast_examples.parquet": "forecast_examples",
    "study/forecasts/<release id>.parquet": "forecast_file",
}


rule draw_intake:
    input:
        ingest_report=PRIVATE / "ingest_report.parquet",
        quality_summary=STUDY / "quality_summary.parquet",
    output:
        figure=report(
            STUDY / "figures/intake.svg",
            caption="../report/intake.rst",
            category="1 What came in",
            labels={"figure": "intake"},
        ),
    log:
        PRIVATE / "logs/draw_intake.log",
    benchmark:
        PRIVATE / "benchmarks/draw_intake.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        figure="intake",
        options={},
        code=code_of("draw"),
    script:
        "../scripts/draw.py"


rule draw_class_profiles:
    input:
        mixture=STUDY / "mixture.parquet",
        class_table=STUDY / "class_table.parquet",
        profile_hours=STUDY / "profile_hours.parquet",
    output:
        figure=report(
            STUDY / "figures/class_profiles.svg",
            caption="../report/class_profiles.rst",
            category="2 Who the households are",
            labels={"figure": "class profiles"},
        ),
    log:
        PRIVATE / "logs/draw_class_profiles.log",
    benchmark:
        PRIVATE / "benchmarks/draw_class_profiles.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        figure="class_profiles",
        options={},
        code=code_of("draw"),
    script:
        "../scripts/draw.py"


rule draw_kl_curve:
    input:
        cost=STUDY / "cost.parquet",
    output:
        figure=report(
            STUDY / "figures/kl_curve.svg",
            caption="../report/kl_curve.rst",
            category="3 What each mechanism costs",
            labels={"figure": "kl curve"},
        ),
    log:
        PRIVATE / "logs/draw_kl_curve.log",
    benchmark:
        PRIVATE / "benchmarks/draw_kl_curve.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        figure="kl_curve",
        options={},
        code=code_of("draw"),
    script:
        "../scripts/draw.py"


rule draw_marginal_densities:
    input:
        marginals=STUDY / "marginals.parquet",
        profile_hours=STUDY / "profile_hours.parquet",
    output:
        figure=report(
            STUDY / "figures/marginal_densities_{mechanism}.svg",
            caption="../report/marginal_densities.rst",
            category="3 What each mechanism costs",
            labels={"figure": "marginal densities, {mechanism}"},
        ),
    log:
        PRIVATE / "logs/draw_marginal_densities/{mechanism}.log",
    benchmark:
        PRIVATE / "benchmarks/draw_marginal_densities/{mechanism}.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        figure="marginal_densities",
        options=lambda wildcards: {
            "mechanism": wildcards.mechanism,
            "epsilon": config["mechanisms"]["figure_epsilon"],
        },
        code=code_of("draw"),
    script:
        "../scripts/draw.py"


rule draw_delta_curves:
    input:
        delta_curves=STUDY / "delta_curves.parquet",
    output:
        figure=report(
            STUDY / "figures/delta_curves.svg",
            caption="../report/delta_curves.rst",
            category="4 Forecasts",
            labels={"figure": "delta curves"},
        ),
    log:
        PRIVATE / "logs/draw_delta_curves.log",
    benchmark:
        PRIVATE / "benchmarks/draw_delta_curves.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        figure="delta_curves",
        options={},
        code=code_of("draw"),
    script:
        "../scripts/draw.py"


rule draw_forecast_examples:
    input:
        forecast_examples=STUDY / "forecast_examples.parquet",
    output:
        figure=report(
            STUDY / "figures/forecast_examples.svg",
            caption="../report/forecast_examples.rst",
            category="4 Forecasts",
            labels={"figure": "forecast examples"},
        ),
    log:
        PRIVATE / "logs/draw_forecast_examples.log",
    benchmark:
        PRIVATE / "benchmarks/draw_forecast_examples.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        figure="forecast_examples",
        options={},
        code=code_of("draw"),
    script:
        "../scripts/draw.py"


rule draw_forecast_errors:
    input:
        forecast_errors=STUDY / "forecast_errors.parquet",
    output:
        figure=report(
            STUDY / "figures/forecast_errors.svg",
            caption="../report/forecast_errors.rst",
            category="4 Forecasts",
            labels={"figure": "forecast errors"},
        ),
    log:
        PRIVATE / "logs/draw_forecast_errors.log",
    benchmark:
        PRIVATE / "benchmarks/draw_forecast_errors.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        figure="forecast_errors",
        options={},
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
        ingest_report=rules.ingest.output.report,
        quality_summary=rules.gather_profiles.output.summary,
        profile_hours=rules.gather_profiles.output.hours,
        class_table=rules.fit_mixture.output.class_table,
        normality=rules.fit_mixture.output.normality,
        cost=rules.compare_mechanisms.output.whole,
        arma_summary=rules.gather_forecasts.output.summary,
        gaussian_summary=rules.gather_forecasts.output.gaussian_summary,
        forecast_errors=rules.forecast_errors.output.errors,
        forecast_intervals=rules.forecast_errors.output.intervals,
        delta_curves=rules.delta_curves.output.curves,
        delta_under_prior=rules.delta_curves.output.priors,
        design_comparison=rules.design_noise.output.comparison,
        noise_answers=rules.noise_answers.output.answers,
        group_forecast_errors=rules.group_forecast.output.errors,
        neighbourhood_summary=rules.neighbourhoods.output.summary,
        figures=expand(
            STUDY / "figures/{figure}.svg",
            figure=[
                "intake",
                "class_profiles",
                "kl_curve",
                *(f"marginal_densities_{m}" for m in config["mechanisms"]["variants"]),
                "fidelity",
                "delta_curves",
                "forecast_examples",
                "forecast_errors",
            ],
        ),
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
        results=RESULTS,
        simulated=SIMULATED,
        artefacts=ARTEFACTS,
        code=code_of("report"),
    script:
        "../scripts/report.py"
