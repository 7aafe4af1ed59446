"""Releases with made-up noise give the same files, word for word and number for number, as when they were frozen.

Words are frozen for all cases together, so that a sentence that is worded anew fails one test; numbers, tables and
what manifests say of settings by case.

``python -m tests.golden.test_release`` freezes them anew, for a change that is meant to change them.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import re
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from meterdp.core.config import complete, load_schema
from meterdp.core.noise import fixed_normals, fixed_uniforms
from meterdp.core.weekend import SATURDAY_SUNDAY
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
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
LIST = "meter_id,circuit,secondary_substation_id,lv_feeder_id\n" + "".join(
    f"m{i:02d},c{i % 3},s,f{i % 3}\n" for i in range(60)
)
PERIOD = {"first_day": "2025-01-06", "last_day": "2025-02-02", "time_zone": "Europe/London", "interval_minutes": 30}
SOUND = {"prior_mixture": None}
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
        kwh = np.exp(0.5 * fixed_normals("golden hours", (60, 28 * 24)) - 1)
        cell = cells_of(20_094, 28, SATURDAY_SUNDAY)
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
    """Return what is in a file, without the day and without digests and sizes of itself.

    Numbers have six digits: between processors the ninth digit differs.
    """
    if name.endswith(".parquet"):
        table = pq.read_table(io.BytesIO(data))
        metadata = [of.metadata and sorted(map(str, of.metadata.items())) for of in (table.schema, *table.schema)]
        data = json.dumps([table.to_pydict(), [*map(str, table.schema)]], default=str).encode()
        data += b"\n" + json.dumps(metadata).encode()
    text = re.sub(
        r"\b20[2-9]\d-\d\d-\d\d(?=[\"'\n<,.])", lambda day: day[0] if day[0] < "2026" else "TODAY", data.decode()
    )
    text = re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", text)
    text = re.sub(r'"(contentSize|@value)": "\d+"', r'"\1": "SIZE"', text)
    return re.sub(r"-?\b\d+\.\d+(?:e-?\d+)?\b", lambda number: f"{round(float(number[0]), 9):.6g}", text)


def digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def words(texts: dict[str, dict[str, str]]) -> dict:
    """Return digests of what files of a name say in all cases, without numbers, and one README as a whole."""
    said: dict[str, list[str]] = {}
    for files in texts.values():
        for name, text in files.items():
            said.setdefault(name, []).append(NUMBER.sub("#", text))
    whole = {"README.md of mixture": texts["mixture"]["README.md"].split("\n")}
    return whole | {name: digest(said[name]) for name in sorted(said)}


def numbers(name: str, text: str) -> str | dict[str, str]:
    """Return a digest of the numbers and the table of a file, and of a manifest all but its sentences."""
    if name == "manifest.json":
        kept = {key: json.dumps(_without_sentences(value)) for key, value in json.loads(text).items()}
        return kept | {"numbers": digest(NUMBER.findall(text))}
    table = {".parquet": text.partition("\n")[0], ".csv": text}.get(Path(name).suffix, "")
    return digest([table, *NUMBER.findall(text)])


def _without_sentences(value):
    if isinstance(value, dict):
        return {key: _without_sentences(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_sentences(one) for one in value]
    return "WORDS" if isinstance(value, str) and len(value.split()) > 3 else value


def frozen(texts: dict[str, dict[str, str]]) -> dict:
    """Return what is kept of the texts of all cases."""
    return {"words of all": words(texts)} | {
        case: {name: numbers(name, text) for name, text in files.items()} for case, files in texts.items()
    }


def plain_texts(files: dict[str, bytes]) -> dict[str, str]:
    return {name: plain(name, data) for name, data in sorted(files.items())}


def all_released(folder: Path) -> dict[str, dict[str, str]]:
    """Return the texts of the files of every case."""
    with pytest.MonkeyPatch.context() as patch:
        return {case: plain_texts(released(case, patch, folder / f"{case}.sqlite")) for case in CASES}


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Makes the releases when it is first called: what breaks in them fails a test, not a fixture."""
    folder = tmp_path_factory.mktemp("ledgers")
    return cache(lambda: all_released(folder))


@pytest.fixture(scope="module")
def found(texts):
    return cache(lambda: frozen(texts()))


@pytest.mark.parametrize("what", ["words of all", *CASES])
def test_the_files_of_a_release_are_those_that_were_frozen(what, found):
    kept = json.loads(FROZEN.read_text())[what]
    of_case = found()[what]
    assert list(of_case) == list(kept)
    for name in kept:
        assert of_case[name] == kept[name], name


@pytest.mark.parametrize("case", CASES)
def test_a_release_that_dies_after_each_answer_goes_on_and_is_the_same(case, texts, monkeypatch, tmp_path):
    """Oracle: the files of one that lives, and the order of answers. It dies while files are made, too."""
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
    assert plain_texts(released(case, monkeypatch, path, InTurn)) == texts()[case]
    assert 0 < len(drawn) == most - 1, "an answer was drawn again"
    assert [event["kind"] for event in Ledger(path).events()].count(CHARGED) == 1
    assert not any((tmp_path / "ledger.sqlite.unfinished").iterdir())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FROZEN.write_text(json.dumps(frozen(all_released(Path(folder))), indent=1) + "\n")
