"""The sound mixture releases, for one household and for one label, on pairs that spend nearly all of mu."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from meterdp.audit.cases.interface import DELTA, OUTPUT, TRANSCRIPT, Case, Spy, gaussian_log_ratio, replayed
from meterdp.audit.judge import Claim, Seen
from meterdp.core.noise import fixed_normals
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings, Released
from meterdp.mechanisms.proven.domain import Ball
from meterdp.mechanisms.proven.label_flip import ProvenLabelFlip
from meterdp.mechanisms.proven.mechanism import Proven, calibrate_ball
from meterdp.mechanisms.proven.plan import ProvenSettings
from meterdp.mechanisms.proven.prior_mixture import PriorMixture
from meterdp.mechanisms.reference.label_flip import LabelledRecords
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import fit_labels
from meterdp.privacy import gaussian
from meterdp.privacy.mechanism import NoisyQuery
from meterdp.privacy.noise import NoiseSource

# Records of two hours: the noise does not depend on how many there are, but with a handful only nothing of them
# would be left in the output. One round follows the pooled moments, so the sequence is adaptive.
RECORDS, HOURS, CLASSES, ROUNDS = 200, 2, 3, 1
LABELLED = 21
LOW_LOG_KWH, HIGH_LOG_KWH = np.log([1e-3, 100.0])
FLOOR = 1e-3
# Of mu^2: so much that an error in the marginals would show.
MARGINAL_SHARE = 0.8
# Two public classes that the two households of a pair belong to wholly, at opposite ends of their unit balls.
PRIOR_MIXTURE = PriorMixture(
    Mixture(np.full(2, 0.5), np.array([[-4.5, -4.5], [0.0, 0.0]]), np.stack([0.8 * np.eye(HOURS)] * 2)), "audited"
)
# So few that at epsilon 1 the public rule learns from the prior mixture alone, and at 4 lets a round follow; in the
# ball, which has no marginals beside it, none.
PRIOR_MIXTURE_RECORDS = 150
BALL = Ball(2.0, (3.0, -1.0))
BALL_SPREAD = 0.2
# The same of a ball; the residuals of the pair are at a right angle.
BALL_PRIOR = PriorMixture(
    Mixture(
        np.full(2, 0.5),
        np.array(BALL.centre) + np.array([[-1.2, 0.0], [1.2, 0.0]]),
        np.stack([0.02 * np.eye(HOURS)] * 2),
    ),
    "audited",
)
_AT_ONCE = 1000


# -- pairs of data sets ----------------------------------------------------------------------------------------------


def households(*first: tuple[float, float], records: int = RECORDS) -> PrivateRecords:
    """Return records that begin with the given ones; all others are fixed."""
    others = -1.2 + 0.7 * fixed_normals("audited households", (records - 1, HOURS))
    return PrivateRecords(np.concatenate([np.reshape(first, (-1, HOURS)), others]))


def in_ball(*first: tuple[float, float], records: int = RECORDS) -> PrivateRecords:
    """Return records that begin with the given ones, in units of the ball; all others are fixed and inside."""
    others = BALL_SPREAD * fixed_normals("audited records in a ball", (records - 1, HOURS))
    return PrivateRecords(
        np.array(BALL.centre) + BALL.radius * np.concatenate([np.reshape(first, (-1, HOURS)), others])
    )


LOW, HIGH = (LOW_LOG_KWH, LOW_LOG_KWH), (HIGH_LOG_KWH, HIGH_LOG_KWH)
_PRIOR_HIGH = households(HIGH, records=PRIOR_MIXTURE_RECORDS)
_BALL_FAR = in_ball((-2.0, 0.0), records=PRIOR_MIXTURE_RECORDS)
# Kind of release -> adjacency -> D and its neighbour. Of pairs on a grid over the bounds, or of points beyond the
# surface of the ball, at its centre and between, those that moved the transcript most: by 95 to 100 % of mu.
PAIRS = {
    "loads": {
        "replace_one": (households((0.5, -3.0)), households(HIGH)),
        "add_remove": (households((LOW_LOG_KWH, HIGH_LOG_KWH)), households()),
    },
    "prior_mixture": {
        "replace_one": (households(LOW, records=PRIOR_MIXTURE_RECORDS), _PRIOR_HIGH),
        "add_remove": (_PRIOR_HIGH, households(records=PRIOR_MIXTURE_RECORDS)),
    },
    "marginals": {
        "replace_one": (households(HIGH), households(LOW)),
        "add_remove": (households(HIGH), households()),
    },
    "ball": {
        "replace_one": (in_ball((0.0, 2.0)), in_ball((2.0, 0.0))),
        "add_remove": (in_ball((0.0, 2.0)), in_ball()),
    },
    "ball_prior": {
        "replace_one": (_BALL_FAR, in_ball((0.6, 0.8), records=PRIOR_MIXTURE_RECORDS)),
        "add_remove": (_BALL_FAR, in_ball(records=PRIOR_MIXTURE_RECORDS)),
    },
}
WORDS = {
    ("loads", "replace_one"): "a household with one small hour or with both hours at the upper bound",
    ("loads", "add_remove"): "a household with its hours at opposite bounds, present or not",
    ("prior_mixture", "replace_one"): (
        "from a public prior mixture: a household with its hours at the upper bound, or at the lower one"
    ),
    (
        "prior_mixture",
        "add_remove",
    ): "from a public prior mixture: a household with its hours at the upper bound, present or not",
    ("marginals", "replace_one"): (
        "a household with both hours at the upper bound, or with both at the lower one; marginals beside the mixture"
    ),
    ("marginals", "add_remove"): (
        "a household with both hours at the upper bound, present or not; marginals beside the mixture"
    ),
    ("ball", "replace_one"): "a record beyond the surface of the ball, on one axis or on the other",
    ("ball", "add_remove"): "a record beyond the surface of the ball, present or not",
    (
        "ball_prior",
        "replace_one",
    ): "in a ball, from a prior mixture: a record far out in one class or in the other",
    ("ball_prior", "add_remove"): "in a ball, from a prior mixture: a record far out in its class, present or not",
}
SETTINGS = {
    "loads": {"rounds": ROUNDS},
    "prior_mixture": {"prior_mixture": PRIOR_MIXTURE},  # with as many rounds as the public rule has
    "marginals": {"rounds": ROUNDS, "marginal_share": MARGINAL_SHARE},
}
SHARE = {"loads": 1.0, "prior_mixture": 0.5, "marginals": 0.1, "ball": 0.3, "ball_prior": 0.3}


def calibrated(kind: str, epsilon: float, adjacency: str, records: int | None = None) -> Proven:
    """Return the release of a kind of :data:`PAIRS`, with one round but from a prior mixture."""
    if kind in ("ball", "ball_prior"):
        start = {"prior_mixture": BALL_PRIOR} if kind == "ball_prior" else {"rounds": ROUNDS}
        classes, records = (None, PRIOR_MIXTURE_RECORDS) if kind == "ball_prior" else (CLASSES, RECORDS)
        return calibrate_ball(classes, HOURS, records, epsilon, DELTA, BALL, adjacency=adjacency, **start)
    records = records or (PRIOR_MIXTURE_RECORDS if kind == "prior_mixture" else RECORDS)
    settings = ProvenSettings(adjacency, records_guess=records, **SETTINGS[kind])
    public = PublicSettings(epsilon, DELTA, CLASSES, HOURS, records, LOW_LOG_KWH, HIGH_LOG_KWH, FLOOR, sound=settings)
    return Proven.calibrate(public)


@dataclass(frozen=True)
class Pair:
    """A calibrated mechanism and the private inputs of two neighbouring data sets."""

    mechanism: Proven | ProvenLabelFlip
    d: PrivateRecords
    neighbour: PrivateRecords

    def observe(self, noise: NoiseSource, on_d: bool, runs: int, std_factor=lambda i: 1.0) -> Mapping[str, Seen]:
        """Release ``runs`` times on one of the two and replay every run's answers on the other."""
        own, other = (self.d, self.neighbour) if on_d else (self.neighbour, self.d)
        ratios, numbers = [], []
        for first in range(0, runs, _AT_ONCE):
            n = min(_AT_ONCE, runs - first)
            spy = Spy(noise, std_factor)
            numbers.append(self.numbers(own, spy, n))
            ratio = np.zeros(n)
            for i, there in enumerate(self.replayed(other, spy.answers, n)):
                ratio += gaussian_log_ratio(spy.answers[i], spy.exact[i], there, spy.std[i])
            ratios.append(ratio if on_d else -ratio)
        return {OUTPUT: Seen(numbers=np.concatenate(numbers)), TRANSCRIPT: Seen(np.concatenate(ratios))}

    def numbers(self, private: PrivateRecords, noise: NoiseSource, runs: int) -> np.ndarray:
        """Return what ``runs`` releases are made of, (runs, f) float64."""
        return released_numbers(self.mechanism.release(private, noise, runs))

    def replayed(self, private: PrivateRecords, answers: list[np.ndarray], runs: int) -> list[np.ndarray]:
        """Return the exact values of another data set along recorded answers."""
        labels = (private.labels,) if isinstance(private, LabelledRecords) else ()

        def run(take):
            self.mechanism.run(private.x, *labels, lambda step, stack: take(stack), runs)

        return replayed(run, answers)


class PairWithMarginals(Pair):
    """The same of a sound release that measures marginals beside its mixture, of every run."""

    def numbers(self, private: PrivateRecords, noise: NoiseSource, runs: int) -> np.ndarray:
        """Return mixtures and means of marginals, (runs, f) float64."""

        def measure(step: NoisyQuery, stack: np.ndarray) -> np.ndarray:
            return noise.add_gaussian(stack, step.noise_std)

        released, beside = self.mechanism.run_whole(private.x, measure, runs)
        return np.hstack([released_numbers(released), np.stack([one.means for one in beside])])

    def replayed(self, private: PrivateRecords, answers: list[np.ndarray], runs: int) -> list[np.ndarray]:
        """Return the exact values of another data set along recorded answers."""

        def run(take):
            self.mechanism.run_whole(private.x, lambda step, stack: take(stack), runs)

        return replayed(run, answers)


def released_numbers(released: Released) -> np.ndarray:
    """Return all released parameters, responsibilities model included, as (R, f) float64."""
    parts = []
    for mixtures in (released.mixtures, released.responsibilities_model):
        if mixtures is not None:
            rows, columns = np.triu_indices(mixtures.means.shape[-1])
            covariances = mixtures.covariances[..., rows, columns]
            scales = np.log(np.diagonal(mixtures.covariances, axis1=-2, axis2=-1))
            parts += [mixtures.weights, mixtures.means, covariances, scales]
    return np.concatenate([p.reshape(len(p), -1) for p in parts], axis=1)


def pair_of(kind: str, epsilon: float, adjacency: str, accounted: str | None = None) -> Pair:
    """Return a pair, on the budget of its own adjacency or, of a mutant, of another."""
    of_kind = PairWithMarginals if kind == "marginals" else Pair
    return of_kind(calibrated(kind, epsilon, accounted or adjacency), *PAIRS[kind][adjacency])


def labelled_pair(epsilon: float) -> Pair:
    """Return the sound release for labels on records of which one, far from both classes, changes its label."""
    x = fixed_normals("audited labelled records", (LABELLED, HOURS))
    x[0] = 30.0, -30.0
    label = np.array([1, *np.tile([1, 2], LABELLED // 2)])
    d, neighbour = (
        LabelledRecords(x, fit_labels(x, np.concatenate([[first], label[1:]]), FLOOR)) for first in (1, 2)
    )
    public = PublicSettings(epsilon, DELTA, 2, HOURS, len(x), -40.0, 40.0, FLOOR)
    return Pair(ProvenLabelFlip.calibrate(public), d, neighbour)


# -- cases -----------------------------------------------------------------------------------------------------------


def release_case(kind: str, epsilon: float, adjacency: str) -> Case:
    """Return the audit of an unbroken release."""
    pair, words = pair_of(kind, epsilon, adjacency), WORDS[kind, adjacency]
    name = "sound, ball" if kind.startswith("ball") else "sound"
    return _case(name, adjacency, words, epsilon, pair, SHARE[kind])


def label_case(epsilon: float) -> Case:
    """Return the audit of the sound release for labels."""
    return _case("sound_label_flip", "label_flip", "the label of a far record", epsilon, labelled_pair(epsilon), 0.5)


def _case(name: str, adjacency: str, words: str, epsilon: float, pair: Pair, share: float) -> Case:
    claim, views = Claim(epsilon, DELTA, pair.mechanism.mu), (OUTPUT, TRANSCRIPT)
    return Case(name, words, claim, views, pair.observe, adjacency=adjacency, share=share)


def cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits of the unbroken releases for one household."""
    for epsilon in epsilons:
        for adjacency in ("replace_one", "add_remove"):
            yield release_case("loads", epsilon, adjacency)
            yield release_case("prior_mixture", epsilon, adjacency)
    for adjacency in ("replace_one", "add_remove"):
        yield release_case("marginals", max(epsilons), adjacency)


def ball_cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits of :func:`meterdp.mechanisms.proven.mechanism.fit_ball`, and of mutants at the largest
    epsilon.
    """
    for epsilon in epsilons:
        for adjacency in ("replace_one", "add_remove"):
            yield release_case("ball", epsilon, adjacency)
            yield release_case("ball_prior", epsilon, adjacency)
    epsilon = max(epsilons)
    unbroken = release_case("ball", epsilon, "replace_one")
    yield broken(unbroken, "noise of half the scale", pair_of("ball", epsilon, "replace_one"), lambda i: 0.5)
    accounted = pair_of("ball", epsilon, "replace_one", "add_remove")
    yield broken(unbroken, "replacing accounted for as adding", accounted, share=0.8)


def label_cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits of the release for labels, and its mutant."""
    yield from map(label_case, epsilons)
    yield broken(label_case(max(epsilons)), "noise of half the scale", labelled_pair(max(epsilons)), lambda i: 0.5)


# -- mutants ---------------------------------------------------------------------------------------------------------


def mutants(epsilons: list[float]) -> Iterator[Case]:
    """Yield broken releases for one household, each with the claim of the unbroken one."""
    epsilon = max(epsilons)
    unbroken, pair = release_case("loads", epsilon, "replace_one"), pair_of("loads", epsilon, "replace_one")
    yield broken(unbroken, "noise of half the scale", pair, lambda i: 0.5)
    last = len(pair.mechanism.plan.steps) - 1
    yield broken(unbroken, "the last round with a third of its noise", pair, lambda i: 1 / 3 if i == last else 1.0)
    beside = pair_of("marginals", epsilon, "replace_one")
    end = len(beside.mechanism.plan.steps) - 1
    unbroken_beside = release_case("marginals", epsilon, "replace_one")
    words = "marginals with half their noise"
    yield broken(unbroken_beside, words, beside, lambda i: 0.5 if i == end else 1.0, share=0.1)
    # Entry 0 of each class is its count.
    counts_free = np.where(np.arange(1 + HOURS + HOURS * (HOURS + 1) // 2) == 0, 0.0, 1.0)
    yield broken(unbroken, "counts of the last round exact", pair, lambda i: counts_free if i == last else 1.0)
    accounted = pair_of("loads", epsilon, "replace_one", "add_remove")
    yield broken(unbroken, "replacing accounted for as adding", accounted, share=1.0)
    yield replace(
        unbroken,
        neighbours="a household with a record or an invalid one",
        views=(OUTPUT,),
        observe=_dropping(epsilon),
        mutant="invalid records dropped",
        share=0.2,
    )
    adapted = pair_of("prior_mixture", epsilon, "replace_one")
    unbroken_prior = release_case("prior_mixture", epsilon, "replace_one")
    yield broken(unbroken_prior, "noise of half the scale", adapted, lambda i: 0.5)
    mu = pair.mechanism.mu * 2**0.5
    yield replace(
        unbroken,
        claim=Claim(gaussian.epsilon_for(mu, DELTA), DELTA, mu),
        views=(TRANSCRIPT,),
        observe=_reusing(pair),
        mutant="noise used again for a second release",
        share=0.3,
    )


def broken(unbroken: Case, mutant: str, pair: Pair, std_factor=lambda i: 1.0, share: float = 0.3) -> Case:
    """Return a case whose mechanism is broken and whose claim stays; the transcript is attacked."""

    def observe(noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        return {TRANSCRIPT: pair.observe(noise, on_d, runs, std_factor)[TRANSCRIPT]}

    return replace(unbroken, views=(TRANSCRIPT,), observe=observe, mutant=mutant, share=share)


def _dropping(epsilon: float):
    """An invalid record is left out, so that N depends on it; the manifest of a release states N."""

    def observe(noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        private = households((0.5, -3.0)) if on_d else households()
        mechanism = calibrated("loads", epsilon, "replace_one", len(private.x))
        numbers = released_numbers(mechanism.release(private, noise, runs))
        stated = np.full((runs, 1), float(mechanism.public.records))
        return {OUTPUT: Seen(numbers=np.concatenate([numbers, stated], axis=1))}

    return observe


def _reusing(pair: Pair):
    """Two releases, of D or D' and of a month in which all records are known, with the same noise."""

    def observe(noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        first, second = Spy(noise), Spy(noise)
        pair.mechanism.release(pair.d if on_d else pair.neighbour, first, runs)
        drawn = iter([(a - e) / s for a, e, s in zip(first.answers, first.exact, first.std, strict=True)])

        class Again:
            grid = 0.0

            def add_gaussian(self, exact: np.ndarray, std: float) -> np.ndarray:
                return second.answers.append(exact + std * next(drawn)) or second.answers[-1]

        pair.mechanism.release(pair.d, Again(), runs)
        return {TRANSCRIPT: Seen(numbers=first.answers[0] - second.answers[0])}

    return observe
