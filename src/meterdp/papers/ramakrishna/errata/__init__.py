"""Defects R1 to R12."""
