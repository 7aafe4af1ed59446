"""Public constants that shape records beside the sections ``quality`` and ``profiles``.

Keys of release requests hold them under these names, as when they were settings: a changed value is a new request.
"""

from __future__ import annotations

from collections.abc import Mapping

QUALITY = {
    # Unit slips and catch-ups: factor by which a level may miss what the household's other readings say.
    "level_tolerance": 3,
    # Shortest unit slip: a shorter stretch may be an oven and a car.
    "unit_slip_hours": 24,
    # A stretch 100 or 1000 times as high as the household's other readings is a unit slip if its median power is
    # larger; otherwise its last digit must tell, as for a factor of 10 and for slips downwards.
    "unit_slip_power_kw": 10,
    # A lone implausible reading is a spike if it is so many times the household's largest plausible one.
    "spike_factor": 10,
    # A reading after a gap may be a catch-up if it is so many times the household's largest that follows no gap.
    "catch_up_factor": 1.5,
    # Longest gap that the energy of a catch-up is spread over, where it is repaired.
    "catch_up_hours": 24,
    # Readings several intervals apart for longer count as those of a longer interval.
    "coarse_hours": 24,
    # Longest gap that is filled, where gaps are repaired: an hour of quarter hours.
    "gap_intervals": 4,
}
# Kinds of readings that may be refused, and the column of the table ``quality`` that counts them; a gap may only be
# repaired.
KINDS = {
    "coarse_interval": "coarse_readings",
    "unit_slip": "unit_slip_readings",
    "catch_up": "catch_up_readings",
    "register_reset": "register_reset_readings",
    "spike": "spike_readings",
    "implausible": "implausible_readings",
    "stuck": "stuck_readings",
    "negative": "negative_readings",
}
# The season moves with the origin of a forecast; reproductions state that of their paper.
SEASON = {
    "seasonal": "rolling",
    "seasonal_scale": "log",
    "smoothing_hours": 1.0,
    "rolling_days": 14,
    # After a week a day counts for a third.
    "rolling_day_decay": 0.85,
    # Near 0 working days and weekends are kept apart, at 1 it makes no difference.
    "rolling_other_day_weight": 0.5,
}
# With a larger share of hours at the lower bound a vector is not valid: on a plain log the home was empty.
VECTOR = {"max_floor_share": 0.5}


def with_constants(quality: Mapping, profiles: Mapping) -> tuple[dict, dict]:
    """Return both sections with their constants, in the order in which manifests have always had them."""
    quality, profiles = dict(quality), dict(profiles)
    repaired = quality.pop("repair")
    last = {"default_kwh_per_hour": profiles.pop("default_kwh_per_hour")}
    policies = {kind: "repair" if kind in repaired else "quarantine" for kind in (*KINDS, "gap")}
    return {**quality, **QUALITY, "policies": policies}, {**profiles, **VECTOR, **last, **SEASON}
