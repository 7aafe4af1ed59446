"""The noise designs by name. A new design is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from meterdp.class_noise.designs.algorithm1 import published_noise
from meterdp.class_noise.designs.joint.design import joint_noise
from meterdp.class_noise.designs.simple import no_noise, white_noise
from meterdp.class_noise.designs.transport import transport_noise
from meterdp.class_noise.query_models import NoiseDesign
from meterdp.errors import InputError


@dataclass(frozen=True)
class Registered:
    """An entry of the registry.

    A design may be ``stochastic_only``: it reshapes a random query, and has nothing to work on when the query is
    certain. It may release queries that are certain all alike from the Wasserstein limit on (``moves_together``), and
    take a minute or more per budget and 100 households for random ones (``searches_random``).
    """

    design: NoiseDesign
    stochastic_only: bool = False
    moves_together: bool = False
    searches_random: bool = False


DESIGNS: dict[str, Registered] = {
    "none": Registered(no_noise),
    "white": Registered(white_noise),
    "published": Registered(published_noise),
    "joint": Registered(joint_noise, moves_together=True, searches_random=True),
    "transport": Registered(transport_noise, stochastic_only=True, searches_random=True),
}


def runnable(settings: Mapping) -> list[tuple[str, str]]:
    """Return the (design, query model) pairs of the section ``class_noise`` that make sense, in order.

    Random queries get the designs that do not search, unless ``stochastic_designs`` names others.
    """
    quick = [design for design in settings["designs"] if not _registered(design).searches_random]
    return [
        (design, model)
        for model in settings["query_models"]
        for design in (settings["designs"] if model == "deterministic" else settings.get("stochastic_designs", quick))
        if model != "deterministic" or not _registered(design).stochastic_only
    ]


def noise_design(name: str) -> NoiseDesign:
    return _registered(name).design


def _registered(name: str) -> Registered:
    if name not in DESIGNS:
        raise InputError("is not a noise design", field="design", hint=f"use one of {', '.join(DESIGNS)}")
    return DESIGNS[name]
