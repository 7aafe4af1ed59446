"""Public settings of a mechanism from the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from meterdp.core.log_scale import LogScale
from meterdp.mechanisms.interface import PublicSettings
from meterdp.mechanisms.proven.plan import ALONE, ProvenSettings, Shares
from meterdp.mechanisms.proven.prior_mixture import AUTO, HOURS, SHIPPED, read_prior_mixture

# Of the budget, mu^2, for the marginals that a mixture is fitted to.
MARGINAL_SHARE = 0.25


def public_settings(
    epsilon: float,
    delta: float,
    shape: tuple[int, int],
    mechanisms: Mapping,
    mixture: Mapping,
    profiles: Mapping,
    grid: float = 0.0,
    shares: Shares = ALONE,
) -> PublicSettings:
    """Return what a mechanism may know before it sees a record, from sections of the configuration.

    ``shape`` is (N, d), households of the export and entries of a record; N counts under ``replace_one`` only, where
    it is public. The grid is that of the noise source, 0 in a study; the shares are those of the noise of ``sound``,
    where circuits make it together.
    """
    n, d = shape
    scale = LogScale.from_config(profiles)
    choices = dict(mechanisms["sound"])
    name = choices.pop("prior_mixture", None)
    sound = ProvenSettings(**choices, marginal_share=MARGINAL_SHARE)
    if name == AUTO:
        covered = profiles["start_hour"] + profiles["hours"] <= HOURS and not scale.words
        name = SHIPPED if covered else None
    if name is not None:
        prior_mixture = read_prior_mixture(name, profiles["start_hour"], profiles["hours"], scale.words)
        sound = replace(sound, prior_mixture=prior_mixture)
    low, high = scale.bounds_log_kwh
    return PublicSettings(
        epsilon=epsilon,
        delta=delta,
        classes=mixture["classes"],
        dimension=d,
        records=n,
        low_log_kwh=low,
        high_log_kwh=high,
        log_scale=scale,
        sound=replace(sound, grid=grid, shares=shares),
    )
