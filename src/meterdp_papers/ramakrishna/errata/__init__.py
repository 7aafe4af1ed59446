"""The errata of Ramakrishna et al., "Differential Privacy for Class-based Data: A Practical Gaussian Mechanism"."""
