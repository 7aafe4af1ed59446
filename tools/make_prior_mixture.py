"""Make the prior mixture that comes with the code: ``python tools/make_prior_mixture.py [FOLDER]``.

A Gaussian mixture fitted by EM to simulated households of 84 synthetic utilities: the simulator's public parameters
with level, peak hours, shares of the types and spreads drawn for each from the ranges below. No number comes
from a real household. The same code gives the same numbers. Takes about three minutes.
"""

from __future__ import annotations

import json
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from sklearn.mixture import GaussianMixture

import meterdp
from meterdp.core.noise import keyed_generator
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import fit_given, fit_labels, kmeans_labels
from meterdp.release.service import as_json, checksums
from meterdp.simulate.load import Variation, hourly_log_kwh
from meterdp.simulate.parameters import SimulationParameters

ROOT = Path(__file__).resolve().parents[1]
CLASSES, UTILITIES, HOUSEHOLDS, DAYS = 16, 84, 300, 2
SEED = 3000
FIRST_DAY = date(2025, 11, 10)
CLIP_KWH = (0.01, 100.0)
FLOOR = 1e-3
EM_ITERATIONS = 500
# Drawn uniformly for each utility; the noise factor uniformly in its logarithm, shares of types from a Dirichlet
# distribution about those of the parameters.
RANGES = {
    "level_log": (-0.6, 0.6),
    "later_h": (-2.0, 2.0),
    "shape_spread": (0.7, 1.6),
    "noise_spread": (0.8, 4.0),
    "level_spread": (0.8, 2.5),
}
SHARE_CONCENTRATION = 5.0
# Decimals of the stored numbers.
DIGITS = 5


def variations(parameters: SimulationParameters) -> list[Variation]:
    """Return the synthetic utilities."""
    generator = keyed_generator(SEED, "library")
    shares = np.array([kind.households for kind in parameters.household_types]) / parameters.households
    out = []
    for _ in range(UTILITIES):
        drawn = {name: generator.uniform(*limits) for name, limits in RANGES.items() if name != "noise_spread"}
        drawn["noise_spread"] = float(np.exp(generator.uniform(*np.log(RANGES["noise_spread"]))))
        own = generator.dirichlet(SHARE_CONCENTRATION * shares)
        out.append(Variation(households=tuple(np.maximum(1, 1e4 * own).astype(int)), **drawn))
    return out


def population() -> np.ndarray:
    """Return hourly log energies of all households, (n, 48) float64; utilities on different days of the week."""
    parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
    return np.concatenate(
        [
            hourly_log_kwh(v.of(parameters), SEED + i, HOUSEHOLDS, FIRST_DAY + timedelta(days=i % 7), DAYS, CLIP_KWH)
            for i, v in enumerate(variations(parameters))
        ]
    )


def main(folder: str = str(ROOT / "resources/prior_mixture")) -> None:
    """Write the two files of the prior mixture."""
    x = population()
    start = fit_labels(x, kmeans_labels(x, CLASSES, SEED), FLOOR).mixture
    model = GaussianMixture(
        n_components=CLASSES,
        # Added to the diagonal at every step; without it EM can collapse onto one record.
        reg_covar=FLOOR,
        max_iter=EM_ITERATIONS,
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=np.linalg.inv(start.covariances),
    ).fit(x)
    fitted = fit_given(x, Mixture(model.weights_, model.means_, model.covariances_), FLOOR).mixture
    weights = np.round(fitted.weights, DIGITS)
    weights[0] = round(1 - weights[1:].sum(), DIGITS)
    hours = [f"{h % 24:02d}:00-{(h + 1) % 24:02d}:00" for h in range(24 * DAYS)]
    mixture = {
        "weights": weights.tolist(),
        "means": np.round(fitted.means, DIGITS).tolist(),
        "covariances": np.round((fitted.covariances + np.swapaxes(fitted.covariances, 1, 2)) / 2, DIGITS).tolist(),
        "covariance_type": "full",
        "entries": hours,
        "unit": "log kWh per hour",
    }
    files = {"mixture.json": (json.dumps(mixture, separators=(",", ":")) + "\n").encode()}
    manifest = {
        "what": "a Gaussian mixture of load profiles of simulated households of made-up utilities",  # words: keep
        "simulated_data": True,
        "public_parameters": {
            "artefact": "prior_mixture",
            "made_by": "tools/make_prior_mixture.py",
            "utilities": UTILITIES,
            "households_each": HOUSEHOLDS,
            "ranges": {name: list(limits) for name, limits in RANGES.items()},
            "share_concentration": SHARE_CONCENTRATION,
        },
        "meterdp_version": meterdp.__version__,
    }
    files["manifest.json"] = as_json({**manifest, "sha256": checksums(files)})
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (Path(folder) / name).write_bytes(data)


if __name__ == "__main__":
    main(*sys.argv[1:2])
