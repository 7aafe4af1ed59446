"""What a fit of the library claims, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass

from meterdp.privacy.guarantee import STUDY_MODE, Guarantee


@dataclass(frozen=True)
class FitGuarantee(Guarantee):
    """What one fit claims; ``print`` it to read it as a sentence.

    Parameters
    ----------
    unit, adjacency, epsilon, delta, accountant, proof, family
        See :class:`meterdp.privacy.guarantee.Guarantee`.
    noise : {"safe", "study"}
        With ``study`` nothing is protected, and the fit must not be released.
    covers : str
        Of what else the numbers speak: this fit alone, or the ledger that has the sum.
    mean_error : float
        Expected error, from public numbers alone: the noise of each entry of the mean of a component of average size,
        in standard deviations of that component. Above one, means say hardly anything.
    """

    noise: str
    covers: str
    mean_error: float

    @property
    def for_release(self) -> bool:
        """Whether the noise was drawn so that the fit may leave."""
        return self.noise == "safe"

    def __str__(self) -> str:
        claim = f"({self.epsilon:g}, {self.delta:g})-differential privacy for {self.unit} ({self.adjacency})"
        if not self.for_release:
            return f"{STUDY_MODE}; with safe noise the claim would be {claim}"
        error = f"noise moves a mean by about {self.mean_error:.2g} standard deviations"
        return f"{claim}, of {self.covers}; {error}; proof: {self.proof}"
