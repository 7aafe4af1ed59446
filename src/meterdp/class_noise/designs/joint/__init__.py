"""`joint`: mean and covariance of the noise together."""
