"""A figure made smaller for a page: the same letters and coordinates, and names no other figure has."""

from __future__ import annotations

import doctest
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from meterdp.report import pages as module
from meterdp.report.pages import compact, picture
from meterdp.report.registry import figure_of

DRAWN = ("path", "use", "rect", "text")


def kind(element) -> str:
    return element.tag.rpartition("}")[2]


def paths_of(svg: str) -> list[np.ndarray]:
    """Coordinates of every path, in order."""
    found = [element.get("d", "") for element in ET.fromstring(svg).iter() if kind(element) == "path"]
    return [np.array(re.findall(r"-?\d*\.?\d+", d), dtype=float) for d in found]


def letters_of(svg: str) -> list[tuple[float, float]]:
    """Places of everything that is drawn by reference: letters and markers."""
    places = []
    for element in ET.fromstring(svg).iter():
        if kind(element) == "use":
            shift = re.match(r"translate\((\S+) (\S+)\)", element.get("transform", ""))
            x, y = shift.groups() if shift else (element.get("x", 0), element.get("y", 0))
            places.append((float(x), float(y)))
    return places


def test_the_example_in_the_docstring_holds():
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", ["load_over_period", "kl_curve", "marginal_densities", "fidelity"])
def test_a_compact_figure_draws_the_same(drawn, name):
    """Oracle: the figure as Matplotlib wrote it, read by the standard library."""
    svg = drawn[name].read_text(encoding="utf-8")
    small = compact(svg)
    assert len(small) < 0.75 * len(svg)
    kinds = [[kind(e) for e in ET.fromstring(text).iter() if kind(e) in DRAWN] for text in (svg, small)]
    assert kinds[0] == kinds[1]
    for before, after in zip(paths_of(svg), paths_of(small), strict=True):
        assert np.allclose(before, after, rtol=0, atol=0.0051)
    assert np.allclose(letters_of(svg), letters_of(small), rtol=0, atol=0.0051)
    names = {e.get("id") for e in ET.fromstring(small).iter()}
    assert set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', small)) and all(
        (a or b) in names for a, b in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', small)
    )


def test_a_scale_keeps_its_digits():
    """A letter of 10.5 points is scaled by 0.105: two places would make it five per cent smaller."""
    text = compact(
        '<svg><g transform="translate(70.738981 851.655402) scale(0.105 -0.105)"><use href="#a"/></g></svg>'
    )
    assert "translate(70.74 851.66) scale(.105 -.105)" in text


def test_two_figures_of_a_page_have_no_name_in_common(drawn):
    names = [set(re.findall(r' id="([^"]+)"', compact(path.read_text(encoding="utf-8")))) for path in drawn.values()]
    assert all(names) and sum(map(len, names)) == len(set().union(*names))


def test_a_picture_has_words_for_those_who_cannot_see_it_and_none_over_the_whole(drawn):
    shown = picture(drawn["kl_curve"], figure_of("kl_curve")).svg
    assert shown.startswith('<svg role="img" aria-label="Curves over epsilon, one per mechanism')
    titles = re.findall(r"(<[^<]*>)<title>", shown)
    assert titles and all(tag.startswith("<rect ") for tag in titles)
    assert "<style" not in shown and "http" not in shown
