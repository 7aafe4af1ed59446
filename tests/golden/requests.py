"""Releases of which ledgers already hold charges.

``ledger_before.zip`` was written by 27a882d, before the ledger counted by meter, and ``ledger_after.zip`` by ff15f7d,
both with this file as it is in d370000; ``ledger_later.zip``, with the cases of :data:`LATER`, by dc5f78fd.
"""

from __future__ import annotations

import copy
import math
from pathlib import Path

import numpy as np
from scipy.stats import norm

from meterdp import PrivateGaussianMixture
from meterdp.core.config import complete, load_schema
from meterdp.privacy.gaussian import mu_for
from meterdp.privacy.guarantee import Limit
from meterdp.privacy.ledger import Request
from meterdp.release.asked import asked
from meterdp.release.service import ReleaseService

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
LIST = "meter_id,circuit,secondary_substation_id,lv_feeder_id\n" + "".join(
    f"m{i:03d},c{i % 4},s{i % 5 // 3},f{i % 5}\n" for i in range(300)
)
REAL = {
    "export": {
        "path": "export.csv",
        "meters": "list.csv",
        "first_day": "2025-01-06",
        "last_day": "2025-02-02",
        "time_zone": "Europe/London",
        "interval_minutes": 30,
    },
    "release": {"population": "Tiny  Town", "budget_period": "2025"},
}
# What was the default of every version is written out, so that all of them are asked for the same.
SAME = {
    "profiles": {"vector": "half_day", "start_hour": 12, "hours": 12, "clip_kwh_per_hour": [0.01, 100]},
    "mechanisms": {"sound": {"prior_mixture": None}},
    "release": {"feeder_typical_daily_kwh": 8},
}
# Name -> what is asked for, and the settings.
CASES = {
    "mixture": ("mixture", {}),
    "mixture of real homes": ("mixture", REAL),
    "mixture on an offset scale": (
        "mixture",
        {"profiles": {"log_scale": {"kind": "offset", "offset_kwh_per_hour": 0.1}, "clip_kwh_per_hour": [0, 50]}},
    ),
    "mixture on a signed scale": (
        "mixture",
        {"profiles": {"log_scale": {"kind": "signed", "scale_kwh_per_hour": 0.2}, "clip_kwh_per_hour": [-8, 30]}},
    ),
    "forecasts that hide names": (
        "forecasts",
        {
            "release": {"forecast_protects": "label", "population": "others"},
            "forecast": {"horizon_steps": 3, "ar_order": 2, "ma_order": 1},
        },
    ),
    "feeders": ("feeders", {}),
    "feeders of real homes": ("feeders", REAL),
    "feeders on an average day, counted": (
        "feeders",
        {"release": {"feeder_window": "average_day", "feeder_days": 14, "feeder_count": "measured"}},
    ),
}
LATER = {
    "mixture of a mean day with marginals": (
        "mixture",
        {
            "profiles": {"vector": "mean", "start_hour": 0, "hours": 24},
            "release": {"epsilon": 2.5, "delta": 1e-6, "synthetic_profiles": 77},
        },
    ),
    "mixture with other classes and quality": (
        "mixture",
        {
            "mixture": {"classes": 4},
            "quality": {"max_missing_share": 0.2, "repair": ["gap", "negative"]},
        },
    ),
}
# One draw among two groups at epsilon 0.75, and the measurements beside it, which came to epsilon 1 at delta 1e-5.
_BY_LOT = (math.hypot(0.07748172149843717, 2 * norm.isf(1 / (1 + math.exp(0.75)))), 2)
# What ``before`` and ``after`` hold beside the cases: mu and number of stored releases of mixtures with settings that
# are gone, and of group forecasts of one origin, whose groups were drawn by lot, one, or circuits; a forecast and its
# groups are two stored releases.
GONE = {
    "mixture.sqlite": ((mu_for(2.5, 1e-6), 1), (mu_for(1, 1e-5), 1)),
    "forecasts.sqlite": (_BY_LOT, (mu_for(1, 1e-5), 2), (mu_for(3, 1e-5), 2)),
    "forecasts real homes.sqlite": (_BY_LOT,),
}
LIMIT = Limit(18.0, 1e-3)


def merged(*parts: dict) -> dict:
    """Return nested settings as one."""
    out: dict = {}
    for part in parts:
        for key, value in part.items():
            out[key] = merged(out.get(key, {}), value) if isinstance(value, dict) else copy.deepcopy(value)
    return out


def requests_of(case: str, ledgers: Path) -> list[Request]:
    """Return what a ledger of the folder is asked for; nothing is charged."""
    what, settings = (CASES | LATER)[case]
    real = "export" in settings
    period = {} if real else {"export": {"first_day": "2025-01-06", "last_day": "2025-02-02", "time_zone": "UTC"}}
    schema = load_schema(ROOT / "workflow/schemas/config.schema.yaml")
    release = {"what": [what], "allow": ["poor"], "ledger": str(ledgers / ledger_of(case))}
    config = complete(merged(SAME, period, settings, {"release": release}), schema)
    service = ReleaseService(config, LIST.encode(), not real)
    found, refused = asked(service)
    assert not refused
    return [service.request(mechanism) for together in found for mechanism in together]


def ledger_of(case: str) -> str:
    """Return which ledger a case is charged in."""
    special = next((word for word in ("hide names", "real homes") if word in case), "")
    return f"{(CASES | LATER)[case][0]} {special}".strip() + ".sqlite"


def drawn(case: str, number: int) -> dict[str, bytes]:
    """Return what a golden ledger holds of a request, in the place of files."""
    return {"what.txt": f"{case} {number}".encode()}


def fitted(folder: Path) -> np.ndarray:
    """Return the means that the Python library releases of two hundred records, with the ledger of a folder."""
    who = {"population": "Town", "budget_period": "2025", "days": ("2025-01-06", "2025-02-02"), "records": "mean kWh"}
    asked = PrivateGaussianMixture(
        2, epsilon=3, bounds=([0, -1], [3, 2]), max_iter=3, ledger=folder / "library.sqlite", time_zone="UTC", **who
    )
    return asked.fit(np.random.default_rng(0).uniform(0, 2, (200, 2))).means_
