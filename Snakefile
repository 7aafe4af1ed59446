# `snakemake --cores 8` from the root: the defaults of config/config.yaml and the workflow itself.
configfile: "config/config.yaml"


include: "workflow/Snakefile"


# An include resets the default target.
rule all:
    default_target: True
    input:
        rules.study.input,
