"""The site leads nowhere that is not there, asks nobody outside for anything, and shows what was registered."""

import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import meterdp
from meterdp.figures.registry import FIGURES
from meterdp.papers.registry import PAPERS
from tests.chromium import inspect_pages
from tests.unit.docs.conftest import results_with_every_figure

LOADED = re.compile(
    r"""(?:url\(|@import|\bfetch\(|\bimport\(|\.open\([^,]*,|\.src\s*=)\s*["']?(?:https?:)?//[\w.]+"""
)
LOADING_TAGS = {"script", "img", "iframe", "source", "video", "audio", "embed", "object", "input"}


class Page(HTMLParser):
    """Ids of a page, where its links lead, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads, self.text = set(), [], [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids.update(value for key, value in attrs if key in ("id", "name") and value)
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif tag == "link":
            self.loads.append(found["href"])
        elif tag in LOADING_TAGS:
            self.loads += [found[key] for key in ("src", "data") if found.get(key)]
            self.loads += [part.split()[0] for part in (found.get("srcset") or "").split(",") if part.strip()]

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def pages(site):
    """Every page of the site by its path."""
    return {path.resolve(): Page(path) for path in site.rglob("*.html")}


def shown_text(site, name):
    return " ".join("".join(Page(site / name).text).split())


def test_no_link_is_dead(site, pages):
    dead = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https"):
                assert re.fullmatch(r"[\w.-]+\.\w+", parts.netloc), link
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            fits = target.is_file() and target.is_relative_to(site.resolve()) and parts.scheme in ("", "mailto")
            if not fits or (anchor and target in pages and anchor not in pages[target].ids):
                dead.append(f"{path.name}: {link}")
    assert len(pages) > 40 and sum(len(page.links) for page in pages.values()) > 1000
    assert dead == []


def test_nothing_is_loaded_from_outside(site, pages):
    outside = [link for page in pages.values() for link in page.loads if urlsplit(link).netloc]
    for path in (path for kind in ("css", "js", "html", "svg") for path in site.rglob(f"*.{kind}")):
        outside += [f"{path.name}: {found}" for found in LOADED.findall(path.read_text(encoding="utf-8"))]
    assert outside == []


def test_what_would_be_loaded_from_outside_is_seen():
    for text in (
        'a{b:url("https://x.y/f")}',
        "@import '//x.y/z'",
        "fetch('http://x.y')",
        'a.src = "https://x.y/i.js"',
    ):
        assert LOADED.search(text)


def test_the_first_page_leads_to_the_landing_page(site):
    assert 'url=docs/index.html"' in (site / "index.html").read_text()


@pytest.mark.parametrize("width", [400, 1200])
def test_chromium_shows_pages_without_error_network_or_sideways_scrolling(site, width):
    names = ["docs/index", "docs/tutorial", "docs/gallery", "docs/tables", "config/README", "docs/reference/command"]
    for name, facts in zip(names, inspect_pages([site / f"{name}.html" for name in names], width), strict=True):
        assert facts.errors == [] and not facts.scrolls_sideways, name
        assert all(address.startswith(("file:", "data:")) for address in facts.requests), name
        assert all(facts.image_widths), name
        assert (len(facts.image_widths) > 20) == (name == "docs/gallery")


def test_the_gallery_shows_every_figure_with_its_caption(site):
    text = shown_text(site, "docs/gallery.html")
    figures = [*FIGURES, *(figure for paper in PAPERS.values() for figure in paper.figures)]
    assert [figure.name for figure in figures if " ".join(figure.look_for.split()) not in text] == []
    assert text.count("A title & *stars*.") == len(figures) == len(list((site / "_images").glob("*.svg")))


def test_figures_of_a_real_export_are_shown_only_if_told(written, tmp_path):
    gallery = written("gallery").gallery
    results = results_with_every_figure(tmp_path, synthetic="no")
    assert "```{figure}" not in gallery(results) and "is of a real export" in gallery(results)
    assert gallery(results, real_too=True).count("```{figure}") > 20


def test_a_study_of_which_one_table_does_not_say_what_its_homes_are_is_not_shown(written, tmp_path):
    results = results_with_every_figure(tmp_path)
    pq.write_table(pa.table({"n": [1]}), tmp_path / "study/silent.parquet")
    study, papers = written("gallery").gallery(results).split("## The papers")
    assert "```{figure}" not in study and "is of a real export" in study and "```{figure}" in papers


def test_without_results_the_gallery_says_so(written, tmp_path):
    text = written("gallery").gallery(tmp_path)
    assert "No finished study was there" in text and "No reproduction was there" in text


def test_the_help_of_every_command_is_shown(site, written):
    text = shown_text(site, "docs/reference/command.html")
    words = [" ".join(("meterdp", *words)) for words in written("command_help").commands()]
    assert "meterdp check" in words and all(f"usage: {word} " in text for word in words)


def test_every_public_name_is_in_the_reference(site, pages):
    names = [name for name in getattr(meterdp, "__all__", ()) if not name.startswith("__")]
    assert {f"meterdp.{name}" for name in names} <= pages[(site / "docs/reference/python.html").resolve()].ids
