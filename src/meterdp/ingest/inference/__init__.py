"""What an export that no one has described looks like: its format, and a configuration that reads it."""
