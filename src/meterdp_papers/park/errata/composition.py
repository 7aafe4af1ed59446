"""P4: in Fig. 2 the delta_i of all answers exceed delta, so linear and advanced composition have no budget at all."""

from __future__ import annotations

from meterdp.accounting.registry import CURVES
from meterdp.accounting.sequence import Sequence
from meterdp.core.noise import NoiseSource
from meterdp_papers.common.finding import Finding, defect
from meterdp_papers.park.errata.stated import DELTA, LIFE_SCIENCES, STROKE, Setting

_TINY = 1e-12  # a budget of a step that costs next to nothing
_EPSILON = 4.0


@defect(
    "P4",
    "Section 5, captions of Figs 2 and 3",
    "Linear and advanced composition add up all delta_i, which in Fig. 2 exceed the delta of the figure.",
    "Neither has a budget at any epsilon; curves that are drawn for them have a delta several times the printed one.",
    "Gaussian answers compose without a delta of their own.",
    "test_P4_the_deltas_of_the_steps_exceed_delta",
    note="The reproduction leaves these delta_i out of delta where they do not fit and says so.",
)
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
        "section 5; captions of Figs 2 and 3",
        f"delta of {composition} composition, scenario {scheme}, however small eps_i is; the text has delta = "
        f"{DELTA:g}.",
        f"delta at epsilon {_EPSILON:g}, eps_i -> 0",
        f"{setting.name}; {gaussian} Gaussian answers",
        CURVES[composition].delta(_TINY, sequence, _EPSILON),
        closed_form=gaussian * setting.step_delta,
        claimed=DELTA,
    )
