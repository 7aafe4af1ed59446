"""The largest integer orders of the moments accountant. Figures name them, so this module imports nothing."""

# The paper does not say how far it searches; its public code tries 1 to 100.
LARGEST_ORDER = 100
# Stands for whole orders without end: far above the best order of any budget in use.
FAR_ORDER = 10_000
