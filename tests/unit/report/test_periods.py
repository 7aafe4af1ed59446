"""The figure of synthetic homes draws what is in its tables, and says when there is nothing to draw."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from meterdp.report.periods import synthetic_homes
from tests.unit.report import made_up


def panels_of(figure):
    weeks, below = figure.subfigs
    return weeks.axes, below.axes


def words_of(figure):
    return [artist.get_text() for artist in figure.findobj(Text)]


def test_ten_real_weeks_are_beside_ten_synthetic_ones_on_the_same_axis(shown):
    weeks, _ = panels_of(shown["synthetic_homes"])
    data = made_up.household_weeks()
    assert len(weeks) == 20
    for number, axes in enumerate(weeks):
        source, home = ("real", "released")[number % 2], number // 2 + 1
        expected = data[(data["source"] == source) & (data["home"] == home)]["power_kw"].to_numpy(float)
        assert axes.get_lines()[0].get_ydata() == pytest.approx(expected, nan_ok=True)
        assert axes.get_ylim() == weeks[number - number % 2].get_ylim() and axes.get_xlim() == (0, 168)
    assert {"A week of ten real households", "A week of ten synthetic households (ε = 1)", "kW"} <= set(
        words_of(shown["synthetic_homes"])
    )


def test_panels_have_a_curve_of_every_source_and_a_question_as_title(shown):
    figure = shown["synthetic_homes"]
    _, panels = panels_of(figure)
    labels = ["real households", "synthetic, no privacy", "synthetic, ε = 4", "synthetic, ε = 1"]
    for axes in panels:
        assert [line.get_label() for line in axes.get_lines()] == labels and axes.get_title(loc="left")[-1] == "?"
    curves = made_up.household_curves()
    at = curves[(curves["epsilon"] == 1) & (curves["curve"] == "diversity")]
    assert panels[0].get_lines()[3].get_xydata().tolist() == at[["home_count", "power_kw"]].to_numpy(float).tolist()
    months = curves[(curves["source"] == "real") & (curves["curve"] == "energy")]
    assert panels[2].get_lines()[0].get_ydata() == pytest.approx(24 * months["power_kw"])
    assert "Do synthetic households live like real ones over a simulated year?" in words_of(figure)


def test_no_words_of_the_figure_lie_on_one_another(draw):
    made = (made_up.household_weeks(), made_up.household_curves(), made_up.household_scores())
    figure = draw(synthetic_homes, *made)
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)  # puts the legend where it belongs
    texts = [text for text in figure.findobj(Text) if len(text.get_text()) > 3 and text.get_visible()]
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts]
    assert len(boxes) > 12
    assert [(a, b) for i, (a, one) in enumerate(boxes) for b, other in boxes[i + 1 :] if one.overlaps(other)] == []
    left, right = figure.bbox.xmin, figure.bbox.xmax
    assert all(left <= box.xmin and box.xmax <= right for _, box in boxes)


def test_weeks_take_the_place_of_months_in_a_short_period_of_an_export(draw):
    days = [f"2025-{month:02d}-{day:02d}" for month in (1, 2) for day in (6, 13, 20, 27)]
    scores = made_up.household_scores("export").assign(day_count=56)
    words = words_of(draw(synthetic_homes, made_up.household_weeks(), made_up.household_curves(days), scores))
    assert "How much do they use\nin each week?" in words and "6 Jan" in words
    assert "Do synthetic households live like real ones over 56 days of the export?" in words


def test_numbers_of_homes_that_are_nearly_the_same_have_one_label(draw):
    curves = made_up.household_curves()
    curves = curves[~curves["home_count"].isin([100])].replace({"home_count": {300: 73}})
    figure = draw(synthetic_homes, made_up.household_weeks(), curves, made_up.household_scores())
    assert panels_of(figure)[1][0].get_xticks().tolist() == [1, 10, 73]


def test_weeks_with_feed_in_have_a_line_at_zero(draw):
    weeks = made_up.household_weeks()
    weeks["power_kw"] -= 1.0 * (weeks["home"] == 3)
    panels, _ = panels_of(draw(synthetic_homes, weeks, made_up.household_curves(), made_up.household_scores()))
    bottoms = [axes.get_ylim()[0] for axes in panels]
    assert max(bottoms[4:6]) < -0.8 and set(bottoms[:4] + bottoms[6:]) == {0.0}
    assert [len(axes.get_lines()) for axes in panels[:8]] == [1, 1, 1, 1, 2, 2, 1, 1]


def test_what_cannot_be_compared_is_said_instead_of_drawn(draw):
    made = (made_up.household_weeks(), made_up.household_curves(), made_up.household_scores())
    figure = draw(synthetic_homes, *(data.iloc[:0] for data in made), saved=True)
    assert "there are no eight weeks of readings from twenty households or more to compare" in words_of(figure)
