"""Defects P1 to P7."""
