"""Which households must not be told apart."""
