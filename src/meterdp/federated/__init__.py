"""One mixture fitted by nodes that do not show each other their records (Li et al.), simulated and for real."""
