# Lower bounds on epsilon from what mechanisms give out, beside their claims. No study or release depends on it.
# Needs:  config[audit] and the parameters of the simulator; no export.
# Gives:  audit/{audit.parquet,audit_bounds.svg,report.html}.


rule audit_part:
    input:
        parameters=shipped("resources/simulator.yaml"),
    output:
        audit=AUDIT / "parts/{part}.parquet",
    log:
        PRIVATE / "logs/audit_part/{part}.log",
    benchmark:
        PRIVATE / "benchmarks/audit_part/{part}.tsv"
    wildcard_constraints:
        part="|".join(AUDIT_PARTS),
    conda:
        "../envs/meterdp.yaml"
    params:
        config={key: config[key] for key in AUDITED_SETTINGS},
        code=code_of("audit_part"),
    message:
        "Attacking: {wildcards.part}"
    script:
        "../scripts/audit_part.py"


rule gather_audit:
    input:
        parts=expand(AUDIT / "parts/{part}.parquet", part=AUDIT_PARTS),
    output:
        whole=AUDIT / "audit.parquet",
    log:
        PRIVATE / "logs/gather_audit.log",
    benchmark:
        PRIVATE / "benchmarks/gather_audit.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        table="audit",
        code=code_of("concatenate"),
    message:
        "Gathering the bounds that attacks found"
    script:
        "../scripts/concatenate.py"


rule audit_report:
    input:
        audit=AUDIT / "audit.parquet",
    output:
        figure=AUDIT / "audit_bounds.svg",
        report=AUDIT / "report.html",
    log:
        PRIVATE / "logs/audit_report.log",
    benchmark:
        PRIVATE / "benchmarks/audit_report.tsv"
    conda:
        "../envs/meterdp.yaml"
    params:
        code=code_of("audit_report"),
    message:
        "Writing the page of the audit"
    script:
        "../scripts/audit_report.py"
