"""The Markdown pages as they lie on disk: links resolve on a git host, commands exist, numbers are those computed."""

import math
import re
import subprocess
from statistics import NormalDist

import numpy as np
import pytest
from markdown_it import MarkdownIt

from meterdp.__main__ import main
from meterdp.core.parquet import write_table
from meterdp.federated.study import ITERATIONS, entries_of, solvable_households
from meterdp.ingest.meter_list import read_meter_list
from meterdp.pages.numbers import bound
from meterdp.privacy.gaussian import mu_for
from meterdp.profiles.tables import PROFILES
from meterdp.publish.kinds import KINDS
from tests.warm import warm_python

MARKDOWN = MarkdownIt("commonmark").enable("table")
ROW = re.compile(r"^\| ([\d.]+) \| ([\d.]+) \| ([\d.]+ %) \| ([\d.]+ %) \| (\d+) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def pages(repository):
    """The parsed blocks of every page of the documentation."""
    paths = [*repository.glob("*.md"), repository / "config/README.md", *repository.glob("docs/**/*.md")]
    return {path: MARKDOWN.parse(path.read_text()) for path in paths}


def anchors(blocks):
    """Names a git host gives to headings."""
    after = [blocks[n + 1].content for n, block in enumerate(blocks) if block.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in after}


def links(blocks):
    for block in blocks:
        for token in block.children or ():
            if token.type in ("link_open", "image"):
                yield token.attrs.get("href") or token.attrs.get("src")


def dead_links(pages):
    """Relative links to files, folders or headings that are not there; those to the outside are only read.

    Headings that the site writes are looked for in the built site (test_site.py).
    """
    dead = []
    for path, blocks in pages.items():
        for link in links(blocks):
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            outside = re.match(r"https?://[\w.-]+\.\w+(/|$)|mailto:", link)
            written = target in pages and any("written by the site" in block.content for block in pages[target])
            if not outside and (
                not target.exists() or (anchor and not written and anchor not in anchors(pages[target]))
            ):
                dead.append(link)
    return dead


def test_links_resolve_on_a_git_host(pages):
    assert sum(len(list(links(blocks))) for blocks in pages.values()) > 200
    assert dead_links(pages) == []


def test_dead_links_are_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b` c!\n\n[1](#a-b-c) [2](#b) [3](no.md) [4](page.md#a-b-c) [5](https://example.org/x) [6](https:/x)"
    )
    assert dead_links({page: MARKDOWN.parse(page.read_text())}) == ["#b", "no.md", "https:/x"]


def test_commands_in_pages_exist(repository, pages, written):
    known = {" ".join(words) for words in written("command_help").commands()}
    groups = {command.split()[0] for command in known if " " in command}
    targets = set(re.findall(r"^([a-z-]+):", (repository / "Makefile").read_text(), re.MULTILINE))
    wrong, seen = [], set()
    for path, blocks in pages.items():
        code = [block.content for block in blocks if block.type == "fence"]
        code += [token.content for block in blocks for token in block.children or () if token.type == "code_inline"]
        for command in re.findall(r"^(meterdp [a-z]+(?: [a-z]+)?|make [a-z-]+)", "\n".join(code), re.MULTILINE):
            program, first, *second = command.split()
            seen.add(command)
            name = f"{first} {second[0]}" if second and first in groups else first
            if name not in (known if program == "meterdp" else targets):
                wrong.append(f"{path.relative_to(repository)}: {command}")
    assert {"meterdp check", "meterdp ledger show", "make study"} <= {" ".join(c.split()[:3]) for c in seen}
    assert wrong == []


def test_what_an_epsilon_means_is_computed(repository):
    rows = ROW.findall((repository / "docs/howto/board.md").read_text())
    assert len(rows) == 6
    for epsilon, factor, certainty, by_noise, releases in rows:
        value = float(epsilon)
        assert factor == f"{math.exp(value):.2f}"
        assert certainty == bound((math.exp(value) + 1e-5) / (math.exp(value) + 1))
        assert by_noise == bound(NormalDist().cdf(mu_for(value, 1e-5) / 2))
        assert int(releases) == math.floor((mu_for(4, 1e-5) / mu_for(value, 1e-5)) ** 2 + 1e-9)


def test_what_sums_of_circuits_give_away_is_computed(repository):
    text = (repository / "docs/distributed.md").read_text()
    page = " ".join(text.split())
    entries, households = entries_of(6, 24), solvable_households(24, 6, ITERATIONS)
    assert f"{entries:,} with the default K = 6 and d = 24" in page
    assert f"{households:,} households after the {ITERATIONS} iterations" in page
    rows = re.findall(
        r"^\| .+ \| (\d+) \| × ([\d.]+) \|$", (repository / "docs/distributed.md").read_text(), re.MULTILINE
    )
    assert len(rows) == 5
    assert all(float(noise) == pytest.approx(math.sqrt(12 / int(h)), abs=0.005) for h, noise in rows)


@pytest.fixture
def code_of_exports(repository):
    return re.findall(r"^```python\n(.*?)^```$", (repository / "docs/howto/export.md").read_text(), re.M | re.S)


def test_a_column_per_meter_becomes_a_row_per_reading(code_of_exports, tmp_path):
    code, *_ = code_of_exports
    wide = 'time,007,8\n2020-01-01 00:00,1.50,\n2020-01-01 00:15,"2,5",3\n'
    (tmp_path / "wide.csv").write_text(wide)
    subprocess.run([warm_python(), "-c", code], cwd=tmp_path, check=True)
    assert (tmp_path / "long.csv").read_text().splitlines() == [
        "interval_start,meter_id,kwh",
        "2020-01-01 00:00,007,1.50",
        '2020-01-01 00:15,007,"2,5"',
        "2020-01-01 00:00,8,",
        "2020-01-01 00:15,8,3",
    ]


def test_rows_of_two_registers_become_net_load(code_of_exports, tmp_path):
    _, code, *_ = code_of_exports
    rows = [f"007,2020-01-01 00:{at},{of}" for at, of in (("00", "IMP,1.5"), ("00", "EXP,0.25"), ("30", "EXP,2"))]
    rows += ["007,2020-01-01 00:30,IMP,0.1", "007,2020-01-01 01:00,IMP,4", "8,2020-01-01 00:00,IMP,3"]

    def done():
        (tmp_path / "registers.csv").write_text("\n".join(["meter_id,interval_start,register,kwh", *rows]))
        return subprocess.run([warm_python(), "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done().returncode == 0
    assert (tmp_path / "net.csv").read_text().splitlines() == [
        "meter_id,interval_start,kwh",
        "007,2020-01-01 00:00,1.25",
        "007,2020-01-01 00:30,-1.9",
        "007,2020-01-01 01:00,",
        "8,2020-01-01 00:00,3.0",
    ]
    rows.append(rows[0])
    assert "a reading comes twice" in done().stderr


def test_registers_become_energy_but_for_gaps_and_exchanges(code_of_exports, tmp_path):
    """One home repeats rows, lacks one and has its meter exchanged."""
    *_, code, _ = code_of_exports
    of_a = [("00:00", 7.0), ("00:15", 7.5), ("00:15", 7.5), ("00:30", 7.625), ("01:00", 9.0), ("01:15", 9.25)]
    of_b = [("01:30", 0.0), ("01:45", 0.5), ("02:00", 0.25)]
    # The hour from 1:00 comes twice.
    autumn = [("00:45", 1.0), ("01:00", 2.0), ("01:15", 4.0), ("01:30", 7.0), ("01:45", 8.0)]
    autumn += [("01:00", 9.0), ("01:15", 9.5)]
    rows = [f"007,{of},2025-07-01 {at},{kwh}" for of, own in (("A", of_a), ("B", of_b)) for at, kwh in own]
    rows += [f"08,C,2025-10-26 {at},{kwh}" for at, kwh in autumn]
    (tmp_path / "registers.csv").write_text("\n".join(["meter_id,serial_no,read_at,register_kwh", *rows]))
    subprocess.run([warm_python(), "-c", code], cwd=tmp_path, check=True)
    expected = [("007", "07-01 00:15", 0.5), ("007", "07-01 00:30", 0.125), ("007", "07-01 01:15", 0.25)]
    expected += [("007", "07-01 01:45", 0.5)]
    steps = (("01:00", 1.0), ("01:15", 2.0), ("01:30", 3.0), ("01:45", 1.0), ("01:15", 0.5))
    expected += [("08", f"10-26 {at}", kwh) for at, kwh in steps]
    assert (tmp_path / "intervals.csv").read_text().splitlines() == [
        "meter_id,read_at,kwh",
        *(f"{meter},2025-{at},{kwh}" for meter, at, kwh in expected),
    ]


def test_accounts_of_meters_become_a_list_of_service_points(code_of_exports, tmp_path):
    *_, code = code_of_exports
    rows = ["meter_no,service_point,rate_class,feeder", "007,01,R,F1", "008,02,R,F1", "009,01,R,F1"]

    def done():
        (tmp_path / "accounts.csv").write_text("\n".join(rows))
        return subprocess.run([warm_python(), "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done().returncode == 0
    found = read_meter_list(tmp_path / "meters.csv")
    assert found.meter_ids == ["01", "02"] and set(found.said_of) == {"rate_class", "feeder"}
    rows.append("010,02,SC,F1")
    assert "a service point has two rate classes" in done().stderr


def test_the_comparison_runs_and_the_class_is_far_from_the_release_as_the_page_says(repository, tmp_path):
    """Its table is what its code prints, up to rounding; records of an export are those of a study."""
    for name in ("benchmarks", "resources"):
        (tmp_path / name).symlink_to(repository / name)
    rows = {"household": range(3), "valid": [True, False, True], "log_kwh": [np.full(24, h, float) for h in range(3)]}
    (tmp_path / "results/private").mkdir(parents=True)
    write_table(tmp_path / "results/private/profiles.parquet", PROFILES, rows)
    page = (repository / "docs/howto/compare.md").read_text()
    code = [*re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S), "print(sorted(homes.sum(axis=1)) == [0, 48])"]
    words = [warm_python(), "-c", "".join(code)]
    done = subprocess.run(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    printed, shown = (
        {name: [float(n) for n in row.split()] for name, row in re.findall(r"^([a-z_0-9]+) +([-\d. ]+)$", text, re.M)}
        for text in (done.stdout, page)
    )
    assert len(shown) == 8 and printed.keys() == shown.keys()
    assert all(printed[name] == pytest.approx(row, abs=0.02, rel=0.02) for name, row in shown.items())
    release, of_class, _, real = shown["heldout_loglik_nats"]
    assert release > of_class + 20 and abs(release - real) < 1
    assert done.stdout.endswith("\nTrue\n")


def test_every_release_by_snakemake_is_of_a_configuration_and_its_targets_follow_two_dashes(pages):
    """Without a configuration nobody's homes are released; without dashes Snakemake takes targets for files."""
    commands = [command for path in pages for command in re.findall(r"snakemake --cores [^`\n]*", path.read_text())]
    released = [command for command in commands if re.search(r"\brelease\b", command)]
    assert released and all(re.search(r"--configfile \S+ -- ", command) for command in released), released


def test_a_board_hears_of_every_kind_of_release(repository):
    named = {"mixture": "typical profiles", "households": "simulated households", "forecasts": "forecasts"}
    named |= {"feeders": "totals of feeders"}
    assert set(named) == set(KINDS)
    words = " ".join((repository / "docs/howto/board.md").read_text().split())
    assert all(name in words for name in named.values())


def test_sizes_from_which_on_a_release_is_useful_are_those_of_the_plan(repository, capsys):
    assert main(["plan", "1409", "--epsilon", "1", "--what", "mixture", "households", "feeders"]) == 0
    out = capsys.readouterr().out
    mixture, households = re.findall(r"(\d+) or more listed meters", out)
    feeders = re.search(r"to tell feeders apart .* (\d+) or more meters per feeder", out)[1]
    readme, library = (" ".join((repository / name).read_text().split()) for name in ("README.md", "docs/library.md"))
    assert f"at ε = 1 a released mixture needs about {mixture} meters (the Python class more), households" in readme
    assert f"households over a year {households} " in readme
    assert f"and feeders {feeders} each to tell them apart" in readme
    assert f"useful from about {mixture} meters" in library
