"""Which households must be indistinguishable."""
