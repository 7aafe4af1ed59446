"""Every figure is a valid, reproducible SVG on ordinary and on nasty tables."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from meterdp.errors import InputError
from meterdp.report import cost, densities, forecasts, intake, noise, style
from meterdp.report.classes import class_profiles
from meterdp.report.registry import FIGURES, drawings, figure_of
from tests.unit.report import made_up
from tests.unit.report.conftest import SETTINGS, axes_of, draw_all, is_svg, texts_of

# --- all of them ----------------------------------------------------------------------------------------------------


def test_every_figure_is_svg_with_text_as_paths_and_no_date(drawn):
    for name, path in drawn.items():
        assert is_svg(path), name
        content = path.read_text()
        assert "<text" not in content and "dc:date" not in content, name


def test_drawing_twice_gives_the_same_bytes(study, drawn, tmp_path):
    again = draw_all(study, tmp_path, {"mechanisms": SETTINGS["mechanisms"] | {"variants": ["sound"]}})
    assert len(again) == len(drawn) - 1, "one figure of marginals is like another"
    assert all(path.read_bytes() == drawn[name].read_bytes() for name, path in again.items())


def test_every_figure_has_words_and_a_name_that_leads_back_to_it(drawn):
    assert list(drawings(SETTINGS)) == list(drawn)
    for name in drawn:
        figure = figure_of(name)
        assert figure in FIGURES and name in figure.drawings(SETTINGS)
        assert len(figure.look_for) > 40 and len(figure.alternative) > 40 and figure.category
    for name in ("pie", "intake_of_rows"):
        with pytest.raises(KeyError, match=f"no figure is called '{name}'"):
            figure_of(name)


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


# --- intake ---------------------------------------------------------------------------------------------------------


def test_intake_says_how_much_was_used(shown):
    text = texts_of(shown["intake"])
    for words in ("3,787,392 of 3,790,428 (99.9 %) used", "1,421 of 1,442 (98.5 %) kept", "2,113 (0.1 %)"):
        assert words in text


def test_intake_of_a_perfect_export_has_nothing_to_show_but_says_so(draw):
    rows, rules = made_up.ingest_report().iloc[:1], made_up.quality_summary()
    rules = rules[rules["reason"] == "kept"]
    shown = draw(intake.intake, rows, rules, saved=True)
    assert texts_of(shown).count("nothing was left out") == 2


# --- mixture --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("classes", "hours"), [(1, 1), (1, 12), (2, 24), (12, 12), (7, 48)])
def test_class_profiles_for_few_and_many_classes(draw, classes, hours):
    data = made_up.mixture(classes, hours)
    shown = draw(class_profiles, data, made_up.class_table(classes), made_up.profile_hours(hours, 12))
    panels = axes_of(shown)
    assert len(panels) == classes
    for axes, row in zip(panels, data.itertuples(), strict=True):
        drawn = axes.lines[-1].get_ydata()  # the class's own mean is drawn last
        np.testing.assert_allclose(drawn, np.exp(row.mean_log_kwh))
        title = axes.get_title(loc="left")
        assert title.startswith(f"Class {row.component}: {made_up.SIZES[row.component - 1]:,} (") and " use" in title


def test_class_profile_bands_are_one_standard_deviation_of_the_log(shown):
    row = made_up.mixture().iloc[0]
    deviation = np.sqrt(np.diag(np.reshape(row["covariance"], (12, 12))))
    band = axes_of(shown["class_profiles"])[0].collections[0].get_paths()[0].vertices[:, 1]
    assert np.isclose(band.min(), np.exp(row["mean_log_kwh"] - deviation).min())
    assert np.isclose(band.max(), np.exp(row["mean_log_kwh"] + deviation).max())


def test_marginals_have_a_row_per_hour_and_a_column_per_class(shown):
    columns = axes_of(shown["marginal_densities_sound"])
    assert len(columns) == 6 and len(columns[0].get_yticks()) == 12
    for axes in columns:
        assert len(axes.collections[0].get_paths()) == 12  # a histogram each
        fit, released = axes.get_lines()[-2:]
        assert released.get_color() == style.look("sound").colour
        for line in (fit, released):  # a curve in every row, on the scale of the row
            height = line.get_ydata()
            assert set(np.floor(height[np.isfinite(height)])) == set(range(12)) and np.nanmax(height % 1) <= 0.861


def test_what_is_taller_than_its_panel_is_cut_off_where_it_crosses_the_edge():
    x, height = densities._cut(np.arange(5.0), np.array([0.0, 0.5, 2.5, 0.5, 0.0]))
    np.testing.assert_allclose(x, [0, 1, 1.25, 2, 2.75, 3, 4])
    np.testing.assert_allclose(height, [0, 0.5, 1, np.nan, 1, 0.5, 0])


@pytest.mark.parametrize("own", [1, 3, 9])
def test_marginals_of_a_release_with_fewer_or_more_classes(draw, own):
    data = made_up.marginals(classes=6, hours=2, released=("kl_published",))
    sound = made_up.marginals(classes=own, hours=2, released=("sound",))
    data = pd.concat([data, sound[sound["classes"] == "sound"]], ignore_index=True)
    tables = data, made_up.profile_hours(2)
    for mechanism, classes, noun in (("sound", own, "Own class"), ("kl_published", 6, "Class")):
        shown = draw(densities.marginal_densities, *tables, mechanism=mechanism, epsilon=2.0)
        panels = axes_of(shown)
        assert len(panels) == classes and len(panels[0].get_yticks()) == 2
        assert [axes.get_title() for axes in panels[:classes]] == [f"{noun} {k + 1}" for k in range(classes)]


@pytest.mark.parametrize(("hours", "rows"), [(12, 12), (24, 12), (30, 10)])
def test_marginals_of_a_long_record_are_of_hours_evenly_apart(draw, hours, rows):
    data = made_up.marginals(classes=1, hours=hours, released=("sound",))
    shown = draw(densities.marginal_densities, data, made_up.profile_hours(hours, 0), mechanism="sound")
    assert len(axes_of(shown)[0].get_yticks()) == rows


def test_marginals_of_an_absent_mechanism_are_refused(draw):
    with pytest.raises(InputError, match="has no curve of mechanism 'iid_laplace'"):
        draw(densities.marginal_densities, made_up.marginals(), made_up.profile_hours(), mechanism="iid_laplace")


def test_marginals_say_where_a_release_left_the_picture_or_is_flat(draw):
    data = made_up.marginals(classes=1, hours=3, released=("sound",))
    released = data["curve"] == "sound"
    data.loc[released & (data["entry"] == 1), "log_kwh"] += 1000
    data.loc[released & (data["entry"] == 2), "density"] = 1e-4
    hours = made_up.profile_hours(3)
    shown = draw(densities.marginal_densities, data, hours, mechanism="sound", saved=True)
    shown = texts_of(shown)
    assert shown.count("release lies\noutside") == shown.count("release is\nalmost flat") == 1


def test_a_released_density_ends_inside_its_panel_or_is_said_to_go_on(draw):
    data = made_up.marginals(classes=1, hours=2, released=("sound",))
    rows = (data["curve"] == "sound") & (data["entry"] == 0)
    fit = data[(data["curve"] == "fit") & (data["entry"] == 0)]
    middle, width = fit["log_kwh"].mean(), np.ptp(fit["log_kwh"])
    data.loc[rows, "log_kwh"] = middle + width * np.linspace(0.0, 0.8, rows.sum())
    hours = made_up.profile_hours(2)
    shown = draw(densities.marginal_densities, data, hours, mechanism="sound")
    (axes,) = axes_of(shown)
    assert axes.get_xlim()[1] > middle + 0.75 * width and "release\ngoes on" not in texts_of(shown)
    data.loc[rows, "log_kwh"] += 0.8 * width  # in part further off than a panel goes
    shown = draw(densities.marginal_densities, data, hours, mechanism="sound")
    assert texts_of(shown).count("release\ngoes on") == 1


def test_marginals_of_a_class_of_equal_households(draw):
    data = made_up.marginals(classes=1, hours=1, released=("sound",))
    bars = data[data["curve"] == "histogram"]
    data = data.drop(bars.index[1:])  # one bin
    data.loc[data["curve"] == "fit", "density"] = 0.0
    hours = made_up.profile_hours(1)
    draw(densities.marginal_densities, data, hours, mechanism="sound", saved=True)


# --- cost -----------------------------------------------------------------------------------------------------------


def curves_of(axes: Axes) -> dict[str, Line2D]:
    """The curve with markers of each mechanism, by label of the mechanism."""
    names = {(style.look(n).colour, style.look(n).marker): n for n in made_up.MECHANISMS}
    return {names[key]: line for line in axes.get_lines() if (key := (line.get_color(), line.get_marker())) in names}


def test_cost_curves_are_means_over_folds_and_over_draws(shown):
    data = made_up.cost()
    panels = axes_of(shown["kl_curve"])
    for axes, column in zip(panels, ("heldout_gap_mean", "kl_mean"), strict=True):
        curves = curves_of(axes)
        assert list(curves) == list(made_up.MECHANISMS)
        for mechanism, line in curves.items():
            np.testing.assert_allclose(
                line.get_ydata().astype(float), data.loc[data["mechanism"] == mechanism, column]
            )
        assert axes.get_xscale() == "log"
    assert [axes.get_yscale() for axes in panels] == ["symlog", "log"]


def test_only_a_proven_guarantee_has_a_solid_line(shown):
    for axes in axes_of(shown["kl_curve"]):
        for mechanism, line in curves_of(axes).items():
            proven = made_up.MECHANISMS[mechanism][0] == "sound"
            assert (line.get_linestyle() == "-") == proven
            assert (line.get_markerfacecolor() == "white") != proven
    text = texts_of(shown["kl_curve"])
    headings = ("with a proof", "no valid guarantee: exact", "no valid guarantee: published")
    assert all(heading in text for heading in headings)
    assert "sound release: to a fit to its own classes, not comparable" in text


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
    assert "households of the fit (too few to hold any out)" in axes.get_title(loc="left")
    for mechanism, line in curves_of(axes).items():
        rows = data[data["mechanism"] == mechanism]
        np.testing.assert_allclose(line.get_ydata().astype(float), rows["loglik_gap_mean"])
    assert "as\nmany classes as released" not in texts_of(shown)


@pytest.mark.parametrize(("low", "high"), [(-0.5, 1), (-0.5, 3), (-40, 0.6), (-1e3, 1e3), (-0.5, 5e7), (-1e-9, 1e-9)])
def test_ticks_of_the_gap_show_zero_and_do_not_crowd(low, high):
    ticks = cost.gap_ticks(low, high)
    assert 0 in ticks and ticks == sorted(set(ticks))
    assert min(ticks) >= low and max(ticks) <= high and len(ticks) <= 13


@pytest.mark.parametrize("bad", [np.inf, np.nan, 0.0])
def test_kl_that_cannot_be_drawn_is_named(draw, bad):
    data = made_up.cost(["kl_published", "sound"])
    data.loc[0, ["kl_mean", "kl_se", "kl_q75"]] = bad
    shown = draw(cost.kl_curve, data)
    word = {"inf": "∞", "nan": "not a number", "0.0": "0"}[str(bad)]
    note = f"Not drawn: KL-minimising, published, KL divergence, mean {word} at ε = 0.5"
    assert note in texts_of(shown) and len(curves_of(axes_of(shown)[1])["kl_published"].get_xdata()) == 4


def test_a_gap_that_is_not_finite_is_named(draw):
    data = made_up.cost(["kl_published", "sound"])
    data.loc[:1, "heldout_gap_mean"] = [np.inf, np.nan]
    shown = draw(cost.kl_curve, data)
    note = "Not drawn: KL-minimising, published, log-likelihood lost, mean ∞ at ε = 0.5, not a number at ε = 1"
    assert note in texts_of(shown)


def test_cost_with_nothing_to_draw_is_still_a_figure(draw):
    data = made_up.cost(["sound"], epsilons=[1.0])
    data.loc[0, ["kl_mean", "kl_se", "kl_q25", "kl_q75", "heldout_gap_mean", "heldout_gap_same_k_mean"]] = np.inf
    shown = draw(cost.kl_curve, data, saved=True)
    assert texts_of(shown).count("mean ∞ at ε = 1") == 2


def test_kl_with_an_error_above_the_mean_and_an_unknown_mechanism(draw):
    data = made_up.cost(["sound"], epsilons=[1.0, 2.0])
    data["kl_se"], data["mechanism"] = 10 * data["kl_mean"], "new_idea"
    draw(cost.kl_curve, data, saved=True)


# --- forecasts ------------------------------------------------------------------------------------------------------


def test_delta_curves_have_a_panel_per_query_model_and_budget(draw):
    data = made_up.delta_curves()
    panels = axes_of(draw(noise.delta_curves, data, sides="two"))
    assert len(panels) == 3 * 3
    rows = data[(data["sides"] == "two") & (data["query_model"] == "deterministic") & (data["rho"] == 0.45)]
    for design, colour in (("white", style.look("white").colour), ("published", style.look("published").colour)):
        for column in ("delta", "delta_chernoff"):
            values = rows.loc[rows["design"] == design, column].astype(float)
            assert any(
                line.get_color() == colour and np.allclose(line.get_ydata(), values) for line in panels[0].lines
            )


def test_no_noise_is_drawn_in_every_panel(shown):
    for axes in axes_of(shown["delta_curves"]):
        assert any(line.get_color() == style.look("none").colour and len(line.get_xdata()) for line in axes.lines)


@pytest.mark.parametrize("rhos", [(0.45,), (0.1, 0.2, 0.3, 0.45, 0.7, 0.9, 1.1, 1.4)])
@pytest.mark.parametrize("designs", [("none",), ("white",), ("none", "white", "published")])
def test_delta_curves_with_few_and_many(draw, designs, rhos):
    data = made_up.delta_curves(designs, rhos, models=("deterministic",), epsilons=(1.0,))
    draw(noise.delta_curves, data, saved=True)


def test_delta_curves_that_hide_each_other_are_named(draw):
    data = made_up.delta_curves(rhos=(0.45, 1.4), models=("deterministic", "stochastic"))
    data["delta_chernoff"], data["delta"] = 1.0, 0.9999
    shown = draw(noise.delta_curves, data)
    assert texts_of(shown).count("all curves lie on top of\neach other") == 2 * 2


def test_budgets_at_which_nothing_protects_are_named_instead_of_drawn(draw):
    data = made_up.delta_curves()
    data.loc[data["rho"] == 0.45, "delta"] = 0.9999
    shown = draw(noise.delta_curves, data)
    titles = [axes.get_title(loc="left") for axes in axes_of(shown)]
    assert len(titles) == 3 * 2 and not any("0.45" in title for title in titles)
    assert "Not drawn: ρ = 0.45, where every δ is above 0.99" in texts_of(shown)


@pytest.mark.parametrize(("factor", "scale"), [(1.0, "linear"), (1e-9, "log"), (0.0, "linear")])
def test_small_deltas_get_a_logarithmic_axis(draw, factor, scale):
    data = made_up.delta_curves(("white",), (0.45, 1.4), models=("deterministic",))
    data["delta"] *= factor
    shown = draw(noise.delta_curves, data)
    assert {axes.get_yscale() for axes in axes_of(shown)} == {scale}


@pytest.mark.parametrize("sides", noise.SIDES)
def test_a_bound_is_named_where_there_is_one(draw, sides):
    shown = draw(noise.delta_curves, made_up.delta_curves(rhos=(0.45,), models=("deterministic",)), sides=sides)
    assert ("lighter: Chernoff bound" in texts_of(shown)) == (sides in ("one", "two"))


def test_no_pair_of_neighbours_is_said_instead_of_drawn(draw):
    shown = draw(noise.delta_curves, made_up.delta_curves().iloc[:0], saved=True)
    assert "no household has a neighbour, so there is no pair to tell apart" in texts_of(shown)


@pytest.mark.parametrize("examples", [1, 3, 5])
def test_examples_have_a_row_each(draw, examples):
    data = made_up.forecast_examples(examples)
    data = data[(data["part"] != "released") | (data["example"] > 1)]  # one without a released forecast
    shown = draw(forecasts.forecast_examples, data)
    assert len(axes_of(shown)) == 2 * examples


def test_examples_that_feed_in_are_not_cut_off_at_zero(draw):
    data = made_up.forecast_examples(1)
    data.loc[10, "energy_kwh"] = -0.7
    shown = draw(forecasts.forecast_examples, data)
    assert axes_of(shown)[0].get_ylim()[0] < -0.7


def test_errors_have_a_row_per_forecast_and_a_release_without_noise_is_arma(draw):
    data = made_up.forecast_errors(designs=("none", "white", "published"))
    shown = draw(forecasts.forecast_errors, data)
    labels = [label.get_text() for label in axes_of(shown)[0].get_yticklabels()]
    assert labels[:3] == ["ARMA forecast", "naive: same time last week", "naive: last reading"]
    assert labels[3:6] == [f"released, white noise, ρ = {rho}" for rho in (0.45, 0.68571, 1.4)]
    assert len(labels) == 9


def test_other_forecasters_are_set_beside_the_studys_own(draw):
    data = made_up.forecaster_comparison()
    shown = draw(forecasts.forecaster_comparison, data)
    log, kwh, sums = axes_of(shown)
    labels = [label.get_text() for label in log.get_yticklabels()]
    assert labels == ["mean of the last seven days", "gradient boosting\n(trained across homes)"]
    drawn, ratios = (
        [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "None" and line.get_marker() == "o"]
        for axes in (kwh, sums)
    )
    assert ratios == pytest.approx(drawn), "what is made up has the same ratio of both errors"
    wanted = data[(data["scale"] == "kwh") & data["forecaster"].isin(["rolling_mean", "gradient_boosting"])][
        "mae_ratio"
    ]
    assert sorted(drawn) == sorted(wanted)
    alone = data[data["forecaster"] == "arma"]
    shown = draw(forecasts.forecaster_comparison, alone)
    assert "forecast.compare names no other forecaster" in texts_of(shown)


def test_errors_that_explode_in_kwh_are_on_a_log_scale_or_named(draw):
    data = made_up.forecast_errors()
    in_kwh = (data["scale"] == "kwh") & (data["method"] == "released")
    data.loc[in_kwh & (data["rho"] == 1.4), "nmse"] = np.inf
    data.loc[in_kwh & (data["rho"] == 0.45), "nmse"] = 5e4
    data.loc[in_kwh, "nmse_se"] = np.nan
    shown = draw(forecasts.forecast_errors, data)
    in_log, in_kwh = axes_of(shown)
    assert in_log.get_xscale() == "linear" and in_kwh.get_xscale() == "log"
    assert texts_of(shown).count("mean ∞") == 2


@pytest.mark.parametrize(("offset", "scale"), [(0.5, 0.0), (0.0, 0.3)])
def test_class_profiles_with_feed_in_are_drawn_on_the_scale_of_the_model(draw, offset, scale):
    data, hours = made_up.mixture(2), made_up.profile_hours().assign(offset_kwh=offset, scale_kwh=scale)
    data["mean_log_kwh"] = [mean - 2.5 * (np.arange(12) < 4) for mean in data["mean_log_kwh"]]
    shown = draw(class_profiles, data, made_up.class_table(2), hours)
    panels = axes_of(shown)
    for axes, mean in zip(panels, data["mean_log_kwh"], strict=True):
        energy = 2 * scale * np.sinh(mean - np.log(scale)) if scale else np.exp(mean) - offset
        np.testing.assert_allclose(axes.lines[-1].get_ydata(), energy)
        assert (energy < 0).any() and axes.get_yscale() == "function"
    ticks = panels[0].get_yticks()
    assert 0 in ticks and (ticks > 0).any() and np.isfinite(ticks).all()
