"""Regular grid, quality rules, log, seasonal mean and profile vectors; one shard of households at a time."""
