"""The noise designs by name, and the row that reports how one ended. A new design is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from meterdp.class_noise.designs.algorithm1 import published_noise
from meterdp.class_noise.designs.joint.design import joint_noise
from meterdp.class_noise.designs.simple import no_noise, white_noise
from meterdp.class_noise.designs.transport.design import transport_noise
from meterdp.class_noise.query_models import DesignReport, NoiseDesign
from meterdp.errors import InputError


@dataclass(frozen=True)
class Registered:
    """An entry of the registry.

    Parameters
    ----------
    design : NoiseDesign
    stochastic_only : bool
        Whether it reshapes a random query, and so has nothing to work on when the query is certain.
    moves_together : bool
        Whether queries that are certain are all released alike from the Wasserstein limit on.
    searches_random : bool
        Whether random queries take it a minute or more per budget and 100 households.
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
    """Return a design by name.

    Raises
    ------
    InputError
        If there is no such design.
    """
    return _registered(name).design


def _registered(name: str) -> Registered:
    if name not in DESIGNS:
        raise InputError("is not a noise design", field="design", hint=f"use one of {', '.join(DESIGNS)}")
    return DESIGNS[name]


def report_row(report: DesignReport, *, design: str, query_model: str, rho: float) -> dict:
    """Return one row of table ``noise_design_reports``."""
    return {"design": design, "query_model": query_model, "rho": float(rho), **asdict(report)}
