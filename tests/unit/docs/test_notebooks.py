"""The notebooks are run as the site runs them; numbers they print are those of their files, or of another library."""

import os
import re
import subprocess
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.mixture import GaussianMixture

from meterdp import mu_for
from meterdp.mechanisms.proven.stack import StackWeights
from tests.warm import warm_python

CODE = re.compile(r"^```\{code-cell\}\n(?:---\n.*?^---\n|:.*?\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r'<div class="output [^>]*>(.*?)</pre>', re.DOTALL)
NAMES = ("analyst", "modeller", "researcher")


@pytest.fixture(scope="module")
def built(repository, written, tmp_path_factory):
    """Pages and the folder that their notebooks ran in; what they start is forked (tests/warm.py)."""
    folder = tmp_path_factory.mktemp("notebooks")
    words = ("--quiet", "--conf-dir", "docs", "--doctree-dir", str(folder / "doctrees"))
    only = ("-D", "include_patterns=docs/notebooks/*", "-D", "root_doc=docs/notebooks/analyst")
    done = subprocess.run(
        [warm_python(), "-m", "sphinx", *words, *only, ".", str(folder / "html")],
        cwd=repository,
        env=os.environ
        | {"METERDP_NOTEBOOKS": str(folder), "MPLBACKEND": "module://matplotlib_inline.backend_inline"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return folder


def page(built, name):
    """Return what a page says, and what its cells printed."""
    text = (built / f"html/docs/notebooks/{name}.html").read_text()
    return text, unescape(re.sub("<[^>]+>", "", "".join(OUTPUT.findall(text))))


def first_cells(repository, count):
    """Return the names that the first cells of the researcher's notebook define."""
    names = {}
    for code in CODE.findall((repository / "docs/notebooks/researcher.md").read_text())[:count]:
        exec(code, names)
    return names


@pytest.mark.parametrize("name", NAMES)
def test_figures_and_output_are_on_the_site(built, written, name):
    if name == "modeller" and not written("notebooks").tools_installed():
        pytest.skip("pandapower and a kernel for it are not installed (make tools installs them)")
    text, printed = page(built, name)
    pictures = re.findall(r'<img alt="([^"]+)" src="\.\./\.\./(_images/[^"]+)"', text)
    assert len(pictures) == 1 and not pictures[0][0].startswith("_images")
    assert (built / "html" / pictures[0][1]).stat().st_size > 10_000
    assert printed and "METERDP_NOTEBOOK" not in text


def test_the_analyst_reads_what_the_homes_use(built):
    """Oracle: quantiles by pandas, of the export the notebook wrote."""
    _, printed = page(built, "analyst")
    readings = pd.read_csv(built / "readings.csv")
    assert len(readings) == 120 * 504 - 48 and "120 meters, 60,432 usable readings" in printed
    daily = readings.groupby("meter_id")["kwh"].mean() * 24
    median, upper = re.search(r"less than ([\d.]+) kWh a day, one in ten more than ([\d.]+) kWh", printed).groups()
    assert float(median) == pytest.approx(daily.quantile(0.5), abs=0.006)
    assert float(upper) == pytest.approx(daily.quantile(0.9), abs=0.006)


def test_the_modeller_sees_the_energy_of_the_release(built, written):
    """Oracle: the released file itself; pandapower has it by way of power and of the network."""
    if not written("notebooks").tools_installed():
        pytest.skip("pandapower and a kernel for it are not installed (make tools installs them)")
    _, printed = page(built, "modeller")
    profiles = pd.read_parquet(built / "results-town/release/mixture/synthetic_profiles.parquet")
    homes, kwh = re.search(r"(\d+) homes use ([\d.]+) kWh in the day", printed).groups()
    expected = np.stack(profiles["energy_kwh"])[: int(homes)].sum()
    assert int(homes) == 57 and float(kwh) == pytest.approx(expected, abs=0.001)
    volts = float(re.search(r"lowest voltage ([\d.]+) p\.u\.", printed)[1])
    assert 0.8 < volts < 1


def test_the_researcher_compares_under_the_same_guarantee(repository):
    """Oracle: pairs of records in the cube, searched; noise as large as the least that their distance allows."""
    names = first_cells(repository, 2)
    rng, d, n = np.random.default_rng(0), 3, 1000
    ends = np.concatenate([rng.choice([-1.0, 0, 1], (2000, 2, d)), rng.uniform(-1, 1, (2000, 2, d))])
    moved = [np.hypot(np.linalg.norm(x - y), np.linalg.norm(np.outer(x, x) - np.outer(y, y))) for x, y in ends]
    sensitivity = StackWeights(0, 1, np.sqrt(d)).sensitivity("replace_one", 1) * np.sqrt(d)
    assert 24**0.5 - 1e-9 <= max(moved) <= sensitivity == pytest.approx(24.5**0.5)
    middle = np.full((n, d), (names["LOW"] + names["HIGH"]) / 2)
    half = (names["HIGH"] - names["LOW"]) / 2
    drawn = [names["plain"](middle, 1, 1, np.random.default_rng(seed)).mean for seed in range(400)]
    noise = np.std((np.array(drawn) - middle[0]) / half) * n
    assert noise == pytest.approx(sensitivity / mu_for(1, 1e-5), rel=0.1)


def test_the_researcher_finds_that_one_gaussian_has_a_floor(built, repository):
    """Oracle: scikit-learn's own loss of one component, which noise can only add to."""
    _, printed = page(built, "researcher")
    rows = re.findall(r"^([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", printed, re.MULTILINE)
    epsilon, plain, one, two = np.array(rows, float).T
    assert list(epsilon) == [0.25, 0.5, 1, 2, 4]
    names = first_cells(repository, 1)
    fits = [GaussianMixture(k, random_state=0).fit(names["records"]).score(names["unseen"]) for k in (1, 2)]
    floor = fits[1] - fits[0]
    assert one[-1] == pytest.approx(floor, abs=0.01) and plain.min() > floor - 0.01
    assert two[-1] < floor / 2 and plain[-1] == pytest.approx(floor, abs=0.02)
    assert (plain[:2] > 2 * one[:2]).all() and ((two < one) == (epsilon >= 1)).all(), "as the page says"


def test_the_researcher_sees_bounds_of_kwh_move_and_those_of_logs_not(built):
    _, printed = page(built, "researcher")
    high, kwh, log = np.array(re.findall(r"^(\d+) +([\d.]+) +([\d.]+)$", printed, re.MULTILINE), float).T
    assert list(high) == [2, 5, 50] and (np.diff(kwh) > 0.05).all() and np.ptp(log) < 0.05
