"""No absurd forecast: what a household's own late readings make plausible, and households to be wary of.

The exponential of a log forecast is unbounded, and one household of a study with a forecast of ten times what it ever
used decides every mean in kWh. A forecast is therefore held between the smallest and the largest reading of the
household's last days. The bounds are known at the origin, like the season. The distribution (57) of the future is not
touched: what is bounded is the forecast that is handed out, which is the deterministic query of class-based noise.
The distribution of a random query is that of the forecast before it is held: holding is not linear, so no Gaussian
distribution is exact after it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.state_space import arma_system, kalman_pass

DRIFT_FACTOR = 4.0  # of a variance: forecasts err twice as far as the training window says, or half
HELD_SHARE = (
    0.05  # of forecast steps at a bound; a standby load that is forecast a little too low touches it now and then
)
FEWEST = 96  # readings below which the variance of innovations says nothing
MARKS = {
    "as_trained": "innovations vary as in the training window, and few forecasts had to be held",
    "held": f"over {HELD_SHARE:.0%} of forecast steps lay beyond the household's late readings and were held there",
    "drift": f"innovations since the training window vary {DRIFT_FACTOR:g} times as much as in it, or as little",
    "drift_held": "both",
}


def plausible_bounds(log_kwh: np.ndarray, slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest reading of the ``slots`` slots before every slot, (H, T + 1) each.

    -inf and inf where there is no reading; the last column belongs to an origin behind the last slot.
    """
    sides = []
    # The window of slots t - slots..t - 1: a filter moved to the left, and by one.
    size, origin = slots, (slots - 1) // 2 if slots % 2 else slots // 2 - 1
    for fill, running in ((np.inf, minimum_filter1d), (-np.inf, maximum_filter1d)):
        known = np.where(np.isfinite(log_kwh), log_kwh, fill)
        bound = running(known, size, axis=1, mode="constant", cval=fill, origin=origin)
        bound = np.concatenate([np.full((len(known), 1), fill), bound], axis=1)
        sides.append(np.where(np.isfinite(bound), bound, -fill))
    return sides[0], sides[1]


def innovation_ratio(
    fits: Sequence[ArmaFit], residual_log_kwh: np.ndarray, train_end: int, origin: int
) -> np.ndarray:
    """Return the variance of innovations between training and origin over that of the training window, (H,).

    ``residual_log_kwh`` (H, T) is log load without season. NaN where there are fewer than 96 readings between, or
    nothing varies in the training window.
    """
    ratio = np.full(len(fits), np.nan)
    for row, fit in enumerate(fits):
        if not fit.innovation_variance > 0:
            continue
        passed = kalman_pass(arma_system(fit.ar, fit.ma), residual_log_kwh[row, :origin] - fit.mean)
        late = (passed.innovation**2 / passed.innovation_scale)[train_end:]
        if np.isfinite(late).sum() >= FEWEST:
            ratio[row] = np.nanmean(late) / fit.innovation_variance
    return ratio


def marks(held_share: np.ndarray, ratio: np.ndarray) -> list[str]:
    """Return a key of :data:`MARKS` per household, from two (H,) arrays."""
    drift = (ratio > DRIFT_FACTOR) | (ratio < 1 / DRIFT_FACTOR)
    held = np.asarray(held_share) > HELD_SHARE
    return np.select([drift & held, drift, held], ["drift_held", "drift", "held"], "as_trained").tolist()


def mark_rows(found: Sequence[str]) -> list[dict]:
    """Return the rows of table ``forecast_marks_summary``: every mark, borne or not."""
    return [{"mark": m, "household_count": list(found).count(m), "meaning": w} for m, w in MARKS.items()]
