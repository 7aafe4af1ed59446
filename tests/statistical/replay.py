"""What a mechanism asked randomness for and was answered, and its replay on a neighbour.

Given the earlier answers every step is a Gaussian measurement, so the privacy loss of a run is a closed form of its
record. Tests take the record of the released code itself, noise included, and hand its
answers back to a run on neighbouring records.
"""

from __future__ import annotations

import copy
import math

import numpy as np


def margin(draws):
    """Largest deviation of a mean of ``draws`` numbers in [0, 1], with probability at most 1e-9 (Hoeffding)."""
    return math.sqrt(math.log(1e9) / (2 * draws))


def exceeding(loss, level):
    """The hockey stick at ``level`` of so many privacy losses, an estimate of delta."""
    return np.maximum(0, -np.expm1(level - loss)).mean()


def heard(call, log):
    """Return ``call``; every (step, exact values, answer) is kept in ``log``."""

    def listening(step, exact):
        exact = np.array(exact)
        answer = call(step, exact)
        log.append((step, exact, answer))
        return answer

    return listening


def recorded(mechanism, release):
    """Call ``release`` of a mechanism that is listened to; return the log and the result of each of its runs."""
    runs = []

    class Listened(type(mechanism)):
        def run(self, *arguments):
            log = []
            result = super().run(*(heard(part, log) if callable(part) else part for part in arguments))
            runs.append((log, result))
            return result

    listened = copy.copy(mechanism)
    object.__setattr__(listened, "__class__", Listened)
    release(listened)
    return runs


def replayed(run, log):
    """Return the exact values that ``run(answer)`` asks randomness for along the recorded answers, and its result."""
    exact, answers = [], iter(log)

    def answer(step, own):
        same, _, said = next(answers)
        assert step == same, "every step is taken again, in order"
        exact.append(np.array(own))
        return said

    result = run(answer)
    assert next(answers, None) is None, "every step is taken again"
    return exact, result


def gaussian_loss(step, own, other, answer, axis=None):
    """Return the privacy loss ln p(answer | own) / p(answer | other) of a measurement, and its conditional mu
    squared.
    """
    variance = step.noise_std**2
    loss = (((answer - other) ** 2).sum(axis=axis) - ((answer - own) ** 2).sum(axis=axis)) / (2 * variance)
    return loss, ((own - other) ** 2).sum(axis=axis) / variance
