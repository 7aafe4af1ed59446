"""What an export nobody has described looks like: its format, and a configuration that reads it."""
