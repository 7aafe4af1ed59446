"""`transport`: queries mapped towards a common law."""
