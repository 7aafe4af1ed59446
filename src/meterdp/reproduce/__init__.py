"""Reproductions of the figures and tables of published papers, with a scorecard of what held."""
