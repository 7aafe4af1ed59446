"""What lines and methods of Park et al. are called. Figures import this module, so it stays light."""

from __future__ import annotations

from meterdp.accounting.orders import FAR_ORDER
from meterdp_papers.park.setting import (
    ADVANCED,
    EM,
    LINEAR,
    LLG_MOMENTS,
    LLG_ZCDP,
    LLOYD_LINEAR,
    LLOYD_ZCDP,
    MOMENTS,
    MOMENTS_FAR,
    MOMENTS_REAL,
    OURS,
    PLAIN,
    PROPOSED,
    PUBLIC_ZCDP,
    ZCDP,
)

# Lines of Figs 2 and 3.
LINES = {
    EM: "EM without noise",
    LINEAR: "GGG, linear",
    ADVANCED: "GGG, advanced",
    ZCDP: "GGG, zCDP",
    MOMENTS: "GGG, moments, integer orders",
    MOMENTS_FAR: f"GGG, moments, integer orders to {FAR_ORDER:,}",
    MOMENTS_REAL: "GGG, moments, real orders",
    LLG_ZCDP: "LLG, zCDP",
    LLG_MOMENTS: "LLG, moments, integer orders",
    PUBLIC_ZCDP: "GGG, zCDP, clipped to a public radius",
    OURS: "sound release (ours)",
}
# Methods of Fig. 4.
METHODS = {
    PLAIN: "without noise",
    LLOYD_LINEAR: "DPLloyd, linear",
    LLOYD_ZCDP: "DPLloyd, zCDP",
    PROPOSED: "proposed",
}
