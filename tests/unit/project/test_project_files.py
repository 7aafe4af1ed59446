"""What stands beside the source: citation, changelog, hooks, the catalogue's page, the container recipe."""

import ast
import csv
import os
import re
import runpy
import sys
import tomllib
from importlib import import_module
from importlib.metadata import packages_distributions

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import meterdp

# Of the Citation File Format 1.2.0: what a reference of these types must have, and may have here.
PERSON = {"family-names", "given-names"}
WHERE = {"journal", "collection-title", "volume", "start", "end", "doi", "url"}
DOI = r"10\.\d{4,9}/[A-Za-z0-9:/_;\-.()\[\]\\]+"


@pytest.fixture(scope="module")
def project(repository):
    return tomllib.loads((repository / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def citation(repository):
    return yaml.safe_load((repository / "CITATION.cff").read_text())


def test_one_version_and_one_licence_are_named_everywhere(repository, project, citation):
    assert "version" in project["dynamic"] and citation["version"] == meterdp.__version__
    assert re.search(rf"^## \[{re.escape(meterdp.__version__)}\]", (repository / "CHANGELOG.md").read_text(), re.M)
    assert project["license"] == citation["license"] == "BSD-3-Clause"
    assert (repository / "LICENSE").read_text().startswith("BSD 3-Clause License")
    assert project["authors"] == citation["authors"] == [{"name": "meterdp contributors"}]


def test_every_package_that_the_source_imports_is_a_dependency(repository, project):
    """Of the package or of an extra for its users; developers have more, so nothing else would tell."""
    found = set()
    for path in (path for folder in ("src", "workflow") for path in (repository / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.partition(".")[0])
    installed_by = packages_distributions()
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["study"], *extras["federated"]]
    declared = {canonicalize_name(Requirement(line).name) for line in lines}
    foreign = found - set(sys.stdlib_module_names) - {"meterdp", "meterdp_papers"}
    assert {"numpy", "opendp", "sklearn"} <= foreign
    assert {name for name in foreign if not declared & {*map(canonicalize_name, installed_by[name])}} == set()


def test_one_address_is_named_everywhere_and_called_a_placeholder(repository, project, citation):
    home = project["urls"]["Homepage"]
    assert citation["repository-code"] == home
    assert all(url.startswith(home) for url in project["urls"].values())
    words = " ".join((repository / "CONTRIBUTING.md").read_text().split())
    assert f"`{home}`" in words and "**placeholder**" in words
    assert f'github("{home.removeprefix("https://github.com/")}"' in (repository / "docs/module.md").read_text()


def test_the_citation_is_in_the_format_and_names_the_four_papers(repository, citation):
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert {"message", "title", "authors"} <= set(citation)
    papers = {path.name for path in (repository / "src/meterdp_papers").iterdir() if path.is_dir()}
    first = {reference["authors"][0]["family-names"].lower() for reference in citation["references"]}
    assert first == papers - {"common", "__pycache__"} and len(citation["references"]) == len(first)
    for reference in citation["references"]:
        assert set(reference) - WHERE == {"type", "title", "authors", "year"}
        assert reference["type"] in ("article", "conference-paper") and 2000 < reference["year"] < 2100
        assert all(set(author) == PERSON for author in reference["authors"])
        assert re.fullmatch(DOI, reference.get("doi", "10.1000/none"))
        assert reference.get("url", "https://").startswith("https://")


def test_a_reference_made_of_the_citation_has_a_year_and_claims_no_release(repository, citation):
    """GitHub takes all of it from preferred-citation, if there is one, and the year from nothing but its year."""
    preferred = citation["preferred-citation"]
    same = ("type", "title", "authors", "license", "repository-code")
    assert {name: preferred[name] for name in same} == {name: citation[name] for name in same}
    assert set(preferred) == {*same, "year", "notes"} and 2026 <= preferred["year"] < 2100
    unreleased = "unreleased" in (repository / "CHANGELOG.md").read_text()
    assert unreleased == ("date-released" not in citation) == ("not released" in preferred["notes"])


def test_a_paper_is_of_the_same_year_everywhere(repository, citation):
    entries = (repository / "paper/paper.bib").read_text()
    for reference in citation["references"]:
        name, year = reference["authors"][0]["family-names"], reference["year"]
        claims = import_module(f"meterdp_papers.{name.lower()}.scorecard").CLAIMS
        assert claims.paper == f"{name} et al. {year}"
        assert re.search(rf"\{{{name.lower()}{year},.*?year = \{{{year}\}}", entries, re.DOTALL)


def test_sections_of_the_changelog_are_those_of_keep_a_changelog(repository):
    text = (repository / "CHANGELOG.md").read_text()
    assert re.findall(r"^## (.*)$", text, re.M)[0] == f"[{meterdp.__version__}] - unreleased"
    sections = set(re.findall(r"^### (.*)$", text, re.M))
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_hooks_before_a_commit_are_what_make_lint_runs(repository):
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (repository / "Makefile").read_text(), re.M)[1]
    hooks = yaml.safe_load((repository / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    linted = re.findall(r"\$\(BIN\)/((?:ruff|snakefmt)(?: [a-z-]+)*)", recipe)
    assert len(hooks) == 3 and sorted(hook["entry"] for hook in hooks) == sorted(linted)


def test_the_workflow_is_as_the_catalogue_wants_it(repository):
    """https://snakemake.github.io/snakemake-workflow-catalog: what is asked of workflows in standardised usage."""
    assert (repository / "workflow/Snakefile").is_file() and (repository / "config/README.md").is_file()
    readme = (repository / "README.md").read_text().lower()
    assert "snakemake" in readme and "workflow" in readme
    usage = yaml.safe_load((repository / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert set(usage["mandatory-flags"]) == {"desc", "flags"}
    rules = [path.read_text() for path in (repository / "workflow/rules").rglob("*.smk")]
    scripts, environments = (sum(text.count(f"    {word}:\n") for text in rules) for word in ("script", "conda"))
    assert usage["software-stack-deployment"]["conda"] is (scripts == environments > 0)
    assert usage["report"] is True and "\nreport:" in (repository / "workflow/Snakefile").read_text()


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for(repository, project):
    text = (repository / "conda/recipe.yaml").read_text()
    recipe = yaml.safe_load(text)
    assert recipe["context"]["version"] == meterdp.__version__ and "Placeholders" in text
    assert recipe["requirements"]["run"] == ["python >=${{ python_min }}", *project["dependencies"]]
    assert (
        recipe["source"]["url"].startswith(project["urls"]["Homepage"])
        and recipe["about"]["license"] == project["license"]
    )
    (command,) = recipe["build"]["python"]["entry_points"]
    assert command == "meterdp = " + project["scripts"]["meterdp"]


def test_a_public_forge_runs_what_every_ci_runs(repository):
    workflow = yaml.safe_load((repository / ".github/workflows/ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    supported = {f"Programming Language :: Python :: {version}" for version in job["strategy"]["matrix"]["python"]}
    declared = set(tomllib.loads((repository / "pyproject.toml").read_text())["project"]["classifiers"])
    assert supported <= declared and os.access(repository / ".ci/run", os.X_OK)


def test_the_paper_cites_what_its_bibliography_has_and_calls_placeholders_so(repository):
    paper, entries = ((repository / f"paper/paper.{kind}").read_text() for kind in ("md", "bib"))
    cited = set(re.findall(r"@(\w+)", paper))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", entries, re.MULTILINE))
    assert {"# Summary", "# Statement of need", "# State of the field", "# References"} <= set(paper.splitlines())
    assert 750 <= len(paper.split("# Summary")[1].split()) <= 1750, "what JOSS asks for"
    assert "Placeholder" in paper


def _claims(cell):
    """Return the claims that a cell names, such as liu-8, ram-2 to ram-5."""
    found = re.findall(r"(\w+)-(\d+)(?: to \1-(\d+))?", cell)
    return {f"{paper}-{n}" for paper, first, last in found for n in range(int(first), int(last or first) + 1)}


def test_the_paper_claims_what_the_documents_measured(repository):
    """Oracles: the committed verdicts, the variants, the picture of the comparison and its table."""
    variants = (repository / "docs/variants.md").read_text()
    paper = " ".join((repository / "paper/paper.md").read_text().split())
    with (repository / "docs/measured/verdicts.csv").open() as lines:
        verdicts = list(csv.DictReader(lines))
    claims = {row["claim"] for row in verdicts}
    always_open = claims - {row["claim"] for row in verdicts if row["holds"] != "open"}
    # Of those that the simulated export leaves open, variants.md names what can be judged on real homes instead.
    homes = re.findall(r"^\| (?:AMI|100 households).* \(private\) .*$", variants, re.MULTILINE)
    left_open, instead = (" ".join(row.split(" | ")[at] for row in homes) for at in (2, 3))
    never, on_real = _claims(left_open), _claims(re.sub("ram-6.*", "", instead))
    assert never | on_real == always_open and not never & on_real and len(homes) == 2
    assert all(f"**{claim}" in variants or f", {claim}** on" in variants for claim in on_real)
    assert f"It judges {len(claims)} claims under every reading of the text. For nine the papers used homes" in paper
    assert len(always_open) == 9 and (len(never), len(on_real)) == (5, 4)
    assert ": five cannot be judged, and four are judged on Swiss homes alone." in paper
    assert all("(a stand-in)" in row["data"] for row in verdicts if row["claim"] in always_open)
    peers = (repository / "docs/peers.md").read_text()
    better, tried = re.search(r"^\| meterdp \| (\d+) of (\d+) better, \2 \(100 %\)", peers, re.MULTILINE).groups()
    cells = re.findall(r"<!-- (.*) homes?\b.*, d = ", (repository / "docs/pictures/peers.svg").read_text())
    level = re.findall(r"^\| (\w+) homes?\b.* level \|$", peers, re.MULTILINE)
    assert f"dpmm in {better} of the {tried} comparisons" in paper and "in the other three;" in paper
    assert f"in {len(cells)} cells" in paper
    fixed = re.search(rf"^\| meterdp, replace one \| (\d+) of {tried} better", peers, re.MULTILINE)[1]
    no_worse = re.search(rf"replace one \| {fixed} of {tried} better, (\d+) ", peers)[1]
    assert f"with a fixed number of records, in {fixed}, and in one by more than two standard errors." in paper
    assert int(tried) - int(no_worse) == 1
    assert len(cells) * 8 == int(tried) and len(level) == int(tried) - int(better) == 3
    held_out = 8 * cells.count("Australian")
    assert f"it was better in {held_out - level.count('Australian')} of {held_out}." in paper
    assert held_out / int(tried) == pytest.approx(1 / 3, abs=0.03), "the other two thirds chose constants"


def test_the_container_is_made_of_files_that_are_there_and_of_the_lock(repository):
    text = re.sub(r"\\\n\s*", "", (repository / "Containerfile").read_text())
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    assert steps[0][0] == "FROM"
    copied = [words.split() for step, words in steps if step == "COPY"]
    sources = {name for words in copied if not words[0].startswith("--") for name in words[:-1]}
    assert sources and all((repository / name).exists() for name in sources)
    # What is not copied stays out of the builder's sight, and what is gets there.
    ignored = (repository / ".dockerignore").read_text().splitlines()
    shown = {line[1:] for line in ignored if line.startswith("!")}
    assert "*" in ignored and {name.partition("/")[0] for name in sources} == shown
    installed = [words for _, words in steps if "pip install" in words]
    commands = [command for words in installed for command in words.split("&&") if "pip install" in command]
    for command in commands:
        locked = re.search(r"--require-hashes -r (requirements[\w/]*\.txt)", command)
        assert (locked and locked[1] in sources) or "--no-deps --no-build-isolation ." in command, command
    users = [words for step, words in steps if step == "USER"]
    assert users and users[-1] not in ("root", "0") and steps[-2][0] == "ENTRYPOINT"
    # Without a mounted folder there is no /study, so no ledger is lost with a container.
    assert '"--directory", "/study", "--cores"' in steps[-2][1] and "mkdir" not in text and "VOLUME" not in text


def test_every_rule_says_what_it_does_and_leaves_a_log_and_a_benchmark(repository):
    """In the words of a user, without a value of a record: wildcards are shards, figures and names of settings."""
    rules = [
        text
        for path in (repository / "workflow/rules").rglob("*.smk")
        for text in path.read_text().split("\nrule ")[1:]
    ]
    scripted = [text for text in rules if "    script:\n" in text]
    messages = [re.findall(r'^    message:\n        "([A-Z][^"]+)"$', text, re.MULTILINE) for text in scripted]
    assert len(scripted) > 60 and all(len(found) == 1 for found in messages)
    assert len({found[0] for found in messages}) == len(messages), "no two say the same"
    assert all("\n    log:\n" in text and "\n    benchmark:\n" in text for text in scripted)


def test_adapters_stay_thin(repository):
    thick = [p for p in (repository / "workflow/scripts").rglob("*.py") if len(p.read_text().splitlines()) > 40]
    assert thick == []


def test_documents_name_files_that_exist(repository):
    folders = ("src", "tests", "tools", "benchmarks", "workflow")
    there = [f"/{p.relative_to(repository)}" for f in folders for p in (repository / f).rglob("*.py")]
    wrong = []
    for page in [*repository.glob("*.md"), *repository.glob("docs/**/*.md"), *repository.glob("config/*.md")]:
        for name in re.findall(r"[\w./-]*\w\.py\b", page.read_text()):
            if not any(path.endswith(f"/{name}") for path in there):
                wrong.append(f"{page.relative_to(repository)}: {name}")
    assert wrong == []


def test_every_mutant_of_the_tests_still_fits_the_source(repository, monkeypatch):
    """`tools/mutants.py` takes long, so nobody would soon notice that a snippet has changed."""
    monkeypatch.setitem(sys.modules, "mutants", type(sys)("mutants"))  # where its dataclass looks for annotations
    mutants = runpy.run_path(str(repository / "tools/mutants.py"), run_name="mutants")["MUTANTS"]
    assert len(mutants) > 100
    for mutant in mutants:
        source = (repository / mutant.file).read_text()
        assert source.count(mutant.snippet) == 1, mutant.name
        if mutant.file.endswith(".py"):
            ast.parse(source.replace(mutant.snippet, mutant.broken), mutant.name)
        for file, _, name in (test.partition("::") for test in mutant.tests.split()):
            assert (repository / file).exists(), mutant.name
            assert not name or f"def {name.partition('[')[0]}(" in (repository / file).read_text(), mutant.name
