"""From a utility's meter export to canonical readings on one UTC grid, with every unused row counted by reason."""
