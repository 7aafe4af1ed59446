"""Energy and meters per low-voltage feeder and interval, released under differential privacy (docs/feeders.md)."""
