"""What a release claims, in the words that go on its label, and what study mode is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

NOT_FOR_RELEASE = "not for release"
STUDY_MODE = f"{NOT_FOR_RELEASE}: study mode, the noise is seeded and protects nobody"

Family = Literal["published", "exact", "sound", "model"]


Adjacency = Literal["label_flip", "replace_one", "add_remove", "class_label"]


@dataclass(frozen=True)
class Guarantee:
    """What a release claims, in the words that go on its label.

    Parameters
    ----------
    unit : str
        What one neighbour changes.
    adjacency : {"label_flip", "replace_one", "add_remove", "class_label"}
    epsilon, delta : float
    accountant : str
        How the steps were added up: the title of an accounting curve, or what the paper says.
    proof : str
        Proof note, relative to the repository.
    family : {"published", "exact", "sound", "model"}
        Only what is of family "sound", or holds under a stated model of what an adversary does not know, and was
        drawn with release noise may leave the building.
    """

    unit: str
    adjacency: Adjacency
    epsilon: float
    delta: float
    accountant: str
    proof: str
    family: Family


def in_plain_words(epsilon: float, delta: float, covers: str = "") -> str:
    """Return what differential privacy for the readings of one meter means, as a customer could read it.

    Parameters
    ----------
    epsilon, delta : float
    covers : str
        What the numbers are of, after them.
    """
    # e^epsilon overflows, and as a factor it says no more.
    factor = math.exp(epsilon) if epsilon < 700 else math.inf
    return (
        "This is a mathematical guarantee, differential privacy with epsilon "
        f"{epsilon:g} and delta {delta:g}{covers}: "
        "whatever set of outcomes is looked at, its probability with the readings of any one meter is at most "
        f"{factor:.3g} times its probability with others in their place, plus {delta:g}, whatever else somebody "
        "knows."
    )
