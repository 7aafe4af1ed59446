"""Release mechanisms for Gaussian mixtures: one per file behind one interface, each with a proof note."""
