"""`transport`: queries mapped towards a common distribution."""
