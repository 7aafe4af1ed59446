"""The published constraints with the true objective and its optimum. Never for release."""
