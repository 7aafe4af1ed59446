"""Mechanisms as printed in the papers, and what they share. Their guarantees do not hold; never for release."""
