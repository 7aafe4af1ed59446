"""One reader per export format, and their registry."""
