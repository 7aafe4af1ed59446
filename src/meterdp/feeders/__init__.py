"""Energy and meters per feeder and interval, released under differential privacy (docs/feeders.md)."""
