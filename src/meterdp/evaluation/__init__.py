"""What privacy costs: likelihood and divergence of released mixtures, fidelity of profiles, errors of forecasts."""
