"""Mechanisms with a proof from a household's record to the released parameters."""
