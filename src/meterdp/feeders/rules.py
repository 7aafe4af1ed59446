"""What regulators ask of a total before it is published: enough customers, and none that is most of it.

Every rule says two things: a least number of customers, and the largest share any one of them may have. The texts
were written for monthly or yearly totals and do not say of which energy the share is taken once totals are
half-hourly, so both readings are here: a share of the total of each interval, or of the whole period. A rule looks at
the data to decide what is published and promises nothing about what follows from several totals
(:mod:`meterdp.feeders.attack`, docs/feeder_rules.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Of which total a customer's share is taken.
INTERVAL, PERIOD = SHARES_OF = "interval", "period"


@dataclass(frozen=True)
class PublicationRule:
    """One rule: a total may be published if its group has enough customers and none of them dominates it.

    Parameters
    ----------
    name : str
        As regulators write it: number of customers / largest share in per cent.
    least_customers : int
        The total is of so many customers or more.
    most_share : float
        No customer has more than this share of it; 1 for a rule that counts customers only.
    where : str
        Who uses it, for what.
    """

    name: str
    least_customers: int
    most_share: float
    where: str

    @property
    def shares_of(self) -> tuple[str, ...]:
        """Ways to read the rule: one if it only counts customers."""
        return SHARES_OF if self.most_share < 1 else (INTERVAL,)

    def passes(self, customers: np.ndarray, largest_kwh: np.ndarray, total_kwh: np.ndarray) -> np.ndarray:
        """Return whether totals may be published, bool; three arrays that broadcast against one another.

        A total of zero passes: nobody has more than a share of nothing, although it tells everybody's reading.
        """
        # Shares that are met exactly pass, whatever the rounding of sums.
        bound = self.most_share * total_kwh * (1 + 1e-12)
        return (customers >= self.least_customers) & (largest_kwh <= bound)

    def may_publish(self, energy_kwh: np.ndarray, feeder: np.ndarray, feeders: int, share_of: str) -> np.ndarray:
        """Return which totals of groups may be published, (F, T) bool.

        Parameters
        ----------
        energy_kwh : (N, T) float64
            Energy of every customer, none of it negative.
        feeder : (N,) int array
            Group 0..F-1 of every customer.
        feeders : int
            F.
        share_of : {"interval", "period"}
            Whether the share is of the total of each interval or of the whole period, which lets all totals of a
            group pass or none.
        """
        customers = np.bincount(feeder, minlength=feeders)[:, None]
        judged = energy_kwh.sum(axis=1, keepdims=True) if share_of == PERIOD else energy_kwh
        totals, largest = group_totals(judged, feeder, feeders), group_largest(judged, feeder, feeders)
        return np.broadcast_to(self.passes(customers, largest, totals), (feeders, energy_kwh.shape[1]))


RULES = (
    PublicationRule(
        "4/50",
        4,
        0.50,
        "Colorado, energy of a whole building for its owner, who promises not to pass it on "
        "(4 CCR 723-4, rule 4034, of gas; adopted together with that of electricity)",
    ),
    PublicationRule(
        "15/15",
        15,
        0.15,
        "California, quarterly tables of customers that are no homes by ZIP code (CPUC decision 14-05-016); "
        "New York, homes in the Utility Energy Registry (PSC order of April 2018); Illinois, twelve months of "
        "usage by rate class and ZIP+4",
    ),
    PublicationRule(
        "100",
        100,
        1.0,
        "California, quarterly tables of homes by ZIP code (CPUC decision 14-05-016)",
    ),
)


@dataclass(frozen=True)
class Suppressed:
    """What a rule withholds.

    Parameters
    ----------
    total_share : float
        Share of the totals.
    energy_share : float
        Share of the energy in them; 0 where there is none.
    """

    total_share: float
    energy_share: float


def suppressed(may_publish: np.ndarray, total_kwh: np.ndarray) -> Suppressed:
    """Return what is withheld of totals (F, T) if only those marked (F, T) may be published."""
    energy = total_kwh.sum()
    withheld = total_kwh[~may_publish].sum()
    return Suppressed(float(1 - may_publish.mean()), float(withheld / energy) if energy > 0 else 0.0)


def group_totals(energy_kwh: np.ndarray, feeder: np.ndarray, feeders: int) -> np.ndarray:
    """Return the sums of groups 0..F-1 of customers, (F, T) float64."""
    return _by_group(np.add, energy_kwh, feeder, feeders)


def group_largest(energy_kwh: np.ndarray, feeder: np.ndarray, feeders: int) -> np.ndarray:
    """Return the largest value in groups 0..F-1 of customers, (F, T) float64; 0 in a group without any."""
    return _by_group(np.maximum, energy_kwh, feeder, feeders)


def _by_group(combine: np.ufunc, values: np.ndarray, feeder: np.ndarray, feeders: int) -> np.ndarray:
    out = np.zeros((feeders, values.shape[1]))
    order = np.argsort(feeder, kind="stable")
    present, first = np.unique(feeder[order], return_index=True)
    if present.size:
        out[present] = combine.reduceat(values[order], first, axis=0)
    return out
