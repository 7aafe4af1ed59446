"""Every plot of a study, one function a figure, and the self-contained HTML report.

Figures read Parquet artefacts and nothing else, and drawing twice gives the same bytes. The tables are found by name
in the catalogue of :mod:`meterdp.core.tables`, so this room imports no other room.
"""
