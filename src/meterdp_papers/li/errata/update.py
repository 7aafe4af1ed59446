"""D2: the covariances of (3) are about the means of the last iteration, which is no M-step of the likelihood."""

from __future__ import annotations

import numpy as np

from meterdp.core.noise import NoiseSource, fixed_normals
from meterdp.distributed.em import Update, local_statistics, m_step
from meterdp.mixture.draws import Mixture
from meterdp_papers.common.finding import Finding, defect

_RECORDS, _ITERATIONS, _FLOOR = 400, 300, 1e-9
_WHERE = f"{_RECORDS} records of two normal classes in the plane, means at (-1.5, 0) and (1.5, 0), public start"


@defect(
    "D2",
    "(3), (4)",
    "The new covariances are about the old means: they exceed those of an M-step by the square of the means' move.",
    "A step gains less likelihood than an M-step from the same mixture, so Fig. 2 is not that of EM; the "
    "mixtures at which it stands still are.",
    "Both are built. The textbook update needs the same sums, because the square of a public move is taken off "
    "after the summation.",
    "test_D2_old_means_inflate_covariances",
)
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
            "(3), (4)",
            "Largest entry by which the first covariances of (3) exceed those of an M-step, of a class.",
            "excess of a covariance",
            _WHERE,
            float(np.abs(inflation).max()),
            closed_form=float(np.abs(move[:, :, None] * move[:, None]).max()),
            claimed=0.0,
        ),
        Finding(
            "(3)",
            "What one step of (3) falls short of one M-step from the same mixture.",
            "log-likelihood lost in the first step",
            _WHERE,
            float(gap),
            unit="nats",
            claimed=0.0,
        ),
        Finding(
            "(3)",
            "Iterations until the log-likelihood is within 1e-6 nats of where textbook EM ends, by (3) as printed.",
            "iterations as printed",
            f"{_WHERE}, at most {_ITERATIONS}",
            float(needed["printed"]),
            claimed=float(needed["textbook"]),
        ),
        Finding(
            "(3)",
            "Difference between the two at the end: both stand still at the same mixtures.",
            "difference of the log-likelihoods at the end",
            f"{_WHERE}, {_ITERATIONS} iterations",
            float(abs(values["textbook"][-1] - values["printed"][-1])),
            unit="nats",
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
