"""Releases with made-up noise give the same files, word for word and number for number, as when they were frozen.

``python -m tests.golden.test_release`` freezes them anew, for a change that is meant to change them.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from meterdp.core.config import complete, load_schema
from meterdp.core.noise import fixed_normals, fixed_uniforms
from meterdp.groupforecast.plan import cells_of
from meterdp.groupforecast.records import household_records
from meterdp.households.mechanism import HouseholdRecords
from meterdp.privacy import release as privacy_release
from meterdp.privacy.ledger import Ledger
from meterdp.privacy.mechanism import Metered
from meterdp.privacy.noise import GRID, SafeNoise
from meterdp.privacy.spent import CHARGED
from meterdp.release import forecasts, households, mixture
from meterdp.release.asked import asked
from meterdp.release.service import ReleaseService
from tests.golden.requests import HERE, ROOT, merged

FROZEN = HERE / "release.json"
LIST = "meter_id,circuit,secondary_substation_id,lv_feeder_id\n" + "".join(
    f"m{i:02d},c{i % 3},s,f{i % 3}\n" for i in range(60)
)
PERIOD = {"first_day": "2025-01-06", "last_day": "2025-02-02", "time_zone": "Europe/London", "interval_minutes": 30}
SOUND = {"prior_mixture": None, "marginal_share": 0.2}
CASES = {
    "mixture": {"release": {"what": ["mixture"], "synthetic_profiles": 20}},
    "mixture without prior mixture": {
        "release": {"what": ["mixture"], "synthetic_profiles": 20, "epsilon": 4},
        "mechanisms": {"sound": SOUND},
    },
    "forecasts": {"release": {"what": ["forecasts"]}},
    "forecasts by circuit": {"release": {"what": ["forecasts"], "forecast_groups": "circuit"}},
    "forecasts that hide names": {
        "release": {"what": ["forecasts"], "forecast_protects": "label"},
        "forecast": {"horizon_steps": 4},
    },
    "feeders": {
        "release": {
            "what": ["feeders"],
            "feeder_typical_daily_kwh": 8,
            "feeder_window": "average_day",
            "feeder_days": 7,
        }
    },
    "households": {
        "export": {"first_day": "2025-01-06", "last_day": "2025-03-16"},
        "release": {"what": ["households"], "household_holidays": "GB", "synthetic_households": 20},
    },
}


class MadeUp(SafeNoise):
    """Noise on the grid that is the same each time."""

    def __init__(self):
        self.calls = 0

    def add_gaussian(self, exact, std):
        self.calls += 1
        return exact + np.rint(std / self.grid * fixed_normals(f"golden {self.calls}", exact.shape)) * self.grid


class FixedNumbers:
    """In the place of fresh numbers for what is post-processing."""

    def normal(self, shape):
        return fixed_normals("golden profiles", shape)

    def uniform(self, shape):
        return fixed_uniforms("golden profiles", shape)


def released(case: str, patch: pytest.MonkeyPatch, ledger: Path, noise: type = MadeUp) -> dict[str, bytes]:
    """Return the files of a case, charged to a ledger."""
    patch.setattr(privacy_release, "SafeNoise", noise)
    for module in (mixture, households):
        patch.setattr(module, "FreshNumbers", FixedNumbers)
    patch.setattr(forecasts, "new_ids", lambda count: [f"{number:016x}" for number in range(count)])
    given = merged({"export": PERIOD, "release": {"allow": ["poor"]}}, CASES[case])
    config = complete(given, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))
    config["release"]["ledger"] = str(ledger)
    service = ReleaseService(config, LIST.encode(), simulated=True)
    (together,), refused = asked(service)
    assert not refused
    width = {"mixture": config["profiles"]["hours"], "feeders": 48}.get(case.split()[0], 4)
    records = 0.5 * fixed_normals("golden records", (60, width)) - 1
    if case == "feeders":
        records = np.exp(records)
    elif case in ("forecasts", "forecasts by circuit"):
        kwh, cell = np.exp(0.5 * fixed_normals("golden hours", (60, 28 * 24)) - 1), cells_of(20_094, 28)
        records = household_records(kwh, cell, together[0].mechanism.public.cell_shape).x
    elif case == "households":
        settings = together[0].settings
        scattered = np.clip(0.2 * fixed_normals("golden vectors", (60, len(settings.names))), -1, 1)
        days = fixed_normals("golden days", (60, together[0].mechanism.public.deviations))
        vectors = settings.typical + scattered * np.ptp(settings.bounds, axis=0) / 2
        records = HouseholdRecords.of(vectors, days, GRID)
    parts = [privacy_release.Part(service.request(one), one) for one in together]
    (*_, files) = privacy_release.release(parts, records, Ledger(ledger), service.limit)
    return files


def plain(name: str, data: bytes) -> str:
    """Return what is in a file, numbers to nine digits, without the day and without digests and sizes of itself."""
    if name.endswith(".parquet"):
        table = pq.read_table(io.BytesIO(data))
        metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        data = json.dumps([table.to_pydict(), str(table.schema.remove_metadata()), metadata], default=str).encode()
    text = re.sub(
        r"\b20[2-9]\d-\d\d-\d\d(?=[\"'\n<,])", lambda day: day[0] if day[0] < "2026" else "TODAY", data.decode()
    )
    text = re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", text)
    text = re.sub(r'"(contentSize|@value)": "\d+"', r'"\1": "SIZE"', text)
    return re.sub(r"-?\b\d+\.\d+(?:e-?\d+)?\b", lambda number: f"{float(number[0]):.9g}", text)


def frozen(case: str, files: dict[str, bytes]) -> dict:
    """Return what is kept of a case: short files whole, of the others and of all that households get a digest."""
    texts = {name: plain(name, data) for name, data in sorted(files.items())}
    whole = ("manifest.json", "README.md", "feeder_errors.parquet", "shape.parquet", "0000000000000000.json")
    return {
        name: text.split("\n") if name in whole else hashlib.sha256(text.encode()).hexdigest()
        for name, text in texts.items()
    }


def check_frozen(case: str, files: dict[str, bytes]) -> None:
    kept, found = json.loads(FROZEN.read_text())[case], frozen(case, files)
    assert list(found) == list(kept)
    for name in kept:
        assert found[name] == kept[name], name


@pytest.mark.parametrize("case", CASES)
def test_the_files_of_a_release_are_those_that_were_frozen(case, monkeypatch, tmp_path):
    check_frozen(case, released(case, monkeypatch, tmp_path / "ledger.sqlite"))


@pytest.mark.parametrize("case", CASES)
def test_a_release_that_dies_after_each_answer_goes_on_and_is_the_same(case, monkeypatch, tmp_path):
    """Oracle: the frozen files, and the order in which answers were drawn. It dies while files are made, too."""
    path, drawn, measure = tmp_path / "ledger.sqlite", [], Metered.measure

    class InTurn(MadeUp):
        def add_gaussian(self, exact, std):
            drawn.append(exact.shape)
            self.calls = len(drawn) - 1
            return super().add_gaussian(exact, std)

    def dies(self, query, exact):
        nonlocal left
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        return measure(self, query, exact)

    def dies_late(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Metered, "measure", dies)
    with monkeypatch.context() as patch:
        patch.setattr(ReleaseService, "folder", dies_late)
        for most in itertools.count():
            left = most
            with pytest.raises(KeyboardInterrupt):
                released(case, monkeypatch, path, InTurn)
            if len(drawn) < most:  # it died while files were made
                break
            assert len(drawn) == most, "an answer was drawn again"
    left = most
    check_frozen(case, released(case, monkeypatch, path, InTurn))
    assert 0 < len(drawn) == most - 1, "an answer was drawn again"
    assert [event["kind"] for event in Ledger(path).events()].count(CHARGED) == 1
    assert not any((tmp_path / "ledger.sqlite.unfinished").iterdir())


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        files = {case: released(case, patch, Path(folder) / f"{case}.sqlite") for case in CASES}
        FROZEN.write_text(json.dumps({case: frozen(case, files[case]) for case in CASES}, indent=1) + "\n")
