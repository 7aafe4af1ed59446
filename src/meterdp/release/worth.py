"""What a released mixture is worth, from public numbers alone: known before anything is charged.

The release is tried on synthetic utilities: homes sampled from the library that comes with the code, with its classes
in other shares, at other levels and with other spreads. No record and no reading is looked at, so that what is said
here, and what is refused for it, tells nothing of a household.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise, keyed_generator
from meterdp.errors import InputError
from meterdp.forecasting.energy import censored_moment
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.interface import PublicSettings
from meterdp.mechanisms.proven.library import HOURS, SHIPPED, Library, read_library
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ALONE, Shares
from meterdp.mixture.draws import Mixture, MixtureDraws, sample
from meterdp.privacy.mechanism import measure_with

# Synthetic utilities, releases of each, and records of each: of more households these stand for all.
UTILITIES, DRAWS, MOST_RECORDS = 120, 4, 400
# Their shares of the classes are Dirichlet with the library's as mean; levels are e^-1.25 to e^1.25 times, variances
# e^-0.75 to e^0.75 times the library's.
CONCENTRATION, LEVEL_LOG, SPREAD_LOG = 5.0, 1.25, 0.75
# Share of the listed meters that have usable readings; the others count as the public default record.
USABLE = 0.95
# A release is absurd if some mean hour is off by more than this factor, and refused if more than so many would be.
FACTOR, MOST_ABSURD = 2.0, 0.01
_SEED = 3001
# What a refusal proposes.
_EPSILONS = (0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16)
_HOUSEHOLDS = tuple(int(step * 10**power) for power in range(2, 6) for step in (1, 1.5, 2, 3, 4, 5, 6, 8))


@dataclass(frozen=True)
class Worth:
    """How far the mean energy of an hour is expected to be off, as shares of the real one."""

    error: float  # mean over hours, releases and synthetic utilities
    error_q95: float  # of 20 releases 19 are off by less, mean over hours
    guess: float  # the same as the error, of the public library as it is
    absurd: float  # share of releases with an hour off by more than FACTOR

    @property
    def too_little(self) -> bool:
        """Whether a release would tell less than a public guess, or nonsense too often."""
        return self.error >= self.guess or self.absurd > MOST_ABSURD

    @property
    def sentence(self) -> str:
        return (
            f"the mean energy of an hour is expected to be off by {_percent(self.error)}, in one release of 20 by "
            f"more than {_percent(self.error_q95)}; a public guess that looks at no reading would be off by "
            f"{_percent(self.guess)}. This follows from public numbers alone (listed meters, epsilon, settings; "
            f"tried on simulated households) and holds if at least {_percent(USABLE)} of the listed meters have "
            "usable readings"
        )

    @property
    def stated(self) -> dict:
        return {
            "of": "mean energy of an hour",
            **asdict(self),
            "usable_share": USABLE,
            "in_words": self.sentence,  # words: keep
        }  # words: keep


def check_worth(public: PublicSettings, config: Mapping) -> None:
    """Refuse a mixture that would tell less than a public guess, unless the configuration insists.

    The refusal names an epsilon and a number of households that would do.
    """
    if config["release"]["insist"]:
        return
    worth = worth_of(public, config)
    if not worth.too_little:
        return
    hints = [
        f"use an epsilon of {epsilon:g} or more"
        for epsilon in _first_that_does(_EPSILONS, public.epsilon, lambda e: replace(public, epsilon=e), config)
    ]
    hints += [
        f"list {households:,} meters or more"
        for households in _first_that_does(_HOUSEHOLDS, public.records, lambda n: replace(public, records=n), config)
    ]
    if public.sound.library is None:
        hints.append("set mechanisms.sound.library to auto")
    raise InputError(
        f"is too small for {public.records:,} listed meters: some hour of the mixture would be off by more than a "
        f"factor of {FACTOR:g} in {_percent(worth.absurd)} of such releases, as far as public numbers tell; on "
        f"average {worth.sentence}",
        file="config",
        field="release.epsilon",
        hint="; ".join([*hints, "or set release.insist to true to release it all the same"]),
    )


def worth_of(public: PublicSettings, config: Mapping) -> Worth:
    """Return what a mixture with these public settings is worth for the records of a configuration."""
    profiles = config["profiles"]
    return expected(public, profiles["start_hour"], profiles["default_kwh_per_hour"])


def configured(config: Mapping, listed: int, grid: float = 0.0, shares: Shares = ALONE) -> PublicSettings:
    """Return the public settings of the mixture that a configuration asks for, of so many listed meters."""
    release, profiles = config["release"], config["profiles"]
    sections = config["mechanisms"], config["mixture"], profiles
    return public_settings(release["epsilon"], release["delta"], (listed, profiles["hours"]), *sections, grid, shares)


def _first_that_does(
    choices: Sequence[float], above: float, changed: Callable[[float], PublicSettings], config: Mapping
) -> list[float]:
    """Return the first of the choices with which a release is worth something, none if none is."""
    left = [choice for choice in choices if choice > above]
    at = bisect_left(left, True, key=lambda choice: not worth_of(changed(choice), config).too_little)
    return left[at : at + 1]


@lru_cache(maxsize=256)
def expected(public: PublicSettings, start_hour: int, default_kwh: float) -> Worth:
    """Return what the release of a mixture with these public settings is worth.

    Records begin at ``start_hour``; a household without usable readings has the public ``default_kwh`` in every hour.
    """
    # Of records longer than the library knows, as many hours: what counts is the number of households per hour.
    hours = min(public.dimension, HOURS - start_hour)
    households = max(round(public.records * hours / public.dimension), public.classes)
    records = min(households, MOST_RECORDS)
    sound = replace(public.sound, grid=0.0, library=_first_hours(public.sound.library, hours))
    whole = Proven.calibrate(replace(public, dimension=hours, records=households, sound=sound))
    # Every record stands for several alike: in units of their sums the noise is so much less.
    less = records / households
    steps = tuple(replace(s, noise_std=s.noise_std * less) for s in whole.plan.steps if s.name != "marginals")
    mechanism = replace(whole, public=replace(whole.public, records=records), plan=replace(whole.plan, steps=steps))
    low, high = public.log_scale.kwh(np.array([public.low_log_kwh, public.high_log_kwh]))
    scale = replace(public.log_scale, low_kwh=float(low), high_kwh=float(high))
    library = read_library(SHIPPED, start_hour, hours).mixture
    guess = average_profile_kwh(MixtureDraws.single(library), LogScale(max(scale.low_kwh, 1e-3), scale.high_kwh))
    usable = math.ceil(USABLE * records)

    def tried(number: int) -> tuple[np.ndarray, float, np.ndarray]:
        noise = StudyNoise(_SEED, "homes of a made-up utility", number)  # words: keep
        energy = scale.clipped_kwh(scale.log(np.exp(sample(_utility(library, number), usable, noise)[0])))
        real = energy.mean(axis=0)
        x = scale.log(np.vstack([energy, np.full((records - usable, hours), default_kwh)]))

        mixtures = mechanism.run(x, measure_with(noise, noise.grid), DRAWS).mixtures
        ratio = average_profile_kwh(mixtures, scale) / real
        absurd = ((ratio > FACTOR) | (ratio < 1 / FACTOR)).any(axis=1)
        return np.abs(ratio - 1).mean(axis=1), np.abs(guess / real - 1).mean(), absurd

    from threadpoolctl import threadpool_limits

    # Matrices are small: more threads only wait for each other.
    with threadpool_limits(1):
        errors, guessed, absurd = map(np.array, zip(*map(tried, range(UTILITIES)), strict=True))
    return Worth(float(errors.mean()), float(np.quantile(errors, 0.95)), float(guessed.mean()), float(absurd.mean()))


def average_profile_kwh(mixtures: MixtureDraws, scale: LogScale) -> np.ndarray:
    """Return (R, d) kWh: the mean energy of each hour over the households that each of R mixtures describes.

    Exact, public bounds included.
    """
    deviation = np.sqrt(np.diagonal(mixtures.covariances, axis1=-2, axis2=-1))
    return np.einsum("rk,rkj->rj", mixtures.weights, censored_moment(mixtures.means, deviation, scale, 1))


def _first_hours(library: Library | None, hours: int) -> Library | None:
    if library is None:
        return None
    part, mixture = slice(hours), library.mixture
    return replace(
        library, mixture=Mixture(mixture.weights, mixture.means[:, part], mixture.covariances[:, part, part])
    )


def _utility(library: Mixture, number: int) -> Mixture:
    generator = keyed_generator(_SEED, "made-up utility", number)  # words: keep
    weights = generator.dirichlet(CONCENTRATION * library.weights)
    level, spread = generator.uniform(-LEVEL_LOG, LEVEL_LOG), generator.uniform(-SPREAD_LOG, SPREAD_LOG)
    return Mixture(weights, library.means + level, math.exp(spread) * library.covariances)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
