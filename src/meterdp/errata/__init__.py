"""Errata of the papers: computed numbers per defect, from public settings and never from a meter reading."""
