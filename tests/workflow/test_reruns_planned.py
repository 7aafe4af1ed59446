"""What a finished study runs again: what its source, settings and inputs reach, and nothing else."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import meterdp.core.provenance as provenance
from meterdp.core.provenance import modules_behind, source_hash
from tests.conftest import config_of
from tests.warm import warm_python
from tests.workflow.conftest import ROOT, Planner

FOLDER = ROOT / "workflow/scripts"
# By name as code_of() takes it.
SCRIPTS = {p.relative_to(FOLDER).with_suffix("").as_posix(): p for p in sorted(FOLDER.rglob("*.py"))}
CONFIG = {
    "shards": 1,
    "trials": 1,
    "simulate": {"households": 90, "days": 19},
    "mechanisms": {"variants": ["kl_published", "sound"], "epsilons": [1, 4]},
    "class_noise": {"rhos": [0.45]},
}


def rules():
    """Rule that writes something -> (its script, the script whose source it carries), from the rule files."""
    found = {}
    for path in sorted((ROOT / "workflow").rglob("*.smk")):
        for block in re.split(r"^(?=rule )", path.read_text(), flags=re.MULTILINE)[1:]:
            if "\n    output:\n" not in block:
                continue
            script = re.search(r'^    script:\s+"(?:\.\./)+scripts/([\w/]+)\.py"', block, re.MULTILINE)
            code = re.search(r'^        code=code_of\("([\w/]+)"\),', block, re.MULTILINE)
            found[re.match(r"rule (\w+)", block)[1]] = (script and script[1], code and code[1])
    return found


def test_every_rule_carries_the_source_of_its_own_script():
    assert len(rules()) > 30
    assert {rule: pair for rule, pair in rules().items() if pair[0] is None or pair[0] != pair[1]} == {}
    assert {script for script, _ in rules().values()} == set(SCRIPTS)


_IMPORT_ALL = """
import ast, builtins, importlib, json, sys
from collections import defaultdict
from pathlib import Path
src, scripts = Path(sys.argv[1]), map(Path, sys.argv[2:])
packages = [path.name for path in src.iterdir() if (path / "__init__.py").exists()]
names = {p: ".".join(p.relative_to(src).with_suffix("").parts).removesuffix(".__init__") for p in src.rglob("*.py")}
for name in names.values():
    importlib.import_module(name)

loaded, plain_import = defaultdict(set), builtins.__import__
def watched(name, globals=None, locals=None, fromlist=(), level=0):
    found = plain_import(name, globals, locals, fromlist, level)
    importer, names = str((globals or {}).get("__name__")), {name, *(f"{name}.{part}" for part in fromlist or ())}
    loaded[importer] |= names & set(sys.modules)
    return found

builtins.__import__ = watched
for path, name in [*names.items(), *((script, f"script {i}") for i, script in enumerate(scripts))]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            exec(compile(ast.Module([node], []), path, "exec"), {"__name__": name})
builtins.__import__ = plain_import
ours = {name: sorted(m for m in found if m.split(".")[0] in packages) for name, found in loaded.items()}
print(json.dumps(ours))
"""


@pytest.fixture(scope="module")
def reached():
    """Script -> modules of the packages that are loaded when all its imports are made, and all of theirs.

    Oracle: Python's own import, watched while it executes every import statement of every file.
    """
    command = [warm_python(), "-c", _IMPORT_ALL, str(ROOT / "src"), *map(str, SCRIPTS.values())]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, stdout=subprocess.PIPE, text=True, check=True
    )
    direct = json.loads(done.stdout)

    def closure(script):
        todo, seen = {script}, set()
        while todo:
            seen |= todo
            packages = {".".join(m.split(".")[:n]) for m in todo for n in range(1, m.count(".") + 1)}
            todo = packages.union(*(direct.get(m, ()) for m in todo)) - seen
        return seen - {script}

    return {name: closure(f"script {i}") for i, name in enumerate(SCRIPTS)}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the workflow and its source that a test may change."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("src", "workflow", "resources"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def source_file(checkout, module):
    base = checkout.joinpath("src", *module.split("."))
    alone = base.with_suffix(".py")  # beside which a branch may have left an empty folder
    return alone if alone.exists() else base / "__init__.py"


def test_the_hash_of_a_script_changes_with_the_modules_python_loads_for_it_and_with_no_other(
    reached, checkout, monkeypatch
):
    """Oracle: Python's own imports. Files that are not changed are read once, since reading all takes most time."""
    monkeypatch.setattr(provenance, "ROOT", checkout / "src")
    remembered = (provenance._file, provenance._imports, provenance._digest, modules_behind)
    for function in remembered:
        function.cache_clear()
    digest_of, digests, opened = provenance._digest.__wrapped__, {}, []
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: opened.append(path) or read(path))
    monkeypatch.setattr(provenance, "_digest", lambda module: digests[module])
    for module in (modules := sorted(set().union(*reached.values()))):
        opened.clear()
        digests[module] = digest_of(module)
        path = source_file(checkout, module)
        assert opened[0] == path and all(p.parent == path.parent and p.suffix != ".py" for p in opened[1:]), module

    def hashes():
        return {name: source_hash(path) for name, path in SCRIPTS.items()}

    before = hashes()
    for module in modules:
        path, digest = source_file(checkout, module), digests[module]
        text = path.read_text()
        path.write_text(text + "\n# changed\n")
        digests[module] = digest_of(module)
        after = hashes()
        path.write_text(text)
        assert digest_of(module) == digest
        digests[module] = digest
        changed = {script for script in before if after[script] != before[script]}
        assert changed == {script for script in before if module in reached[script]}, module
    assert hashes() == before
    for function in remembered:
        function.cache_clear()


def downstream(graph, rules):
    """Add to some rules all that read what they write; ``graph`` is what --rulegraph prints."""
    name = dict(re.findall(r'(\d+)\[label = "(\w+)"', graph))
    edges = [(name[a], name[b]) for a, b in re.findall(r"(\d+) -> (\d+)", graph)]
    grown = set(rules)
    while more := {b for a, b in edges if a in grown} - grown:
        grown |= more
    return grown


@pytest.fixture(scope="module")
def finished(checkout, tmp_path_factory):
    """A planner whose study is finished, as far as Snakemake can see."""
    planner = Planner(tmp_path_factory.mktemp("finished"), checkout)
    planner.pretend_finished(CONFIG)
    return planner


@pytest.fixture(scope="module")
def graph(finished):
    """Which rule's output another reads, as Snakemake draws it."""
    return finished.snakemake(CONFIG, "--rulegraph", "--forceall")


@pytest.mark.parametrize("module", ["meterdp.mechanisms.proven.plan", "meterdp.report.style"])
def test_a_changed_module_plans_the_rules_that_reach_it_and_what_follows(finished, graph, reached, module):
    known = set(re.findall(r'label = "(\w+)"', graph))
    path = source_file(finished.checkout, module)
    text = path.read_text()
    path.write_text(text + "\n# changed\n")
    plan = set(finished.plan(CONFIG))
    path.write_text(text)
    touched = {rule for rule, (script, _) in rules().items() if script and module in reached[script]} & known
    assert touched and plan == downstream(graph, touched) and plan < known


def backwards(value):
    """The same settings with the keys of every section in the opposite order."""
    if isinstance(value, dict):
        return {key: backwards(value[key]) for key in reversed(value)}
    return value


def test_the_order_of_keys_and_spelt_out_defaults_are_no_reason_to_run(finished):
    filled = config_of(CONFIG)
    assert finished.plan(backwards(filled)) == []
    something = finished.plan(CONFIG | {"mixture": {"classes": 2}})
    assert "fit_mixture" in something and "ingest" not in something


def test_a_federation_reruns_the_fit_and_its_rest_counts_only_with_circuits(finished, graph):
    page = {"write_config", "report", "study"}
    assert set(finished.plan(CONFIG | {"federation": {"colluding": 3, "scheme": "secure_sum"}})) <= page
    plan = set(finished.plan(CONFIG | {"federation": "circuit"}))
    assert plan == downstream(graph, {"fit_mixture"}) | {"federate_mixture"} | page


def test_another_way_to_federate_reruns_the_fit_over_circuits(checkout, tmp_path):
    planner = Planner(tmp_path, checkout)
    planner.pretend_finished(CONFIG | {"federation": "circuit"})
    assert planner.plan(CONFIG | {"federation": {"by": "circuit"}}) == []
    plan = planner.plan(CONFIG | {"federation": {"by": "circuit", "scheme": "federated"}})
    assert "federate_mixture" in plan and "vary_mixture" in plan and "ingest" not in plan
    assert "is neither 'complete' nor 'ring' nor a file; give the path" in planner.snakemake(
        CONFIG | {"federation": {"by": "circuit", "graph": "lines.csv"}}, "--dry-run"
    )


def test_the_same_export_named_in_another_way_is_no_reason_to_run(tmp_path):
    """From ``make study EXPORT=x RESULTS=y`` to the same in a file, and to absolute paths."""
    planner = Planner(tmp_path)
    (tmp_path / "export.csv").touch()
    planner.pretend_finished(
        CONFIG, "--config", 'export={"path": "export.csv", "time_zone": "UTC"}', "results_dir=mine"
    )
    for folder in (".", tmp_path):
        assert (
            planner.plan(
                CONFIG
                | {"export": {"path": f"{folder}/export.csv", "time_zone": "UTC"}, "results_dir": f"{folder}/mine"}
            )
            == []
        )
    assert "ingest" in planner.plan(
        CONFIG | {"export": {"path": "export.csv", "time_zone": "UTC", "unit": "Wh"}, "results_dir": "mine"}
    )


def test_another_or_changed_file_in_the_folder_of_an_export_is_read_and_none_is_named(tmp_path):
    planner, folder = Planner(tmp_path), tmp_path / "delivery"
    (folder / "march").mkdir(parents=True)
    for name in ("SECRET1.csv", "march/SECRET2.csv"):
        (folder / name).write_text("interval_start,kwh\n")
    config = CONFIG | {"export": {"path": "delivery", "time_zone": "UTC", "meter_column": None}}
    planner.pretend_finished(config)
    assert planner.plan(config) == []
    read, changed = (folder / "march/SECRET2.csv").stat(), "interval_start,kwh\n2020-01-01 00:00,1\n"
    (folder / "march/SECRET2.csv").write_text(changed)
    assert "ingest" in planner.plan(config)
    (folder / "march/SECRET2.csv").write_text("interval_start,kwh\n")
    os.utime(folder / "march/SECRET2.csv", ns=(read.st_atime_ns, read.st_mtime_ns))
    (folder / "march/SECRET3.csv").write_text("interval_start,kwh\n")
    said = planner.snakemake(config, "--dry-run", "--verbose", "--printshellcmds")
    assert re.search(r"^Job \d+: Reading the export$", said, re.MULTILINE) and "SECRET" not in said
    kept = [path for path in (tmp_path / ".snakemake").rglob("*") if path.is_file()]
    assert kept and not any("SECRET" in str(path) or b"SECRET" in path.read_bytes() for path in kept)


def test_a_plan_imports_nothing_heavy():
    lines = [line for path in ROOT.glob("workflow/rules/**/*.smk") for line in path.read_text().splitlines()]
    imports = "\n".join(line for line in lines if line.startswith("from meterdp"))
    program = f"{imports}\nimport sys\nprint(*{{m.split('.')[0] for m in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, stdout=subprocess.PIPE,
        text=True, check=True,
    )  # fmt: skip
    heavy = {"pandas", "scipy", "sklearn", "numba", "matplotlib", "cvxpy", "statsmodels"}
    assert not heavy & set(done.stdout.split())
