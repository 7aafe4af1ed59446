"""The embedded default: a synthetic meter export with real-life faults, so that a study runs without any real data.

The exports are synthetic. No number in them comes from a real meter, every meter id starts with ``SYN-``, and all
parameters are public in ``resources/simulator.yaml``.
"""
