"""The study's report: one self-contained HTML file."""
