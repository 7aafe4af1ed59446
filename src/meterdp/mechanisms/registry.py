"""The mechanisms by name. Adding one is a file, a proof note, a test file and a line here.

The configuration offers what stands here: the names are written out, because a plan reads them without importing.
"""

from __future__ import annotations

from meterdp.errors import InputError
from meterdp.mechanisms.dpem.mechanism import DpEmZcdp
from meterdp.mechanisms.interface import Mechanism
from meterdp.mechanisms.proven.label_flip import ProvenLabelFlip
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.reference.baseline import (
    ColouredGaussian,
    ColouredGaussianL1,
    IidGaussian,
    IidGaussianL1,
    IidLaplace,
)
from meterdp.mechanisms.reference.kl import KlPublished
from meterdp.mechanisms.reference.kl_exact import KlExact

MECHANISMS: dict[str, type[Mechanism]] = {
    "iid_laplace": IidLaplace,
    "iid_gaussian": IidGaussian,
    "iid_gaussian_l1": IidGaussianL1,
    "coloured_gaussian": ColouredGaussian,
    "coloured_gaussian_l1": ColouredGaussianL1,
    "kl_published": KlPublished,
    "kl_exact": KlExact,
    "dpem_zcdp": DpEmZcdp,
    "sound": Proven,
    "sound_label_flip": ProvenLabelFlip,
}


def mechanism(name: str) -> type[Mechanism]:
    """Return the mechanism called ``name``; refuse a name that there is none of."""
    if name not in MECHANISMS:
        raise InputError(
            f"there is no mechanism '{name}'", field="mechanisms", hint=f"choose from {', '.join(MECHANISMS)}"
        )
    return MECHANISMS[name]
