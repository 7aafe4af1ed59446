"""Noise designs: what is done to the query of every household so that neighbours look alike."""
