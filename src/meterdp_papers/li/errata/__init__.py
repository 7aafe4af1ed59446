"""The errata of Li, Gundersen, Tjell, Wisniewski and Christensen, "Privacy-Preserving Distributed EM ...".

Defects D1 to D8, each with a function that computes the numbers showing it.
"""

from __future__ import annotations

from meterdp_papers.li.errata import exposure, updates

PAPER = "Li, Gundersen, Tjell, Wisniewski, Christensen: distributed EM"

DEFECTS = (
    updates.dual_update,
    updates.old_means,
    updates.reversed_condition,
    exposure.stated_views,
    exposure.sums_of_few,
    exposure.eavesdropper,
    exposure.self_information,
    exposure.condition_on_neighbours,
)
