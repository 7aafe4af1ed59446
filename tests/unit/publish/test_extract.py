"""Forecasts of many households in two tables: the same as files of single households, and one of these taken out."""

import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from meterdp.__main__ import main
from meterdp.errors import InputError
from meterdp.publish import extract, forecast_files
from meterdp.publish.convert import read_release
from meterdp.publish.extract import extracted
from meterdp.publish.folder import publish
from meterdp.publish.kinds import is_of_a_household
from meterdp.publish.received import verify
from meterdp.release import forecasts
from tests.unit.groupforecast.made_up import records_of, town
from tests.unit.release.charged import DEFAULTS, release_forecasts, service

N = 60
CIRCUIT = tuple((np.arange(N) % 3).tolist())
CASES = {
    "one group": (None, {}),
    "circuits": (CIRCUIT, {"forecast_groups": "circuit"}),
    "labels": (None, {"forecast_protects": "label", "what": ["forecasts"]}),
}


class Fixed:
    """Noise of a release that is the same each time."""

    grid = 2.0**-28

    def add_gaussian(self, exact, std):
        return (
            exact + np.rint(std / self.grid * np.random.default_rng(exact.size).normal(size=exact.shape)) * self.grid
        )


def folder_of(tmp_path, case, many, monkeypatch):
    """Release the same numbers under the same names as files of households, or, if they are many, as tables."""
    monkeypatch.setattr("meterdp.privacy.release.SafeNoise", Fixed)
    names = [f"{number:016x}" for number in np.random.default_rng(4).permutation(N)]
    monkeypatch.setattr(forecasts, "new_ids", lambda count: names)
    monkeypatch.setattr(forecasts, "MANY_HOUSEHOLDS", N if many else N + 1)
    for module in (forecast_files, extract):
        monkeypatch.setattr(module, "FORECASTS_OF_A_PIECE", 7)
    circuit, settings = CASES[case]
    x = records_of(town(N, 28)).x
    if "forecast_protects" in settings:
        x = np.random.default_rng(2).normal(-1, 1, (N, DEFAULTS["forecast"]["horizon_steps"]))
    (tmp_path / f"ledger {many}").mkdir()
    made = service(tmp_path / f"ledger {many}", forecast_epsilon=3.0, **settings)
    files, ids = release_forecasts(x, circuit, made)
    assert ids == names
    publish(files, tmp_path / f"{many}/forecasts")
    return tmp_path / f"{many}/forecasts"


@pytest.mark.parametrize("case", CASES)
def test_a_household_taken_out_of_many_has_the_file_it_would_have_among_few(case, tmp_path, monkeypatch):
    """Oracle: the same release in files of single households."""
    few, many = (folder_of(tmp_path, case, many, monkeypatch) for many in (False, True))
    names = [path.stem for path in few.glob("*.parquet") if is_of_a_household(path.name)]
    assert len(names) == N and not any(is_of_a_household(path.name) for path in many.iterdir())
    verify(many)
    for name in names:
        files = extracted(many, name)
        assert files[f"{name}.parquet"] == (few / f"{name}.parquet").read_bytes()
        own, as_few = json.loads(files[f"{name}.json"]), json.loads((few / f"{name}.json").read_text())
        assert own["sha256"] == as_few["sha256"] and own.keys() == as_few.keys()
        assert {key for key in own if own[key] != as_few[key]} <= {"public_parameters"}
        assert extracted(few, name) == {file: (few / file).read_bytes() for file in files}


@pytest.mark.parametrize("case", CASES)
def test_what_is_converted_is_the_same_of_both(case, tmp_path, monkeypatch):
    few, many = (read_release(folder_of(tmp_path, case, many, monkeypatch)) for many in (False, True))
    assert few.names == many.names and np.array_equal(few.energy_kwh, many.energy_kwh)
    assert np.array_equal(few.interval_start_utc, many.interval_start_utc) and few.guarantee == many.guarantee


def test_forecasts_are_numbered_by_random_names_and_not_by_the_list(tmp_path, monkeypatch):
    folder = folder_of(tmp_path, "labels", True, monkeypatch)
    recipients = pq.read_table(folder / "recipients.parquet")
    assert recipients["release_id"].to_pylist() == sorted(recipients["release_id"].to_pylist())
    assert recipients["forecast"].to_pylist() == list(range(1, N + 1))
    rows = pq.read_table(folder / "forecasts.parquet")
    assert rows["forecast"].to_numpy().tolist() == np.repeat(np.arange(1, N + 1), len(rows) // N).tolist()
    page = (folder / "README.md").read_text()
    assert f"a forecast for each of {N} households" in page and "No two households have the same forecast" in page


def test_an_unknown_household_a_changed_file_and_another_folder_are_refused(tmp_path, monkeypatch, capsys):
    folder = folder_of(tmp_path, "one group", True, monkeypatch)
    for name in ("0" * 15 + "g", "f" * 16, "../forecasts", ""):
        with pytest.raises(InputError, match="has no household called"):
            extracted(folder, name)
    assert main(["release", "extract", str(folder), "f" * 16, "--to", str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()
    name = f"{3:016x}"
    assert main(["release", "extract", str(folder), name, "--to", str(tmp_path / "out")]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"{name}.parquet", f"{name}.json"}
    assert pq.read_table(io.BytesIO((tmp_path / f"out/{name}.parquet").read_bytes())).num_rows == 168
    data = (folder / "forecasts.parquet").read_bytes()
    (folder / "forecasts.parquet").write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    with pytest.raises(InputError, match="not what was released"):
        extracted(folder, name)
