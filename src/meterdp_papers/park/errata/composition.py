"""P4: in Fig. 2 the delta_i of all answers exceed delta, so linear and advanced composition have no budget at all."""

from __future__ import annotations

from meterdp.accounting.registry import CURVES
from meterdp.accounting.sequence import Sequence
from meterdp.core.noise import NoiseSource
from meterdp_papers.common.finding import Finding
from meterdp_papers.park.errata.stated import DELTA, LIFE_SCIENCES, STROKE, Setting

_TINY = 1e-12  # a budget of a step that costs next to nothing
_EPSILON = 4.0


def deltas_of_steps(noise: NoiseSource) -> tuple[Finding, ...]:
    """P4: delta of linear and advanced composition of steps that are as private as one likes; nothing is random."""
    return (
        _finding("linear", "GGG", STROKE),
        _finding("linear", "LLG", STROKE),
        _finding("advanced", "GGG", STROKE),
        _finding("linear", "GGG", LIFE_SCIENCES),
    )


def _finding(composition: str, scheme: str, setting: Setting) -> Finding:
    gaussian = setting.steps if scheme == "GGG" else setting.iterations * setting.classes
    sequence = Sequence(setting.steps - gaussian, gaussian, setting.step_delta)
    return Finding(
        "P4",
        "section 5; captions of Figs 2 and 3",
        f"delta of {composition} composition, scenario {scheme}, however small eps_i is; the text has delta = "
        f"{DELTA:g}.",
        f"delta at epsilon {_EPSILON:g}, eps_i -> 0",
        "1",
        CURVES[composition].delta(_TINY, sequence, _EPSILON),
        f"{setting.name}; {gaussian} Gaussian answers",
        closed_form=gaussian * setting.step_delta,
        claimed=DELTA,
    )
