"""Fig. 1 of Park et al.: what the mean of a class says about the one person in it.

The paper simulates 104 people from rates it does not print; all rates here are invented, and so is every person. A
class is a marital status, so responsibilities are known and EM is done after one iteration. Longitude and latitude
are divided by the largest norm, as footnote 4 says, and released by scenario GGG in one iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from meterdp.accounting.registry import CURVES
from meterdp.core.noise import StudyNoise, fixed_normals, fixed_uniforms
from meterdp.mechanisms.dpem.mechanism import EmSettings, MixtureModel, Perturbation
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import ClassSums
from meterdp.privacy.noise import NoiseSource
from meterdp_papers.park.tables import DELTA, SHOWN

STATUSES = ("single", "married", "widowed", "divorced")
MARRIED = STATUSES.index("married")
PEOPLE = 104
TIMES = (1, 50)
MARITAL_EPSILONS = (1.0, 4.0)  # the paper does not print its value
STEP_DELTA = 1e-6
SOURCE = {
    "data": f"simulated people as in the paper, {PEOPLE} and {TIMES[1]} times as many; rates are not printed: ours",
    "substitute": None,
}

# Invented. Longitude, latitude and share of the people of each state; most live where the rates are from.
_STATES = {
    "Baden-Württemberg": (9.0, 48.5, 0.76),
    "Bavaria": (11.4, 48.9, 0.08),
    "Rhineland-Palatinate": (7.4, 49.9, 0.06),
    "Hesse": (9.0, 50.6, 0.05),
    "Saarland": (6.9, 49.4, 0.02),
    "Berlin": (13.4, 52.5, 0.02),
    "Lower Saxony": (9.5, 52.7, 0.01),
}
LONE_STATE_AT = (7.6, 51.5)  # North Rhine-Westphalia
_SPREAD_DEGREES = 0.45
# People per status. That the married class has one person is the caption's: "completely revealed in the mean", and
# "several people" with 50 times the data.
_COUNTS = (79, 1, 6, 18)
_KM_PER_DEGREE = 111.2


@dataclass(frozen=True)
class People:
    """Simulated people."""

    place: np.ndarray  # (N, 2), longitude and latitude in degrees
    status: np.ndarray  # (N,), index into `STATUSES`
    lone: int  # row of a married person; the only one unless there are more times as many people


def people(times: int) -> People:
    """Simulate ``times`` as many people as the paper does."""
    purpose = f"reproduce park, fig1, {times} times"
    counts = np.array(_COUNTS) * times
    status = np.repeat(np.arange(len(STATUSES)), counts)
    places = np.array(list(_STATES.values()))
    shares = np.cumsum(places[:, 2] / places[:, 2].sum())
    state = np.searchsorted(shares[:-1], fixed_uniforms(f"{purpose}, state", (len(status),)), side="right")
    centre = places[state, :2]
    first = int(counts[:MARRIED].sum())
    centre[first : first + times] = LONE_STATE_AT
    return People(centre + _SPREAD_DEGREES * fixed_normals(f"{purpose}, place", (len(status), 2)), status, first)


def class_sums_of(x: np.ndarray, status: np.ndarray) -> ClassSums:
    """Return the sums of (12) where the class of every record is known."""
    member = (status[:, None] == np.arange(len(STATUSES))).astype(float)
    return ClassSums(member.sum(axis=0), member.T @ x, np.einsum("nk,ni,nj->kij", member, x, x), float("nan"))


def released(found: People, epsilon: float, noise: NoiseSource) -> Mixture:
    """Return means and covariances in degrees after one iteration; no noise where epsilon is infinite."""
    radius = np.linalg.norm(found.place, axis=1).max()
    settings = EmSettings(1, "GGG", "mle", step_delta=STEP_DELTA, eigenvalue_floor=1e-9)
    if np.isfinite(epsilon):
        step = CURVES["zcdp"].calibrated(settings.sequence(len(STATUSES)), epsilon, DELTA)
        settings = replace(settings, step_epsilon=step, eigenvalue_floor=SHOWN.eigenvalue_floor)
    perturbation = Perturbation(noise, settings.step_epsilon, settings.step_delta)
    sums = class_sums_of(found.place / radius, found.status)
    mixture = MixtureModel(len(found.place), settings).perturbed(sums, perturbation).mixture
    return Mixture(mixture.weights, mixture.means * radius, mixture.covariances * radius**2)


def kilometres(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return distances (...) in a plane tangent at the mean latitude, of longitude and latitude (..., 2)."""
    step = a - b
    return _KM_PER_DEGREE * np.hypot(step[..., 0] * np.cos(np.radians(50.0)), step[..., 1])


def tabulate(trials: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the columns of ``park_map`` (Fig. 1) and ``park_distances``; ``trials`` are releases per setting."""
    shown, distances = [], []
    for times in TIMES:
        found = people(times)
        free = released(found, np.inf, StudyNoise(seed, "reproduce park", "fig1", "none"))
        shown.append(_places(found, times, free).assign(times=times))
        for epsilon in MARITAL_EPSILONS:
            noise = StudyNoise(seed, "reproduce park", "fig1", times, repr(epsilon))
            drawn = [released(found, epsilon, noise) for _ in range(trials)]
            shown.append(_ellipses("released", epsilon, drawn[0]).assign(times=times))
            means = np.stack([one.means for one in drawn])
            distances.append(_distances(epsilon, found, free, means).assign(times=times))
    return pd.concat(shown).assign(**SOURCE), pd.concat(distances).assign(**SOURCE)


def _places(found: People, times: int, free: Mixture) -> pd.DataFrame:
    shown = slice(None, None, times)  # as many dots in either panel
    kind = np.where(np.arange(len(found.place)) == found.lone, "lone person", "person")[shown]
    dots = pd.DataFrame(
        {
            "kind": kind,
            "status": np.array(STATUSES)[found.status[shown]],
            "longitude": found.place[shown, 0],
            "latitude": found.place[shown, 1],
        }
    )
    return pd.concat([dots, _ellipses("em", np.nan, free)])


def _ellipses(kind: str, epsilon: float, mixture: Mixture) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "kind": kind,
            "epsilon": epsilon,
            "status": STATUSES,
            "longitude": mixture.means[:, 0],
            "latitude": mixture.means[:, 1],
            "covariance": [c.ravel() for c in mixture.covariances],
        }
    )


def _distances(epsilon: float, found: People, free: Mixture, means: np.ndarray) -> pd.DataFrame:
    from_em = kilometres(means, free.means)
    person = found.place[found.lone]
    return pd.DataFrame(
        {
            "epsilon": epsilon,
            "status": STATUSES,
            "person_count": np.bincount(found.status, minlength=len(STATUSES)),
            "em_to_lone_km": kilometres(free.means, person),
            "released_to_lone_median_km": np.median(kilometres(means, person), axis=0),
            "released_to_em_median_km": np.median(from_em, axis=0),
            "released_to_em_mean_km": from_em.mean(axis=0),
            "released_to_em_se_km": from_em.std(axis=0, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan,
            "trials": len(means),
        }
    )
