"""The figure of feeder totals draws a line per epsilon, names what it leaves out and copes with nothing to draw."""

import pytest
from matplotlib.text import Text

from meterdp.report.feeders import _percent, feeder_totals
from tests.unit.report import made_up


@pytest.fixture
def shown(draw):
    """Draw tables and return the text, and the lines by label, of the figure."""

    def of(errors, rules):
        figure = draw(feeder_totals, errors, rules)
        panels = [axes for half in figure.subfigs for axes in half.axes]
        lines = [{line.get_label(): line.get_xydata() for line in axes.get_lines()} for axes in panels]
        return [artist.get_text() for artist in figure.findobj(Text)], lines

    return of


def test_a_line_per_epsilon_shows_the_relative_error_by_size_and_cells_show_shares(shown):
    errors = made_up.feeder_errors()
    words, panels = shown(errors, made_up.feeder_rules())
    at = errors[(errors["grouping"] == "random") & (errors["method"] == "sound")]
    for lines, window in zip(panels, ("days", "average_day"), strict=False):
        for epsilon in made_up.EPSILONS:
            expected = at[(at["window"] == window) & (at["epsilon"] == epsilon)]
            drawn = lines[f"proven totals, ε = {epsilon:g}"]
            assert drawn[:, 0].tolist() == expected["feeder_size"].tolist()
            assert drawn[:, 1] == pytest.approx(100 * expected["relative_rmse"])
    # Own ones right of the largest feeders, for the five epsilons and four other ways.
    alone = [xy for label, xy in panels[0].items() if label.startswith("_child") and len(xy) == 1]
    assert len(alone) == 9 and all(xy[0, 0] == 1000 for xy in alone)
    assert (
        "Laplace, hides one reading only, ε = 2" in panels[0]
        and "mean profile of all households, no privacy" in panels[0]
    )
    assert (
        "How far off is every half hour\nof 7 days?" in words
        and "15/15, over 7 days" in words
        and "100 households" in words
    )
    assert {"own", "own\n88", "<1", ">99", "100", "5\n3.8"} <= set(words)


def test_an_export_of_few_households_is_said_instead_of_drawn(shown):
    words, panels = shown(made_up.feeder_errors().iloc[:0], made_up.feeder_rules().iloc[:0])
    assert "there are too few households with readings for feeders of these sizes" in words and panels == []


def test_one_size_alone_is_drawn(shown):
    _, panels = shown(made_up.feeder_errors(sizes=(50,)), made_up.feeder_rules(sizes=(50,)))
    assert len(panels[0]["proven totals, ε = 1"]) == 1


@pytest.mark.parametrize(
    ("share", "words"), [(0.0, "0"), (1.0, "100"), (0.004, "<1"), (0.996, ">99"), (0.42, "42"), (0.985, "98")]
)
def test_none_and_all_are_written_only_where_they_are_true(share, words):
    assert _percent(share) == words
