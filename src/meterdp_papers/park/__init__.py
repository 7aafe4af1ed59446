"""Park, Foulds, Chaudhuri and Welling, DP-EM: Differentially Private Expectation Maximization."""
