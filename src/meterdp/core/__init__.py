"""What every package needs and none owns: errors, table schemas, Parquet, configuration, progress, provenance."""
