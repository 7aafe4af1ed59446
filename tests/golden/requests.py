"""Releases of which ledgers already hold charges, and the ledgers that earlier versions wrote of them.

``python -m tests.golden.requests WHICH`` writes ``ledger_WHICH.zip`` and is run with the source of that version on
the path: ``before`` the ledger counted by meter (27a882d), and ``after`` (ff15f7d).
"""

from __future__ import annotations

import copy
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from meterdp import PrivateGaussianMixture
from meterdp.core.config import complete, load_schema
from meterdp.exports.roster import read_roster
from meterdp.release import desk, feeders, household_forecasts, mixture
from meterdp.release.ledger import Ledger, Request

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
    "profiles": {"clip_kwh_per_hour": [0.01, 100]},
    "mechanisms": {"sound": {"library": None}},
    "release": {"feeder_typical_daily_kwh": 8},
}
# Name -> what is asked for, and the settings.
CASES = {
    "mixture": ("mixture", {}),
    "mixture of real homes": ("mixture", REAL),
    "mixture of a mean day with marginals": (
        "mixture",
        {
            "profiles": {"vector": "mean", "start_hour": 0, "hours": 24},
            "mechanisms": {"sound": {"marginal_share": 0.25, "classes": 3, "rounds": 4}},
            "release": {"epsilon": 2.5, "delta": 1e-6, "synthetic_profiles": 77},
        },
    ),
    "mixture on an offset scale": (
        "mixture",
        {"profiles": {"log_scale": {"kind": "offset", "offset_kwh_per_hour": 0.1}, "clip_kwh_per_hour": [0, 50]}},
    ),
    "mixture on a signed scale": (
        "mixture",
        {"profiles": {"log_scale": {"kind": "signed", "scale_kwh_per_hour": 0.2}, "clip_kwh_per_hour": [-8, 30]}},
    ),
    "mixture with other solver, classes and quality": (
        "mixture",
        {
            "mechanisms": {"sdp_solver": "cvxpy", "sound": {"hour_correlation": 0.5}},
            "mixture": {"classes": 4, "eigenvalue_floor": 0.002},
            "quality": {"max_missing_share": 0.2},
        },
    ),
    "forecasts in groups": ("forecasts", {}),
    "forecasts in groups of real homes": ("forecasts", REAL),
    "forecasts in one group": ("forecasts", {"release": {"forecast_groups": "one"}}),
    "forecasts by circuit": ("forecasts", {"release": {"forecast_groups": "circuit", "forecast_epsilon": 3}}),
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


CAP = desk.Cap(18.0, 1e-3)


def merged(*parts: dict) -> dict:
    """Return nested settings as one."""
    out: dict = {}
    for part in parts:
        for key, value in part.items():
            out[key] = merged(out.get(key, {}), value) if isinstance(value, dict) else copy.deepcopy(value)
    return out


def requests_of(case: str) -> list[Request]:
    """Return what the ledger is asked for; nothing is charged."""
    what, settings = CASES[case]
    real = "export" in settings
    period = {} if real else {"export": {"first_day": "2025-01-06", "last_day": "2025-02-02", "time_zone": "UTC"}}
    schema = load_schema(ROOT / "workflow/schemas/config.schema.yaml")
    given = merged(SAME, period, settings, {"release": {"what": [what]}})
    if "insist" in schema["properties"]["release"]["properties"]:
        given["release"]["insist"] = True
    config = complete(given, schema)
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        Path(file.name).write_text(LIST)
        listed = read_roster(file.name)
    caught: list[Request] = []

    class Caught(Exception):
        pass

    def release(self, *links, ready=None):
        caught.extend(request for request, _ in links)
        raise Caught

    asked, desk.Desk.release = desk.Desk.release, release
    try:
        one = desk.Desk(config, LIST.encode(), not real)
        if what == "mixture":
            mixture.release_mixture(np.zeros((300, config["profiles"]["hours"])), one)
        elif what == "feeders":
            feeders.release_feeders(np.zeros((300, 1)), feeders.Feeders.of_roster(listed), one)
        else:
            circuit = tuple(int(listed.circuit_of[meter][1:]) for meter in listed.meter_ids)
            steps = config["forecast"]["horizon_steps"]
            household_forecasts.release_household_forecasts(np.zeros((300, steps)), circuit, one)
    except Caught:
        return caught
    finally:
        desk.Desk.release = asked
    raise AssertionError("the ledger was not asked")


def ledger_of(case: str) -> str:
    """Return which ledger a case is charged in."""
    special = next((word for word in ("hide names", "real homes") if word in case), "")
    return f"{CASES[case][0]} {special}".strip() + ".sqlite"


def drawn(case: str, number: int) -> dict[str, bytes]:
    """Return what a golden ledger holds of a request, in the place of files."""
    return {"what.txt": f"{case} {number}".encode()}


def fitted(folder: Path) -> np.ndarray:
    """Return the means that the Python library releases of two hundred records, with the ledger of a folder."""
    more = {"time_zone": "UTC"} if "time_zone" in PrivateGaussianMixture().get_params() else {}
    who = {"population": "Town", "budget_period": "2025", "days": ("2025-01-06", "2025-02-02"), "records": "mean kWh"}
    asked = PrivateGaussianMixture(
        2, epsilon=3, bounds=([0, -1], [3, 2]), max_iter=3, ledger=folder / "library.sqlite", **who, **more
    )
    return asked.fit(np.random.default_rng(0).uniform(0, 2, (200, 2))).means_


def main(which: str) -> None:
    """Write the ledger of this version."""
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            for number, request in enumerate(requests_of(case)):
                Ledger(Path(folder) / ledger_of(case)).release(request, CAP, lambda: drawn(case, number))  # noqa: B023
        np.save(HERE / f"fitted_{which}.npy", fitted(Path(folder)))
        with zipfile.ZipFile(HERE / f"ledger_{which}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(Path(folder).rglob("*.sqlite*")) + sorted(Path(folder).rglob("*.zip")):
                if file.is_file() and file.suffix not in (".lock", ".copy"):
                    archive.write(file, file.relative_to(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
