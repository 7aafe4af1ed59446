"""The fidelity figure shows every source in every panel, on ordinary and on nasty tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from meterdp.errors import InputError
from meterdp.report.fidelity import fidelity

SOURCES = {"sound": "sound", "real": "none", "kl_published": "published", "fit": "none"}
LEVEL = {"real": 0.04, "fit": 0.05, "kl_published": 2.5, "sound": 0.2}
DISTANCES = (
    "ks_mean",
    "sliced_wasserstein",
    "correlation_rms",
    "peak_hour_tv",
    "peak_wasserstein",
    "energy_wasserstein",
    "load_factor_ks",
)
ORDER = ["real households", "fit without privacy", "proven release"]


def made_up_fidelity() -> pd.DataFrame:
    rows = []

    def add(source, measure, value, se=0.01, entry=None):
        epsilon = None if SOURCES[source] == "none" else 2.0
        rows.append((source, SOURCES[source], epsilon, measure, entry, value, "1", se, "made up"))

    for source in SOURCES:
        for measure in DISTANCES:
            add(source, measure, LEVEL[source])
        add(source, "ks_hour", 99.0, entry=0)
        add(source, "prediction_r2", 0.6 - LEVEL[source])
        if source != "real":
            add(source, "augmented_r2", 0.55)
        if source != "fit":
            add(source, "density_tv", 0.4)
            add(source, "class_agreement", 0.8, se=None)
        if source in ("sound", "kl_published"):
            add(source, "pinsker_bound", 0.9)
    columns = ["source", "family", "epsilon", "measure", "entry", "value", "unit", "se", "note"]
    data = pd.DataFrame(rows, columns=columns)
    return data.astype({"entry": "Int32"})


@pytest.fixture
def shown(draw):
    """Draw a table and return the matplotlib figure."""
    return lambda data: draw(fidelity, data)


def panel(figure, title):
    return next(axes for axes in figure.axes if axes.get_title(loc="left") == title)


def points(axes) -> list[tuple[float, float]]:
    """(x, row) of the full markers, by row."""
    full = [line for line in axes.lines if line.get_marker() not in ("None", "d")]
    return sorted(((float(x.get_xdata()[0]), float(x.get_ydata()[0])) for x in full), key=lambda p: p[1])


def test_every_panel_has_a_point_per_source_in_one_order(shown):
    figure = shown(made_up_fidelity())
    drawn = [axes for axes in figure.axes if axes.get_visible()]
    assert len(drawn) == 6 and all(axes.get_title(loc="left").endswith("?") for axes in drawn)
    assert [label.get_text() for label in drawn[0].get_yticklabels()] == ORDER
    expected = [(LEVEL[s], place) for place, s in enumerate(("real", "fit", "sound"))]
    for axes in drawn[:5]:
        np.testing.assert_allclose(points(axes), expected)
        assert axes.get_xscale() == "log"
    assert "ε = 2" in figure.get_suptitle()


def test_the_grey_area_reaches_two_deviations_past_the_real_households(shown):
    figure = shown(made_up_fidelity())
    near = (
        panel(figure, "Are single hours right?")
        .patches[0]
        .get_extents()
        .transformed(panel(figure, "Are single hours right?").transData.inverted())
    )
    assert near.x1 == pytest.approx(0.04 + 2 * 0.01)
    scores = panel(figure, "Can later hours be predicted?")
    area = scores.patches[0].get_extents().transformed(scores.transData.inverted())
    assert area.x0 == pytest.approx(0.56 - 2 * 0.01) and area.x1 == pytest.approx(scores.get_xlim()[1])


def test_values_off_the_axis_are_drawn_at_its_edge_with_their_number(shown):
    data = made_up_fidelity()
    data.loc[(data["source"] == "sound") & (data["measure"] == "prediction_r2"), "value"] = -37.0
    data.loc[(data["source"] == "fit") & (data["measure"] == "peak_hour_tv"), "value"] = 0.0
    figure = shown(data)
    for title, place, words in (("Can later hours be predicted?", 2, "−37"), ("Is the peak hour right?", 1, "0")):
        axes = panel(figure, title)
        assert points(axes)[place][0] == pytest.approx(axes.get_xlim()[0])
        arrows = [line.get_ydata()[0] for line in axes.lines if line.get_marker() == "<"]
        assert place in arrows and words in [text.get_text() for text in axes.texts]


def test_what_was_not_measured_is_a_dash(shown):
    data = made_up_fidelity()
    data.loc[(data["source"] == "sound") & (data["measure"] == "ks_mean"), "value"] = np.nan
    axes = panel(shown(data), "Are single hours right?")
    assert len(points(axes)) == 2 and axes.texts[-1].get_text() == "–"


@pytest.mark.parametrize("measures", [["ks_mean"], ["prediction_r2"], ["ks_mean", "peak_hour_tv"]])
def test_a_study_without_some_measures_has_fewer_panels(shown, measures):
    data = made_up_fidelity()
    figure = shown(data[data["measure"].isin(measures)])
    assert sum(axes.get_visible() for axes in figure.axes) == len(measures)


def test_a_study_of_one_unknown_mechanism_without_a_yardstick(shown):
    data = made_up_fidelity()
    data = data[data["source"] == "sound"].assign(source="some_new_mechanism", value=0.0)
    figure = shown(data)
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["some new mechanism"]
    assert not figure.axes[0].patches


def test_an_empty_table_leaves_no_figure(write, tmp_path):
    with pytest.raises(InputError, match="has no rows to draw"):
        fidelity.draw(write("fidelity", made_up_fidelity().iloc[:0]), output=tmp_path / "a.svg")
    assert not list(tmp_path.glob("*.svg"))
