"""Synthetic load profiles of a study: sampled from each mechanism's mixture, reweighted where marginals are beside
it.

Sampling a released mixture is post-processing (docs/proofs/sound.md, 5), but study noise is seeded and the number of
profiles is that of the valid households, so these files are not for release. Every measure is taken between equally
many records of random halves, beside real households against other real ones as the yardstick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.mechanisms.proven.marginals import Reference, sample_reweighted
from meterdp.mixture.draws import Mixture, sample
from meterdp.mixture.study import mixture_of
from meterdp.privacy.guarantee import STUDY_MODE


@dataclass(frozen=True)
class Source:
    """One mixture whose synthetic profiles are judged."""

    name: str  # 'fit', or that of a mechanism
    family: str  # of the mechanism, 'none' for the fit
    epsilon: float | None  # None for the fit
    mixture: Mixture
    marginal_exponents: tuple[float, ...] = ()  # empty where no marginals were released


def fit_source(mixture: pa.Table) -> Source:
    """Take the table ``mixture``: the fit without privacy."""
    return Source("fit", "none", None, mixture_of(mixture.to_pandas()))


def released_source(variant: pa.Table, epsilon: float) -> Source:
    """Take the draw at ``epsilon`` from one mechanism's table ``variant``, if it has one."""
    rows = variant.filter(pc.equal(variant["epsilon"], float(epsilon)))
    if rows.num_rows == 0:
        raise InputError(
            f"has no draw at epsilon {epsilon:g}", file="variant", hint="choose one of mechanisms.epsilons"
        )
    return Source(
        rows["mechanism"][0].as_py(),
        rows["family"][0].as_py(),
        float(epsilon),
        mixture_of(rows.to_pandas()),
        tuple(rows["marginal_exponents"][0].as_py()),
    )


def synthetic_log_kwh(source: Source, n: int, scale: LogScale, seed: int) -> np.ndarray:
    """Return n synthetic profiles of a source, clipped to the public bounds like real ones, (n, d) log kWh.

    The stream is named by mechanism and epsilon, so no other mechanism's profiles depend on it.
    """
    noise = StudyNoise(seed, "synthetic profiles", source.name, repr(source.epsilon))
    bounds = scale.bounds_log_kwh
    if source.marginal_exponents:
        reference = Reference(source.mixture, *bounds, scale)
        return sample_reweighted(reference, np.array(source.marginal_exponents), n, noise)
    x, _ = sample(source.mixture, n, noise)
    return np.clip(x, *bounds)


def synthetic_columns(log_kwh: np.ndarray) -> dict[str, object]:
    n = len(log_kwh)
    return {"household": np.arange(1, n + 1, dtype=np.int32), "valid": np.ones(n, bool), "log_kwh": list(log_kwh)}


def guarantee_sentence(source: Source) -> str:
    return (
        f"{STUDY_MODE}; sampled from the mixture of mechanism '{source.name}' (family {source.family}) at epsilon "
        f"{source.epsilon:g}, as many profiles as there are valid households"
    )
