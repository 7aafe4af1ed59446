"""The figure ‘hide among k’ names curves, yardsticks and what is left out, whatever the table holds."""

import itertools

import numpy as np
import pytest

from meterdp.report.hiding import _apart, hide_among, interval_words
from tests.unit.report import made_up
from tests.unit.report.conftest import texts_of


@pytest.fixture
def shown(draw):
    """Draw tables and return the text and curves (x, y) on the figure."""

    def of(costs, minutes=15):
        figure = draw(hide_among, costs, made_up.hide_among_yardsticks().assign(interval_minutes=minutes))
        lines = [line for axes in figure.axes for line in axes.get_lines() if line.get_linestyle() != ":"]
        return texts_of(figure), [line.get_xydata().T.tolist() for line in lines if len(line.get_xdata())]

    return of


def test_curves_are_medians_over_k_and_yardsticks_are_told_in_numbers(shown):
    words, curves = shown(made_up.hide_among(sizes=(2, 5)))
    table = made_up.hide_among(sizes=(2, 5)).set_index("design")["error_kwh_median"]
    assert [curve[0] for curve in curves] == [[2, 5]] * 2
    for design, curve in zip(("joint", "group_mean"), curves, strict=True):
        assert curve[1] == table.loc[design].tolist()
    for expected in ("joint design", "mean of the group", "quarter of an hour"):
        assert expected in words
    assert "household uses: 0.17 kWh" in words and "own forecast: 0.10 kWh" in words and "ε = 1, δ = 10⁻⁵" in words


def test_the_axis_ends_where_a_forecast_says_nothing_and_what_is_beyond_is_named(draw):
    costs, marks = made_up.hide_among(sizes=(2, 5)), made_up.hide_among_yardsticks()
    figure = draw(hide_among, costs, marks)
    assert figure.axes[0].get_ylim() == (0, pytest.approx(2 * marks["median_kwh"].max()))
    low, high = (f"{9.87 * np.sqrt(size):.0f}" for size in (2, 5))
    named = f"Off the axis: white noise and published design, {low} to {high} kWh per quarter of an hour"
    assert named in texts_of(figure)
    alone = draw(hide_among, costs[costs["design"] == "white"], marks)
    assert alone.axes[0].get_ylim()[1] > 9.87 * np.sqrt(5) and "Off the axis" not in texts_of(alone)


def test_designs_that_serve_not_everybody_and_sizes_without_households_are_named(shown):
    words, curves = shown(made_up.hide_among(sizes=(2, 20, 50, 100)))
    assert "white noise, k = 20: no noise" in words and "k = 50, 100: more than the 30 households" in words
    # Nobody is drawn at 50.
    assert sorted(len(curve[0]) for curve in curves) == [2, 2] and max(max(c[0]) for c in curves) == 20


def test_all_sizes_too_large_is_said_instead_of_drawn(shown):
    words, curves = shown(made_up.hide_among(sizes=(50, 100)))
    assert "there is no error to draw" in words and "k = 50, 100: more than the 30 households" in words
    assert not curves


def test_one_size_alone_and_errors_of_zero(shown):
    words, curves = shown(made_up.hide_among(sizes=(5,)))
    assert len(curves) == 2 and all(len(curve[0]) == 1 for curve in curves)
    alike = made_up.hide_among(sizes=(2, 5))
    alike.loc[alike["design"] == "group_mean", [c for c in alike if "error_kwh" in c]] = 0.0
    words, curves = shown(alike)
    assert "joint design" in words and "mean of the group" not in words and np.isfinite(curves).all()


@pytest.mark.parametrize("seed", range(20))
def test_labels_never_touch_and_none_is_above_the_panel(seed):
    generator = np.random.default_rng(seed)
    places, heights = np.sort(generator.uniform(0, 1.1, 6)).tolist(), generator.uniform(0.03, 0.12, 6).tolist()
    moved = _apart(places, heights)
    gaps = [(a + b) / 2 for a, b in itertools.pairwise(heights)]
    assert np.all(np.diff(moved) >= np.array(gaps) - 1e-12) and moved[-1] <= 1.0
    far = [0.0, 0.3, 0.6, 0.9]
    assert np.allclose(_apart(far, [0.1] * 4), far)
    assert np.allclose(_apart([0.5, 0.5], [0.1, 0.1]), [0.45, 0.55])


@pytest.mark.parametrize(
    ("minutes", "words"), [(15, "quarter of an hour"), (30, "half hour"), (60, "hour"), (5, "5 minutes")]
)
def test_an_interval_has_a_name(shown, minutes, words):
    assert interval_words(minutes) == words
    assert f"(kWh per {words})" in shown(made_up.hide_among(sizes=(2, 5)), minutes)[0]
