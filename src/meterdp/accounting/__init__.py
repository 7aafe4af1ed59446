"""Accounting curves, one per file: what a sequence of noisy steps costs in (epsilon, delta)."""
