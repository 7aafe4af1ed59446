"""Accounting curves: what a sequence of noisy steps costs in (epsilon, delta)."""

# Figures name these, so this file imports nothing.

# The largest integer order of the moments accountant. The paper does not say how far it searches; its public code
# tries 1 to 100.
LARGEST_ORDER = 100
FEW_ORDERS = 32  # the largest order that implementations of Abadi et al. (2016) try
# Stands for whole orders without end: far above the best order of any budget in use.
FAR_ORDER = 10_000
