"""The readings of Park et al. that a verdict may turn on; figures import this module, so it stays light.

Neither the smallest eigenvalue of a noisy covariance ("some value near zero") nor the estimate behind a figure is
printed; (12), (15) and (18) disagree on what class sums are divided and centred by; the caption of Fig. 1 can be
understood in two ways; of Fig. 4 neither the number of clusters nor of iterations is printed, of Fig. 5 no
sensitivity.
"""

from __future__ import annotations

from dataclasses import dataclass

_ESTIMATES = {"mle": "MLE", "map": "MAP"}
_DIVISORS = {"own": "", "noisy": "; class sums over noisy counts"}
_CENTRES = {"noisy": "", "own": "; covariances around their own means"}


@dataclass(frozen=True)
class Reading:
    """One way to run DP-EM for Figs 2 and 3.

    Parameters
    ----------
    estimate : {"mle", "map"}
    eigenvalue_floor : float
    divisor, centre : str
        As of :class:`~meterdp.mechanisms.dpem.mixture.EmSettings`.
    """

    estimate: str
    eigenvalue_floor: float
    divisor: str = "own"
    centre: str = "noisy"

    @property
    def name(self) -> str:
        """As tables and the page write it."""
        words = f"{_ESTIMATES[self.estimate]}, eigenvalues from {self.eigenvalue_floor:g}"
        return f"{words}{_DIVISORS[self.divisor]}{_CENTRES[self.centre]}"


SHOWN = Reading("map", 1e-3)  # the one of the paper's public code
ALSO_SHOWN = Reading("map", 1e-2)
FLOORS_AND_ESTIMATES = tuple(Reading(e, floor) for e in _ESTIMATES for floor in (1e-4, 1e-3, 1e-2))

# Fig. 1: how many of the married come from elsewhere.
LONE_CLASS = "the married class has one person"
LONE_STATE = "one person of the married class comes from that state"
CAPTIONS = (LONE_CLASS, LONE_STATE)

EPSILON_AS_PRINTED, EPSILON_BY_SIZE = "epsilon as printed", "epsilon raised by the missing records"


@dataclass(frozen=True)
class ClusterReading:
    """One way to run Fig. 4; the caption and Section 7 print none of these.

    Parameters
    ----------
    clusters, iterations : int
        k and J.
    charged : {"each", "once"}
        Answers of the proposed method that an iteration is charged for: its k means and its counts, as Section 4 has
        it for mixtures, or one, since a record is in one cluster.
    bounded : bool
        Whether coordinates of centres are brought back to [-1, 1] after every iteration.
    budget : str
        Epsilon as printed; or larger by what fewer records than the paper's lack, so that N epsilon is the same.
    """

    clusters: int
    iterations: int
    charged: str = "each"
    bounded: bool = False
    budget: str = EPSILON_AS_PRINTED

    @property
    def name(self) -> str:
        """As tables and the page write it."""
        answers = "k + 1 answers an iteration" if self.charged == "each" else "one answer an iteration"
        kept = "; centres kept in [-1, 1]" if self.bounded else ""
        more = "" if self.budget == EPSILON_AS_PRINTED else f"; {self.budget}"
        return f"k = {self.clusters}, {self.iterations} iterations; {answers}{kept}{more}"


SHOWN_CLUSTERS = ClusterReading(5, 40, "once", bounded=True)  # nearest to the paper's public code
CLUSTER_READINGS = (
    ClusterReading(5, 10),
    ClusterReading(5, 10, bounded=True),
    ClusterReading(5, 40, bounded=True),
    SHOWN_CLUSTERS,
    ClusterReading(3, 10, "once", bounded=True),
    ClusterReading(5, 10, bounded=True, budget=EPSILON_BY_SIZE),
    ClusterReading(5, 40, "once", bounded=True, budget=EPSILON_BY_SIZE),
)

# Fig. 5: pictures, and what one of them can change in the second moment.
AS_THEY_ARE, CENTRED = "pictures as they are", "centred by pixel and picture"
BY_PIXEL = "centred, over the largest norm of a pixel"  # of the public code; no reading, as it leaves the unit ball
PICTURES = (AS_THEY_ARE, CENTRED, BY_PIXEL)
PRINTED_SENSITIVITY = "2/N"
SMALLEST_SENSITIVITY = "1/N"
SENSITIVITIES = {PRINTED_SENSITIVITY: 2.0, "sqrt 2/N": 2.0**0.5, SMALLEST_SENSITIVITY: 1.0}
WITHOUT, STATED, MISREAD = "none", "stated", "variance for deviation"  # the last as in the public code (defect P3)
