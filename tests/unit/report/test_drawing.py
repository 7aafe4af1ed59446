"""Every figure is a valid, reproducible SVG on ordinary and on nasty tables."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from meterdp.errors import InputError
from meterdp.pages.numbers import significant
from meterdp.report import cost, densities, style
from meterdp.report.consumption import use_of_groups
from meterdp.report.registry import FIGURES, figure_of
from tests.unit.report import made_up
from tests.unit.report.conftest import axes_of, draw_all, is_svg, texts_of

# --- all of them ----------------------------------------------------------------------------------------------------


def test_every_figure_is_svg_with_text_as_paths_and_no_date(drawn):
    for name, path in drawn.items():
        assert is_svg(path), name
        content = path.read_text()
        assert "<text" not in content and "dc:date" not in content, name


def test_drawing_twice_gives_the_same_bytes(study, drawn, tmp_path):
    again = draw_all(study, tmp_path)
    assert all(path.read_bytes() == drawn[name].read_bytes() for name, path in again.items())


def test_every_figure_asks_a_question_and_has_a_name_that_leads_back_to_it(drawn, shown):
    assert [figure.name for figure in FIGURES] == list(drawn)
    for name in drawn:
        figure = figure_of(name)
        assert len(figure.look_for) > 40 and len(figure.alternative) > 40 and figure.category
        assert re.fullmatch(r"[A-Z].*\?( \(ε = [^()]+\))?", shown[name].get_suptitle()), name
    for name in ("pie", "kl_curve_of_rows"):
        with pytest.raises(KeyError, match=f"no figure is called '{name}'"):
            figure_of(name)


def test_the_last_bar_of_a_histogram_says_that_it_holds_all_above(shown):
    left, middle, right = axes_of(shown["use_per_household"])
    for axes in (left, middle):
        (label,) = (text for text in axes.texts if text.get_text().endswith(" or more"))
        last = axes.patches[-1]
        assert label.get_text() == f"{significant(last.get_x(), 2)} or more"
        assert label.get_position()[1] == last.get_height() > 2 * axes.patches[-2].get_height()
    assert "or more" not in "".join(text.get_text() for text in right.texts)


@pytest.mark.parametrize("months", [1, 2, 3])
def test_groups_are_drawn_by_month_only_where_months_make_a_line(draw, months):
    data = made_up.group_profiles()
    data = pd.concat([data, data.assign(list_column="tariff")])
    panels = axes_of(draw(use_of_groups, data[data["month_local"] <= months]))
    titles = [axes.get_title("left") for axes in panels]
    kinds = ["at what hour?", "in which months?"][: 1 + (months > 2)]
    assert titles == [f"{column}: {kind}" for column in ("dwelling", "tariff") for kind in kinds]


def test_of_many_groups_those_that_use_most_are_drawn_below_columns_with_few(draw):
    few = made_up.group_profiles()
    parts = [
        few[few["entry"] == "flat"].assign(
            list_column="feeder", entry=f"F{n}", mean_kw=lambda of, n=n: of["mean_kw"] + n
        )
        for n in range(12)
    ]
    above, below = axes_of(draw(use_of_groups, pd.concat([*parts, few]).query("month_local == 1")))
    assert above.get_title("left") == "dwelling: at what hour?" and len(above.lines) == 2
    assert below.get_title("left") == "feeder, top 10: at what hour?"
    assert [line.get_label() for line in below.lines] == [f"F{n}" for n in range(2, 12)]


def test_the_registries_are_read_without_importing_matplotlib():
    code = (
        "import sys; import meterdp.report.registry, meterdp.report.page, meterdp_papers.registry; "
        "assert not {'matplotlib', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_figure_that_cannot_be_drawn_leaves_no_file(write, tmp_path):
    empty = write("cost", made_up.cost().iloc[:0])
    with pytest.raises(InputError, match="has no rows to draw"):
        cost.kl_curve.draw(empty, output=tmp_path / "figure.svg")
    assert not list(tmp_path.glob("*.svg")) and not list(tmp_path.glob(".*"))


def test_a_table_of_another_kind_is_refused(study, tmp_path):
    with pytest.raises(InputError, match="does not have the columns of table 'cost'"):
        cost.kl_curve.draw(study["mixture"], output=tmp_path / "figure.svg")


# --- colours --------------------------------------------------------------------------------------------------------


def test_a_name_has_one_look_whatever_else_is_drawn():
    okabe_ito = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#767676"}
    for name in ("kl_published", "sound", "white"):
        assert style.look(name) == style.look(name) and style.look(name).colour in okabe_ito
    mechanisms = (*made_up.MECHANISMS, "iid_gaussian_l1", "coloured_gaussian_l1")
    for group in (mechanisms, ("none", "white", "published", "joint", "transport")):
        looks = [style.look(name) for name in group]
        assert len({look.colour for look in looks}) == len({look.marker for look in looks}) == len(looks)


def test_a_mechanism_that_is_not_listed_has_a_look_that_no_listed_one_has():
    new = style.look("some_new_mechanism")
    assert new == style.look("some_new_mechanism") and new.label == "some new mechanism"
    listed = [style.look(name) for name in made_up.MECHANISMS]
    assert new.colour not in {look.colour for look in listed} and new.marker not in {look.marker for look in listed}


def test_legends_and_tables_use_one_order_with_unknown_names_last():
    assert style.in_order(["zeta", "sound", "alpha", "iid_laplace", "sound"]) == [
        "iid_laplace",
        "sound",
        "alpha",
        "zeta",
    ]


# --- hours ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hours", "panels"), [(1, 1), (8, 8), (12, 6), (24, 8), (30, 8)])
def test_a_long_profile_is_shown_at_hours_evenly_apart(draw, hours, panels):
    shown = draw(densities.marginal_densities, made_up.marginals(hours), made_up.profile_hours(hours, 0))
    assert len(axes_of(shown)) == panels


def test_a_panel_has_the_real_histogram_and_the_proven_release_and_no_other(draw):
    data = made_up.marginals(hours=2)
    shown = draw(densities.marginal_densities, data, made_up.profile_hours(2))
    for entry, axes in enumerate(axes_of(shown)):
        at = data[data["entry"] == entry].set_index("source")["density"]
        assert [bar.get_height() for bar in axes.patches[:40]] == at["real"].tolist()
        (released,) = axes.patches[40:]
        assert released.get_data().values.tolist() == at["sound"].tolist()
    assert "(ε = 1)" in shown.get_suptitle()


def test_a_study_without_a_proven_release_shows_real_households_alone(draw):
    shown = draw(densities.marginal_densities, made_up.marginals(2, ("kl_published",)), made_up.profile_hours(2))
    assert "ε" not in shown.get_suptitle() and all(len(axes.patches) == 40 for axes in axes_of(shown))


# --- values ---------------------------------------------------------------------------------------------------------


def test_values_lie_where_they_are_drawn(tmp_path):
    """Oracle: the path that Matplotlib drew through the same points."""
    with style.canvas(tmp_path / "a.svg", "Where?", 3.0) as figure:
        axes = figure.subplots()
        axes.plot([1, 2, 4], [3.0, 1.0, 2.0], color="#123456")
        axes.set_xscale("log")
        style.show_points(axes, [1, 2, 4], [3.0, 1.0, 2.0], ["a", "b <&>", "c"])
        style.show_strips(axes, [1, 2, 4], ["left", "right"])
    svg = (tmp_path / "a.svg").read_text()
    (line,) = re.findall(r'<path d="([^"]*)"[^>]*stroke: #123456', svg)
    points = np.array(re.findall(r"[ML] (\S+) (\S+)", line), dtype=float)
    found = re.findall(r'<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"><title>(.*?)</title></rect>', svg)
    assert [words for *_, words in found] == ["a", "b &lt;&amp;&gt;", "c", "left", "right"]
    boxes = np.array([box[:4] for box in found], dtype=float)
    np.testing.assert_allclose(boxes[:3, :2] + boxes[:3, 2:] / 2, points, atol=0.01)
    np.testing.assert_allclose(boxes[3:, 0], points[:2, 0], atol=0.01)
    np.testing.assert_allclose(boxes[3:, 0] + boxes[3:, 2], points[1:, 0], atol=0.01)


def test_every_figure_says_its_values(drawn):
    counts = {name: path.read_text().count("</title></rect>") for name, path in drawn.items()}
    assert min(counts.values()) >= 6, counts


# --- cost -----------------------------------------------------------------------------------------------------------


def curves_of(axes: Axes) -> dict[str, Line2D]:
    """The curve with markers of each mechanism, by label of the mechanism."""
    names = {(style.look(n).colour, style.look(n).marker): n for n in made_up.MECHANISMS}
    return {names[key]: line for line in axes.get_lines() if (key := (line.get_color(), line.get_marker())) in names}


def test_cost_curves_are_means_over_folds(shown):
    data = made_up.cost()
    (axes,) = axes_of(shown["kl_curve"])
    curves = curves_of(axes)
    assert list(curves) == list(made_up.MECHANISMS)
    for mechanism, line in curves.items():
        rows = data[data["mechanism"] == mechanism]
        np.testing.assert_allclose(line.get_ydata().astype(float), rows["heldout_gap_mean"])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "symlog")


def test_only_a_proven_guarantee_has_a_solid_line(shown):
    for axes in axes_of(shown["kl_curve"]):
        for mechanism, line in curves_of(axes).items():
            proven = made_up.MECHANISMS[mechanism][0] == "sound"
            assert (line.get_linestyle() == "-") == proven
            assert (line.get_markerfacecolor() == "white") != proven
    text = texts_of(shown["kl_curve"])
    headings = ("with a proof", "no valid guarantee: exact", "no valid guarantee: published")
    assert all(heading in text for heading in headings)


def test_a_release_better_than_the_mixture_of_the_study_is_drawn_below_zero(shown):
    axes = axes_of(shown["kl_curve"])[0]
    below = curves_of(axes)["sound"].get_ydata().astype(float)
    assert below.min() < 0 and axes.get_ylim()[0] < below.min()
    data = made_up.cost(["sound"])
    dotted = [line for line in axes.get_lines() if line.get_linestyle() == ":"]
    assert len(dotted) == 1, "only a release of another number of classes has a second reference"
    np.testing.assert_allclose(dotted[0].get_ydata(), data["heldout_gap_same_k_mean"])


def test_without_held_out_households_those_of_the_fit_are_drawn_and_named(draw):
    data = made_up.without_folds(made_up.cost())
    shown = draw(cost.kl_curve, data)
    axes = axes_of(shown)[0]
    assert shown.get_suptitle() == "How much worse does a release describe the households it was fitted to?"
    for mechanism, line in curves_of(axes).items():
        rows = data[data["mechanism"] == mechanism]
        np.testing.assert_allclose(line.get_ydata().astype(float), rows["loglik_gap_mean"])
    assert "as\nmany classes as released" not in texts_of(shown)


@pytest.mark.parametrize(("low", "high"), [(-0.5, 1), (-0.5, 3), (-40, 0.6), (-1e3, 1e3), (-0.5, 5e7), (-1e-9, 1e-9)])
def test_ticks_of_the_gap_show_zero_and_do_not_crowd(low, high):
    ticks = cost.gap_ticks(low, high)
    assert 0 in ticks and ticks == sorted(set(ticks))
    assert min(ticks) >= low and max(ticks) <= high and len(ticks) <= 13


def test_a_gap_that_is_not_finite_is_named(draw):
    data = made_up.cost(["kl_published", "sound"])
    data.loc[:1, "heldout_gap_mean"] = [np.inf, np.nan]
    shown = draw(cost.kl_curve, data)
    note = "Not drawn: KL-minimising, published, mean ∞ at ε = 0.5, not a number at ε = 1"
    assert note in texts_of(shown)


def test_cost_with_nothing_to_draw_is_still_a_figure(draw):
    data = made_up.cost(["sound"], epsilons=[1.0])
    data.loc[0, ["heldout_gap_mean", "heldout_gap_same_k_mean"]] = np.inf
    shown = draw(cost.kl_curve, data, saved=True)
    assert texts_of(shown).count("mean ∞ at ε = 1") == 1


def test_an_unknown_mechanism_is_drawn(draw):
    data = made_up.cost(["sound"], epsilons=[1.0, 2.0]).assign(mechanism="new_idea")
    draw(cost.kl_curve, data, saved=True)
