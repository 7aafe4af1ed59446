"""Mechanisms as published, or optimal under the published claim, which does not hold: never for release."""
