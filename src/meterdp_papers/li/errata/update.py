"""D2: the covariances of (3) are about the means of the last iteration, which is no M-step of the likelihood."""

from __future__ import annotations

import numpy as np

from meterdp.core.noise import NoiseSource, fixed_normals
from meterdp.distributed.em import Update, local_statistics, m_step
from meterdp.mixture.draws import Mixture
from meterdp_papers.common.finding import Finding

_RECORDS, _ITERATIONS, _FLOOR = 400, 300, 1e-9
_WHERE = f"{_RECORDS} records of two normal classes in the plane, means at (-1.5, 0) and (1.5, 0), public start"


def old_means(noise: NoiseSource) -> tuple[Finding, ...]:
    """D2: both updates from the same start; nothing is random but the records, which are fixed."""
    x, start = example()
    runs = {update: followed(x, start, update) for update in ("printed", "textbook")}
    first = {update: run[1][1] for update, run in runs.items()}
    move = first["textbook"].means - start.means
    inflation = first["printed"].covariances - first["textbook"].covariances
    values = {update: run[0] for update, run in runs.items()}
    # One step of each from the same mixture.
    gap = values["textbook"][1] - values["printed"][1]
    end = values["textbook"][-1] - 1e-6
    needed = {
        update: int(np.argmax(value >= end)) if (value >= end).any() else _ITERATIONS
        for update, value in values.items()
    }
    return (
        Finding(
            "D2",
            "(3), (4)",
            "Largest entry by which the first covariances of (3) exceed those of an M-step, of a class.",
            "excess of a covariance",
            "1",
            float(np.abs(inflation).max()),
            _WHERE,
            closed_form=float(np.abs(move[:, :, None] * move[:, None]).max()),
            claimed=0.0,
        ),
        Finding(
            "D2",
            "(3)",
            "What one step of (3) falls short of one M-step from the same mixture.",
            "log-likelihood lost in the first step",
            "nats",
            float(gap),
            _WHERE,
            claimed=0.0,
        ),
        Finding(
            "D2",
            "(3)",
            "Iterations until the log-likelihood is within 1e-6 nats of where textbook EM ends, by (3) as printed.",
            "iterations as printed",
            "1",
            float(needed["printed"]),
            f"{_WHERE}, at most {_ITERATIONS}",
            claimed=float(needed["textbook"]),
        ),
        Finding(
            "D2",
            "(3)",
            "Difference between the two at the end: both stand still at the same mixtures.",
            "difference of the log-likelihoods at the end",
            "nats",
            float(abs(values["textbook"][-1] - values["printed"][-1])),
            f"{_WHERE}, {_ITERATIONS} iterations",
            closed_form=0.0,
        ),
    )


def example() -> tuple[np.ndarray, Mixture]:
    """Return the records (400, 2) and the start."""
    x = fixed_normals("D2, records", (_RECORDS, 2))
    x[: _RECORDS // 2, 0] -= 1.5
    x[_RECORDS // 2 :, 0] += 1.5
    return x, Mixture(np.full(2, 0.5), np.array([[-0.5, 0.5], [0.5, -0.5]]), np.stack([np.eye(2)] * 2))


def followed(x: np.ndarray, start: Mixture, update: Update) -> tuple[np.ndarray, list[Mixture]]:
    """Return log-likelihoods and mixtures, those of the start first."""
    mixtures, values = [start], []
    for _ in range(_ITERATIONS):
        statistics, value = local_statistics(x, mixtures[-1])
        values.append(value)
        mixtures.append(m_step(statistics, mixtures[-1], update, _FLOOR))
    values.append(local_statistics(x, mixtures[-1])[1])
    return np.array(values), mixtures
