"""Households over a whole period: readings to one bounded vector each, vectors back to readings, and a scorecard."""
