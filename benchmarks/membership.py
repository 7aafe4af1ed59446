"""What an attacker learns of who is among the households a release was made from, with privacy and without.

``python benchmarks/membership.py [--homes N]`` simulates years of N homes that are released (1,409 by default) and of
twice as many like them: half of these the attacker knows, half are strangers. A target is as likely a member as a
stranger. Two attacks, both with the known homes for comparison: by distance, which looks at as many synthetic
households as there are members, and by likelihood, which compares the released mixture with one fitted to the known
homes. One row per case in results/benchmarks/membership.parquet: the odds that an attack is right, of which a guess
has 1 and (epsilon, delta) allows e^epsilon, mean and deviation of some releases.

The attackers see vectors of targets as they are, which is more than they have.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from datetime import date

import numpy as np
from sklearn.mixture import GaussianMixture
from table import ROOT, write

from meterdp.core.noise import StudyNoise
from meterdp.households.closeness import distance_scores, odds
from meterdp.households.configured import calendar_of
from meterdp.households.generate import HouseholdGenerator
from meterdp.households.mechanism import HouseholdRecords, Households, HouseholdsPublic, directions_of
from meterdp.households.released import drawn_vectors
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.mechanisms.proven.mechanism import Box
from meterdp.mixture.density import class_log_densities
from meterdp.mixture.draws import Mixture
from meterdp.profiles.grid import LocalTime
from meterdp.simulate.load import simulated_kwh
from meterdp.simulate.parameters import SimulationParameters

FIRST, LAST = date(2025, 1, 1), date(2025, 12, 31)
SETTINGS = VectorSettings(calendar_of(FIRST, LAST, LocalTime(60, "UTC")))
EPSILONS, DELTA, RELEASES, CLASSES, SEED = (1.0, 4.0, 16.0), 1e-5, 5, 6, 91


def populations(homes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the vectors (N, d) of members, of strangers and of homes that the attacker knows."""
    parameters = replace(
        SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml"), interval_minutes=60, time_zone="UTC"
    )
    kwh = simulated_kwh(parameters, SEED, 3 * homes, FIRST, (LAST - FIRST).days + 1)
    order = StudyNoise(SEED, "membership").uniform((3 * homes,)).argsort()
    vectors = household_vectors(kwh, SETTINGS)[order]
    return vectors[:homes], vectors[homes : 2 * homes], vectors[2 * homes :]


def fitted(vectors: np.ndarray) -> Mixture:
    """Return a mixture by EM, without privacy."""
    model = GaussianMixture(CLASSES, reg_covar=1e-4, random_state=SEED).fit(SETTINGS.in_half_widths(vectors))
    return Mixture(model.weights_, model.means_, model.covariances_)


def log_density(vectors: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return the log density of (n, d) vectors in half widths, (n,)."""
    return np.logaddexp.reduce(class_log_densities(vectors, mixture), axis=0)


class Attacker:
    """Knows some homes, and judges members and strangers."""

    def __init__(self, members: np.ndarray, strangers: np.ndarray, known: np.ndarray):
        self.targets = SETTINGS.in_half_widths(members), SETTINGS.in_half_widths(strangers)
        self.known, self.of_known = SETTINGS.in_half_widths(known), fitted(known)

    def by_distance(self, synthetic: np.ndarray) -> float:
        return odds(*(distance_scores(x, self.known, SETTINGS.in_half_widths(synthetic)) for x in self.targets))

    def by_likelihood(self, mixture: Mixture) -> float:
        return odds(*(log_density(x, mixture) - log_density(x, self.of_known) for x in self.targets))


def released(members: np.ndarray, epsilon: float, release: int) -> tuple[np.ndarray, Mixture]:
    """Return as many synthetic vectors as there are members, and the released mixture in half widths."""
    n, box = len(members), Box(*map(tuple, SETTINGS.bounds.tolist()))
    public = HouseholdsPublic(epsilon, DELTA, box, (0,) * n, directions_of(SETTINGS.names))
    noise = StudyNoise(SEED, "membership", epsilon, release)
    (population,), _ = Households.calibrate(public).release(HouseholdRecords.of(members), noise)
    return drawn_vectors(population, SETTINGS, n, noise), box.scaled_mixture(population.mixture)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--homes", type=int, default=1409)
    homes = parser.parse_args().homes
    members, strangers, known = populations(homes)
    attacker, rows = Attacker(members, strangers, known), []

    def add(case: str, seconds: float, by_distance: list[float], by_likelihood: list[float], most: float) -> None:
        words = [
            f"{np.mean(found):.2f} +- {np.std(found):.2f} {kind}"
            for kind, found in (("by distance", by_distance), ("by likelihood", by_likelihood))
            if found
        ]
        quality = f"odds {', '.join(words)}; {f'at most {most:.1f}' if math.isfinite(most) else 'no bound'}"
        print(f"{case}: {quality}", flush=True)
        rows.append((f"{case}, {homes:,} homes", seconds, None, quality))

    for epsilon in EPSILONS:
        begin, found = time.perf_counter(), [released(members, epsilon, k) for k in range(RELEASES)]
        seconds = (time.perf_counter() - begin) / RELEASES
        pairs = [(attacker.by_distance(x), attacker.by_likelihood(mixture)) for x, mixture in found]
        add(f"released at epsilon {epsilon:g}", seconds, *map(list, zip(*pairs, strict=True)), math.exp(epsilon))
    begin, mixture = time.perf_counter(), fitted(members)
    add("a mixture by EM, no privacy", time.perf_counter() - begin, [], [attacker.by_likelihood(mixture)], math.inf)
    begin, generator = time.perf_counter(), HouseholdGenerator(SETTINGS)
    own = np.concatenate([household_vectors(kwh, SETTINGS) for kwh in generator.batches(members, SEED)])
    add(
        "homes drawn from own vectors, no privacy",
        time.perf_counter() - begin,
        [attacker.by_distance(own)],
        [],
        math.inf,
    )
    write("membership", rows)


if __name__ == "__main__":
    main()
