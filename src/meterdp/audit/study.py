"""The audit by parts: every case becomes rows of the table ``audit``, whose bounds hold together.

The configured confidence is that of the whole table: every row gets an equal share of the allowed error.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from meterdp.audit import CANARIES, canaries, one_run
from meterdp.audit.cases import (
    dpem,
    feeder_totals,
    forecasts,
    households,
    primitives,
    published,
    shared_noise,
    sound,
)
from meterdp.audit.cases.interface import DELTA, OUTPUT, TRANSCRIPT, Case
from meterdp.audit.judge import LIKELIHOOD_RATIO, Claim, Verdict, judge
from meterdp.audit.tables import AUDIT
from meterdp.core.job import progress
from meterdp.core.noise import FreshNumbers, StudyNoise
from meterdp.privacy.gaussian import epsilon_for
from meterdp.simulate.parameters import SimulationParameters

PARTS: dict[str, Callable[[list[float]], Iterator[Case]]] = {
    "primitives": primitives.cases,
    "sound": sound.cases,
    "sound_mutants": sound.mutants,
    "sound_ball": sound.ball_cases,
    "sound_label_flip": sound.label_cases,
    "sound_shared": shared_noise.cases,
    "group_forecast": forecasts.group_cases,
    "households": households.cases,
    "label_forecast": forecasts.order_cases,
    "feeder_totals": feeder_totals.cases,
    "published": published.cases,
    "published_dpem": dpem.cases,
}
# What the audit measures beside the section ``audit``.
STUDIED = {
    # Households of a simulated export whose rows are planted or left out by a coin each.
    "canaries": 160,
    # Probability that all bounds of the table hold.
    "confidence": 0.95,
}
# A single number with noise takes so little that it is run this many times as often.
PRIMITIVE_TRIALS = 250
# Of the coins of one run so many are guessed, those with the clearest scores.
GUESSED = 0.5
BROKEN_CANARIES = "noise of a thousandth of the scale"


def rows_in_all(epsilons: list[float]) -> int:
    """Return the number of rows of all parts."""
    return sum(len(case.views) for make in PARTS.values() for case in make(epsilons)) + 2 * len(epsilons) + 1


def audit_part(part: str, config: Mapping, parameters: SimulationParameters) -> dict[str, list]:
    """Return the columns of the table ``audit`` for one part, a name of :data:`PARTS` or ``CANARIES``.

    ``parameters`` are those of the export in which canaries are planted.
    """
    settings = {**STUDIED, **config["audit"]}
    epsilons = settings["epsilons"]
    error = (1 - settings["confidence"]) / rows_in_all(epsilons)
    if part == CANARIES:
        rows = list(_canary_rows(config, settings, parameters, error))
    else:
        trials = settings["trials"] * (PRIMITIVE_TRIALS if part == "primitives" else 1)
        cases = list(PARTS[part](epsilons))
        rows = [
            row
            for case in progress(cases, f"audit of {part}")
            for row in case_rows(case, trials, error, config["seed"])
        ]
    names = [c.name for c in AUDIT.columns if c.name != "part"]
    return {"part": [part] * len(rows), **{name: [row[name] for row in rows] for name in names}}


def case_rows(case: Case, trials: int, error: float, seed: int) -> Iterator[dict]:
    """Yield a row for everything that is attacked in one case.

    ``trials`` are runs on either data set, of which the case takes its share, ``error`` the probability that a row is
    wrong, and ``seed`` that of the study noise.
    """
    runs = max(int(trials * case.share), 100)
    on_d, on_other = (
        case.observe(StudyNoise(seed, "audit", case.key, side), side == "D", runs) for side in ("D", "neighbour")
    )
    for view in case.views:
        verdict = judge(on_d[view], on_other[view], case.claim, error)
        words = {name: getattr(case, name) for name in ("mechanism", "family", "adjacency", "neighbours", "mutant")}
        yield _row({**words, "seen": view, "seeded": True}, case.claim, verdict, case.expected, error)


def _canary_rows(
    config: Mapping, settings: Mapping, parameters: SimulationParameters, error: float
) -> Iterator[dict]:
    """Yield the rows of one-run audits: toss the coins once, then release and guess."""
    count = settings["canaries"]
    guesses = int(count * GUESSED) // 2 * 2
    coins = FreshNumbers().uniform((count,)) < 0.5
    epsilons = settings["epsilons"]
    with tempfile.TemporaryDirectory(prefix="meterdp-audit-") as folder:
        fleet = canaries.Fleet.simulated(Path(folder), config, parameters, count)
        planted = canaries.plant(fleet, coins)
        runs = [(e, seen, None) for e in epsilons for seen in (OUTPUT, TRANSCRIPT)]
        for epsilon, seen, mutant in progress([*runs, (min(epsilons), TRANSCRIPT, BROKEN_CANARIES)], "canaries"):
            if seen == OUTPUT:
                score, attack = canaries.released_scores(fleet, planted, epsilon), "density of the own record"
            else:
                factor = 1e-3 if mutant else 1.0
                score, attack = canaries.transcript_scores(fleet, planted, epsilon, factor), LIKELIHOOD_RATIO
            right = one_run.right_guesses(score, coins, guesses)
            lower = one_run.epsilon_lower(right, guesses, count, DELTA, error)
            words = {
                "mechanism": "sound, whole workflow",
                "family": "sound",
                "adjacency": "replace_one",
                "neighbours": f"{count} canaries in or out of one run",
                "mutant": mutant,
                "seen": seen,
                "seeded": False,
            }
            verdict = Verdict(lower, None, attack, guesses, right, guesses - right)
            yield _row(words, Claim(epsilon, DELTA), verdict, "caught" if mutant else "holds", error)


def _row(words: Mapping, claim: Claim, verdict: Verdict, expected: str, error: float) -> dict:
    epsilon_over = verdict.epsilon_lower > claim.epsilon
    mu_over = claim.mu is not None and verdict.mu_lower > claim.mu
    exceeded = {(True, True): "both", (True, False): "epsilon", (False, True): "mu"}.get(
        (epsilon_over, mu_over), "none"
    )
    gaussian = claim.mu is not None
    return {
        **words,
        "attack": verdict.attack,
        "epsilon_claimed": claim.epsilon,
        "delta": claim.delta,
        "epsilon_lower": verdict.epsilon_lower,
        "epsilon_power": verdict.epsilon_lower / claim.epsilon,
        "mu_claimed": claim.mu,
        "mu_lower": verdict.mu_lower,
        "mu_power": verdict.mu_lower / claim.mu if gaussian else None,
        "epsilon_at_mu_lower": epsilon_for(verdict.mu_lower, claim.delta) if gaussian else None,
        "confidence": 1 - error,
        "trials": verdict.trials,
        "hits": verdict.hits,
        "other_hits": verdict.other_hits,
        "expected": expected,
        "exceeded": exceeded,
        "as_expected": (exceeded == "none") == (expected == "holds"),
    }
