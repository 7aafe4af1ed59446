"""The site leads nowhere that is not there, asks nobody outside for anything, and shows what was registered."""

import csv
import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import meterdp
from meterdp.report.registry import FIGURES
from meterdp_papers.errata import PAPERS as DEFECTS
from meterdp_papers.registry import PAPERS, catalogue
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
    return pages_of(site)


def pages_of(site):
    return {path.resolve(): Page(path) for path in site.rglob("*.html")}


def shown_text(site, name):
    return " ".join("".join(Page(site / name).text).split())


def dead_links(site, pages):
    """Links to files or anchors that are not there, or not below the site; those to the outside are only read."""
    dead = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if parts.scheme in ("http", "https"):
                fits = re.fullmatch(r"[\w.-]+\.\w+", parts.netloc)
            else:
                fits = not parts.scheme and target.is_file() and target.is_relative_to(site.resolve())
                fits = fits and (not anchor or target not in pages or anchor in pages[target].ids)
            if not fits:
                dead.append(link)
    return dead


def loads_from_outside(site, pages):
    """What pages, styles and scripts of the site name as something to be loaded from elsewhere."""
    outside = [link for page in pages.values() for link in page.loads if urlsplit(link).netloc]
    for path in (path for kind in ("css", "js", "html", "svg") for path in site.rglob(f"*.{kind}")):
        outside += LOADED.findall(path.read_text(encoding="utf-8"))
    return outside


def test_no_link_is_dead(site, pages):
    assert len(pages) > 40 and sum(len(page.links) for page in pages.values()) > 1000
    assert dead_links(site, pages) == []


def test_nothing_is_loaded_from_outside(site, pages):
    assert loads_from_outside(site, pages) == []


@pytest.fixture
def spoilt(tmp_path):
    """A site of one page that does all it should not."""
    (tmp_path / "page.html").write_text(
        """<!doctype html><title>Spoilt</title><link rel="stylesheet" href="style.css"><h1 id="top">Top</h1>
        <a href="#top">fine</a><a href="#no">1</a><a href="no.html">2</a><a href="page.html#no">3</a>
        <a href="..">4</a>
        <a href="https:///x">5</a><a href="https://example.invalid/x">fine</a><p style="width: 3000px">wide</p>
        <img src="no.svg">
        <script>fetch("https://example.invalid/y").catch(() => 0); throw new Error("spoilt")</script>"""
    )
    (tmp_path / "style.css").write_text(
        "@import '//example.invalid/z'; p { background: url(https://example.invalid/p.png) }"
    )
    return tmp_path


def test_dead_links_and_outside_loads_are_seen(spoilt):
    assert dead_links(spoilt, pages_of(spoilt)) == ["#no", "no.html", "page.html#no", "..", "https:///x", "no.svg"]
    assert len(loads_from_outside(spoilt, pages_of(spoilt))) == 3


def test_chromium_sees_a_spoilt_page(spoilt):
    (facts,) = inspect_pages([spoilt / "page.html"], 400)
    assert facts.scrolls_sideways and facts.image_widths == [0]
    assert any("Uncaught" in error for error in facts.errors)
    assert any(address.startswith("https://example.invalid/") for address in facts.requests)


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


def test_the_gallery_shows_every_figure_with_its_caption(site, repository):
    text = shown_text(site, "docs/gallery.html")
    figures = [*FIGURES, *(figure for paper in PAPERS.values() for figure in paper.figures)]
    assert [figure.name for figure in figures if " ".join(figure.look_for.split()) not in text] == []
    committed = {path.name for path in (repository / "docs/pictures").glob("*.svg")}
    drawn = {path.name for path in (site / "_images").glob("*.svg")} - committed
    assert text.count("A title & *stars*.") == len(figures) == len(drawn)


def test_figures_of_a_real_export_are_shown_only_on_request(written, tmp_path):
    gallery = written("gallery").gallery
    results = results_with_every_figure(tmp_path, synthetic="no")
    assert "```{figure}" not in gallery(results) and "is of a real export" in gallery(results)
    assert gallery(results, real_too=True).count("```{figure}") > 20


def test_a_study_of_which_one_table_does_not_say_what_its_homes_are_is_not_shown(written, tmp_path):
    results = results_with_every_figure(tmp_path)
    pq.write_table(pa.table({"n": [1]}), tmp_path / "study/silent.parquet")
    study, papers = written("gallery").gallery(results).split("## The papers")
    assert "```{figure}" not in study and "is of a real export" in study and "```{figure}" in papers


def test_figures_whose_tables_are_gone_or_that_no_version_draws_are_not_shown(written, tmp_path):
    gallery, results = written("gallery").gallery, results_with_every_figure(tmp_path)
    count = gallery(results).count("```{figure}")
    (results / "study/figures/drawn_long_ago.svg").write_text((results / "study/figures/kl_curve.svg").read_text())
    assert gallery(results).count("```{figure}") == count > 20
    for table in results.rglob("*.parquet"):
        table.unlink()
    assert "```{figure}" not in gallery(results)


def test_without_results_the_gallery_says_so(written, tmp_path):
    text = written("gallery").gallery(tmp_path)
    assert "No finished study was there" in text and "No reproduction was there" in text


def test_every_table_defect_and_measured_number_is_shown(site, pages, repository):
    ids = {name: pages[(site / f"docs/{name}.html").resolve()].ids for name in ("tables", "errata")}
    assert {f"{t.name}-{t.audience}".replace("_", "-") for t in catalogue().values()} <= ids["tables"]
    assert {defect.id.lower() for defects in DEFECTS.values() for defect in defects} <= ids["errata"]
    text = shown_text(site, "docs/variants_measured.html") + shown_text(site, "docs/errata.html")
    for path in (repository / "docs/measured").glob("*.csv"):
        _, *rows = csv.reader(path.read_text().splitlines())
        numbers = [cell for row in rows for cell in row if re.match(r"[\d.]", cell)]
        assert rows and [number for number in numbers if number not in text] == [], path.name


def test_a_claim_whose_verdict_would_mislead_alone_names_its_defect(written):
    shown = written("measured").variants("verdicts")
    assert shown.count("but see") == 2 and shown.count("li-3, but see [D5](errata.md#d5) |") == 1


def test_the_help_of_every_command_is_shown(site, written):
    text = shown_text(site, "docs/reference/command.html")
    commands = [" ".join(("meterdp", *command)) for command in written("command_help").commands()]
    assert "meterdp check" in commands and all(f"usage: {command} " in text for command in commands)


def test_every_public_name_is_in_the_reference(site, pages):
    names = [name for name in getattr(meterdp, "__all__", ()) if not name.startswith("__")]
    assert {f"meterdp.{name}" for name in names} <= pages[(site / "docs/reference/python.html").resolve()].ids
