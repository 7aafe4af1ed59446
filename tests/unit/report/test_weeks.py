"""The viewer of weeks: its numbers are those of the tables, and keys, buttons and the pointer work in a browser."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest

from meterdp.report import weeks
from meterdp.report.page import build_report
from tests import chromium
from tests.unit.report import made_up


def decoded(one) -> np.ndarray:
    whole = np.frombuffer(base64.b64decode(one["data"]), "<u2").astype(float)
    return np.where(whole == 65_535, np.nan, one["low"] + whole * one["step"])


def shown(days=28, first="2025-10-20"):
    tables = {
        "total_load": made_up.total_load(days, first),
        "example_households": made_up.example_households(days, first),
    }
    return json.loads(weeks.weeks_of(tables)), tables


def test_every_value_is_shown_to_a_thousandth_of_the_range():
    found, tables = shown()
    names = [one["name"] for one in found["series"]]
    assert names == ["Mean of all households", *(f"Household {home}" for home in range(1, 7))]
    assert (found["monday"], found["minutes"]) == ("2025-10-20", 15)
    wanted = [
        tables["total_load"]["mean_kw"],
        *(rows["power_kw"] for _, rows in tables["example_households"].groupby("home")),
    ]
    for one, kw in zip(found["series"], wanted, strict=True):
        kw = kw.to_numpy(float)
        np.testing.assert_allclose(decoded(one), kw, atol=1e-3 * np.ptp(kw[np.isfinite(kw)]))


def test_a_period_that_begins_within_a_week_begins_with_what_is_not_known():
    found, tables = shown(first="2025-10-22")
    kw = decoded(found["series"][0])
    assert found["monday"] == "2025-10-20" and len(kw) == 5 * 7 * 96
    assert np.isnan(kw[: 2 * 96]).all() and kw[2 * 96] == pytest.approx(tables["total_load"]["mean_kw"][0], abs=1e-3)


def test_an_hour_that_comes_twice_is_the_mean_of_both():
    _, tables = shown(days=2)
    tables["total_load"]["minute_of_day_local"] = [*range(0, 60, 15), *range(0, 24 * 60 - 60, 15)] * 2
    again = json.loads(weeks.weeks_of(tables))
    expected = tables["total_load"]["mean_kw"][[0, 4]].mean()
    assert decoded(again["series"][0])[0] == pytest.approx(expected, abs=1e-3)


def test_a_long_period_is_shown_in_hours(monkeypatch):
    monkeypatch.setattr(weeks, "MOST_SLOTS", 100)
    found, tables = shown()
    kw = decoded(found["series"][1])
    assert found["minutes"] == 60 and len(kw) == 4 * 168
    assert kw[5] == pytest.approx(tables["example_households"]["power_kw"][20:24].mean(), abs=1e-3)


def test_without_examples_there_is_no_viewer_and_no_script(tmp_path):
    assert weeks.weeks_of({"total_load": made_up.total_load()}) is None
    build_report({}, {}, tmp_path / "r.html", title="t", synthetic=False, settings={})
    assert "<script" not in (tmp_path / "r.html").read_text()


def test_the_library_is_the_one_that_was_published(repository):
    """Digests of the files in uplot-1.6.32.tgz of npm."""
    folder = repository / "src/meterdp/report/vendor"
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    assert digests["uPlot.iife.min.js"] == "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f"
    assert digests["uPlot.min.css"] == "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04"


TURN = """(async () => {
  const place = document.getElementById("weeks"), chart = place.querySelector(".chart"), out = {};
  const said = () => place.querySelector("output").textContent;
  const legend = () => place.querySelector(".u-legend").innerText.replace(/\\s+/g, " ");
  const drawn = () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
  const key = (name) => chart.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
  out.first = said();
  chart.focus();
  out.focused = document.activeElement === chart;
  for (let n = 0; n < 75; n++) key("ArrowRight");
  await drawn();
  out.legend = legend();
  key("PageDown");
  out.next = said();
  place.querySelector(".on").click();
  place.querySelector(".on").click();
  place.querySelector(".on").click();
  out.last = said();
  const who = place.querySelector("select");
  who.value = 6;
  who.dispatchEvent(new Event("change"));
  out.other = legend();
  out.canvases = document.querySelectorAll("canvas").length;
  return out;
})()"""


def test_keys_buttons_and_choice_work_in_a_browser(study, tmp_path):
    names = ("total_load", "example_households")
    page = tmp_path / "r.html"
    build_report({n: study[n] for n in names}, {}, page, title="t", synthetic=False, settings={})
    found = chromium.evaluate(page, TURN)
    assert found["focused"] and found["canvases"] == 1
    # The first week misses an interval, so it opens with the next.
    assert found["first"].startswith("Mon") and "27 Oct to" in found["first"] and "2 Nov 2025" in found["first"]
    assert "3 Nov to" in found["next"] and found["last"].endswith("16 Nov 2025"), "it does not go on after the last"
    at = made_up.total_load()["mean_kw"][7 * 96 + 74]
    home = made_up.example_households()["power_kw"][7 * 96 + 74]
    assert re.search(r"27 Oct,? 18:30", found["legend"])
    assert f"{at:.3g}" in found["legend"] and f"{home:.2f}"[:4] in found["legend"]
    assert "Household 6" in found["other"]
