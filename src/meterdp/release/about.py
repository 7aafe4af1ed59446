"""What only the publisher can say of a release, taken from the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class About:
    """Public settings that describe a release and do not shape it.

    Parameters
    ----------
    publisher : str or None
        Name of who publishes it.
    publisher_kind : {"Government", "Industry", "Nonprofit"}
    region : str or None
        Where the households live.
    licence : str or None
        Address of the licence.
    cap_epsilon, cap_delta : float
        What all releases about the same households may cost together.
    """

    publisher: str | None
    publisher_kind: str
    region: str | None
    licence: str | None
    cap_epsilon: float
    cap_delta: float

    @classmethod
    def from_config(cls, release: Mapping) -> About:
        """Take the section ``release`` of the configuration."""
        return cls(**{key: release[key] for key in cls.__dataclass_fields__})
