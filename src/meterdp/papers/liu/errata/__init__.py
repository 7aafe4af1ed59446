"""Defects L1 to L12."""
