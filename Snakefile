# `snakemake --cores 8` from the root: hands over to workflow/Snakefile.
configfile: "config/config.yaml"


module meterdp:
    snakefile:
        "workflow/Snakefile"
    config:
        config


use rule * from meterdp


rule all:
    default_target: True
    input:
        rules.study.input,
