"""The feeder of benchmarks/power_flow.py against a formula and pandapower, and what its table says."""

import sys

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module", autouse=True)
def benchmarks_on_the_path(repository):
    sys.path.insert(0, str(repository / "benchmarks"))
    yield
    sys.path.remove(str(repository / "benchmarks"))


def one_cable(ohm_pu, base_kva=100.0):
    """A feeder of one load behind a resistance; its transformer has no losses of its own."""
    from power_flow_parts.feeder import Feeder

    y = 1 / ohm_pu
    admittance = np.array([[y, -y], [-y, y]], complex)
    return Feeder(admittance, 0, 1.0, np.array([0, 1]), np.array([1]), admittance, base_kva, 50.0)


def test_voltage_and_loading_behind_a_resistance_are_those_of_the_formula():
    """Oracle: V (1 - V) = R P."""
    power_pu = np.linspace(0, 0.9, 40)
    voltage, loading = one_cable(0.2).solve(100 * power_pu[:, None])
    expected = (1 + np.sqrt(1 - 4 * 0.2 * power_pu)) / 2
    np.testing.assert_allclose(voltage, np.column_stack([np.ones(40), expected]), atol=1e-9)
    np.testing.assert_allclose(loading, 100 * power_pu / expected * 100 / 50, atol=1e-6)


def test_more_than_a_cable_can_carry_is_refused():
    with pytest.raises(ArithmeticError, match="cannot carry"):
        one_cable(0.2).solve(np.array([[50.0], [130.0]]))


def test_the_village_is_that_of_pandapower():
    """Oracle: pandapower, which solves single hours by Newton's method to 1e-8."""
    from power_flow import LOADS, NETWORK
    from power_flow_parts.feeder import PYTHON, pandapower

    if not PYTHON.exists():
        pytest.skip("the tools are not installed (make tools installs them beside the project's environment)")
    load_kw = np.random.default_rng(2).gamma(0.6, 4.0, (12, LOADS))
    load_kw[0], load_kw[1] = 0.0, -5.0  # none; all feed in
    feeder, found = pandapower(NETWORK, load_kw)
    voltage, loading = feeder.solve(load_kw)
    assert found.voltage_pu.min() < 0.98 and found.voltage_pu.max() > 1.02
    np.testing.assert_allclose(voltage, found.voltage_pu, rtol=0, atol=1e-6)
    np.testing.assert_allclose(loading, found.loading_percent, rtol=0, atol=1e-4)


def test_every_home_is_on_the_feeder_once_in_an_arrangement_and_hours_are_counted(monkeypatch):
    import power_flow

    monkeypatch.setattr(power_flow, "LOADS", 1)
    kwh = 100 * np.array([[0.0, 0.1, 0.225, 0.225], [0.0, 0.0, 0.0, 0.0]])
    years = power_flow.years_of(one_cable(0.2), kwh, 3, "two homes")
    assert years.measures.shape == (6, len(power_flow.MEASURES)) and years.duration.shape == (4,)
    below = [m.name for m in power_flow.MEASURES].index("hours with a node below 0.97 p.u.")
    assert sorted(years.measures[:, below]) == [0, 0, 0, 2, 2, 2]
    assert (np.diff(years.duration) >= 0).all() and years.duration[-1] == pytest.approx(1)


def test_the_table_says_how_far_every_release_is_off(tmp_path):
    import power_flow

    count = len(power_flow.MEASURES)
    real, *released = (power_flow.Years(np.full((2, count), value), np.ones(3)) for value in (4.0, 3.0, 6.0))
    rows = list(power_flow.rows_of(real, {"released": released}, np.full(count, 0.25), {"other": "pandapower"}))
    table = pd.DataFrame(rows)
    of = table[table["source"] == "released"]
    assert len(table) == 2 * count and (of["error"] == 1.5).all() and (of["value"] == 4.5).all()
    head, _, first, *_ = power_flow.markdown(table)
    assert head == "| | real homes | released | two halves of the real homes |"
    assert first == "| lowest node voltage, the year's minimum, p.u. | 4.0000 | 1.5000 | 0.2500 |"
    power_flow.draw({name: np.linspace(0.9, 1, 50) for name in "abcd"}, tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").read_text().startswith("<?xml")
