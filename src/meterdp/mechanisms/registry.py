"""The mechanisms by name. Adding one is a file, a proof note, a test file and a line here."""

from __future__ import annotations

from meterdp.core.errors import InputError
from meterdp.mechanisms.exact.kl import KlExact
from meterdp.mechanisms.interface import Mechanism
from meterdp.mechanisms.published.coloured_gaussian import ColouredGaussian, ColouredGaussianL1
from meterdp.mechanisms.published.iid_gaussian import IidGaussian, IidGaussianL1
from meterdp.mechanisms.published.iid_laplace import IidLaplace
from meterdp.mechanisms.published.kl import KlPublished
from meterdp.mechanisms.sound.label_flip import SoundLabelFlip
from meterdp.mechanisms.sound.mechanism import Sound

MECHANISMS: dict[str, type[Mechanism]] = {
    kind.name: kind
    for kind in (
        IidLaplace,
        IidGaussian,
        IidGaussianL1,
        ColouredGaussian,
        ColouredGaussianL1,
        KlPublished,
        KlExact,
        Sound,
        SoundLabelFlip,
    )
}


def mechanism(name: str) -> type[Mechanism]:
    """Return the mechanism called ``name``.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in MECHANISMS:
        raise InputError(
            f"there is no mechanism '{name}'", field="mechanisms", remedy=f"choose from {', '.join(MECHANISMS)}"
        )
    return MECHANISMS[name]
