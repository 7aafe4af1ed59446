"""DP-EM of Park et al.: expectation maximisation on perturbed moments. Published family, never for release."""
