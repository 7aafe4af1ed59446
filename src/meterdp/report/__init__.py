"""Every plot of a study, one entry a figure, and the self-contained HTML report.

Figures read Parquet artefacts and nothing else of a study, and drawing twice gives the same bytes. Of the packages
before this one they import the declared tables and words.
"""
