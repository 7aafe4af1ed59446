"""Defects D1 to D8."""
