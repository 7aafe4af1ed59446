"""The privacy kernel: what all releases share."""
