"""The page of a released folder: made of its files alone, with pictures of them, and it loads nothing."""

import json
import math
import re
from html import unescape

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.pages.numbers import percent
from meterdp.publish.folder import described
from meterdp.publish.kinds import DESCRIPTIONS, PAGE, README
from meterdp.publish.received import verify
from meterdp.release import forecasts
from tests import chromium
from tests.unit.groupforecast.made_up import records_of, town
from tests.unit.publish.test_about import ABOUT, DAY, SAID, N, service
from tests.unit.release.charged import release_forecasts, release_mixture

KINDS = ("mixture", "forecasts", "label", "tables")


def released(kind, folder, simulated=False):
    if kind == "tables":  # as of ten thousand meters or more
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(forecasts, "MANY_HOUSEHOLDS", 1)
            return released("forecasts", folder, simulated)
    generator = np.random.default_rng(5)
    if kind == "mixture":
        return release_mixture(generator.normal(-1.0, 0.7, (N, 24)), service(folder, simulated))
    protects = {"forecast_protects": "label", "what": ["forecasts"]} if kind == "label" else {}
    x = generator.normal(-2.0, 1.0, (N, 12)) if protects else records_of(town(N, 28)).x
    return release_forecasts(x, None, service(folder, simulated, **protects))[0]


@pytest.fixture(scope="module", params=KINDS)
def files(request, tmp_path_factory):
    return released(request.param, tmp_path_factory.mktemp(request.param))


def words_of(page: bytes) -> str:
    """Visible text, white space as single spaces."""
    text = re.sub(r"<(style|svg)\b.*?</\1>|</?code>", "", page.decode(), flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


EXPECTED = re.compile("in one release of 20|from public numbers alone|far less certain")


def test_it_says_what_the_readme_says(files):
    words = words_of(files[PAGE])
    readme = files[README].decode().replace("`", "")
    for line in readme.split("\n"):
        # Expected errors are a table on the page.
        if line.strip() and not line.startswith(("#", "**")) and not EXPECTED.search(line):
            assert " ".join(line.removeprefix("- ").split()) in words, line
    for title in re.findall(r"^#+ (.*)$", readme, re.M):
        assert title in words or title == "How far it is off"


def test_guarantee_worth_and_a_way_to_load_it_are_on_it(files):
    words, manifest = words_of(files[PAGE]), json.loads(files["manifest.json"])
    privacy = manifest["privacy"]
    assert f"RELEASED WITH DIFFERENTIAL PRIVACY: ε = {privacy['epsilon']:g}, δ = 10⁻⁵, for {privacy['unit']}" in words
    for one in manifest.get("expected_error", {"quantities": []})["quantities"]:
        assert f"{one['of']} {100 * one['error']:.0f} %" in words
    assert "import pandas as pd" in words and "meterdp release verify ." in words
    assert f"Published by {SAID['publisher']}. Licence: {SAID['licence']}." in words
    assert "SIMULATED" not in words


def test_the_odds_are_those_of_the_best_guess_and_only_where_readings_are_hidden(files):
    """Oracle: the largest accuracy on a grid of false positives under both inequalities of (epsilon, delta)."""
    privacy = json.loads(files["manifest.json"])["privacy"]
    words = words_of(files[PAGE])
    if privacy["adjacency"] != "replace_one":
        assert "a coin is right" not in words
        return
    epsilon, delta = privacy["epsilon"], privacy["delta"]
    false = np.linspace(0, 1, 200_001)
    true = np.minimum(math.exp(epsilon) * false + delta, 1 - (1 - delta - false) * math.exp(-epsilon))
    best = ((np.clip(true, 0, 1) + 1 - false) / 2).max()
    assert f"is right at most {percent(best)} of the time; a coin is right 50 %" in words


def test_the_code_on_it_runs(files, tmp_path, monkeypatch):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    code = unescape(re.search(r"<pre><code>(.*?)</code></pre>", files[PAGE].decode(), re.S)[1])
    found: dict = {}
    exec(code, found)
    assert len(found.get("profiles", found.get("forecast"))) > 0


def test_pictures_are_of_what_was_released(files):
    page = files[PAGE].decode()
    if "mixture.json" in files:
        mixture = json.loads(files["mixture.json"])
        assert percent(max(mixture["weights"])) in words_of(files[PAGE]).replace("of households", "")
        tops = re.findall(r'aria-label="Energy over time: Pattern \d+; highest value ([\d.]+) kWh"', page)
        largest = int(np.argmax(mixture["weights"]))
        assert float(tops[0]) == pytest.approx(np.exp(mixture["means"][largest]).max(), rel=0.06)
        assert len(tops) == min(6, len(mixture["weights"]))
    else:
        assert 1 <= page.count('aria-label="Energy over time: Forecast') <= 6


def test_nothing_is_on_it_that_is_not_in_the_folder(files, tmp_path):
    """It is the same from the other files alone, whoever makes it and wherever."""
    bare = {name: data for name, data in files.items() if name not in DESCRIPTIONS}
    assert described(bare, ABOUT, DAY)[PAGE] == files[PAGE]
    text = files[PAGE].decode()
    assert "secret-folder" not in text and "list.csv" not in text and str(tmp_path.parent) not in text
    assert not re.search(r"\b[0-9a-f]{16}\b", text), "no name of a household's file"


def test_it_goes_with_the_folder_and_a_changed_guarantee_on_it_is_found(files, tmp_path):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    assert PAGE not in verify(tmp_path).files
    if b"epsilon 1 and delta" in files[PAGE]:
        (tmp_path / PAGE).write_bytes(files[PAGE].replace(b"epsilon 1 and delta", b"epsilon 0.1 and delta"))
        with pytest.raises(InputError, match="states another guarantee"):
            verify(tmp_path)


def test_simulated_households_are_said_to_be_so(tmp_path):
    assert "SIMULATED HOUSEHOLDS: they stand in for real ones" in words_of(released("mixture", tmp_path, True)[PAGE])


def test_a_browser_shows_it_without_an_error_or_a_request(files, tmp_path):
    (tmp_path / PAGE).write_bytes(files[PAGE])
    (facts,) = chromium.inspect_pages([tmp_path / PAGE], width=400)
    assert facts.errors == [] and not facts.scrolls_sideways
    assert facts.requests == [(tmp_path / PAGE).resolve().as_uri()]
