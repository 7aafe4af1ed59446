"""The design of Ramakrishna et al., Algorithms 1 and 2."""
