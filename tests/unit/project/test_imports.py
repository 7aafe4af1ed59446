"""How modules of the packages import each other: in one direction only, so that each can be read before its users."""

import ast
import re

import pytest


def modules_of(package):
    """Return the file of every module below a folder, by its dotted name."""
    found = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(file, modules):
    """Yield what a module imports anywhere in it: lazily in a function, or for its annotations alone."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import, which this test does not follow"
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in modules else node.module for name in names if node.module in modules)


def circles(arrows):
    """Return the modules that reach themselves, each with the modules of its circle."""

    def reached(start):
        seen, ahead = set(), list(arrows[start])
        while ahead:
            if (one := ahead.pop()) not in seen:
                seen.add(one)
                ahead += arrows[one]
        return seen

    reach = {name: reached(name) for name in arrows}
    return {
        frozenset(other for other in reach[name] if name in reach[other]) for name in arrows if name in reach[name]
    }


@pytest.fixture(scope="module")
def arrows(repository):
    """Module -> what it imports, of both packages."""
    modules = modules_of(repository / "src/meterdp") | modules_of(repository / "src/meterdp_papers")
    return {name: set(imported(file, modules)) for name, file in modules.items()}


def test_packages_import_only_what_the_architecture_allows(repository, arrows):
    rules = re.compile(r"^\| `(\w+)` \|.*\| (.+) \|$", re.MULTILINE)
    text = (repository / "docs/architecture.md").read_text()
    allowed = {package: set(re.findall(r"\w+", words)) for package, words in rules.findall(text)}
    ground = {"core", "privacy", "errors"}
    packages = {p.name for p in (repository / "src/meterdp").iterdir() if p.is_dir()} - {"__pycache__"} - ground
    assert set(allowed) == packages
    reach = {package: allowed[package] | ground | {package} for package in packages}
    for _ in packages:  # what a package may import, it may import from there as well
        reach = {name: set().union(*(reach.get(r, set()) for r in known), known) for name, known in reach.items()}
    pairs = [(name, target) for name, found in arrows.items() for target in found if target.startswith("meterdp.")]
    wrong = []
    for name, target in pairs:
        package = name.removeprefix("meterdp.").split(".")[0]
        if name.startswith("meterdp.") and package in reach and target.split(".")[1] not in reach[package]:
            wrong.append(f"{name} imports {target}")
    assert pairs and wrong == []


def test_nothing_of_the_product_imports_a_reproduction(arrows):
    def of_a_paper(module):
        return module.split(".")[0] == "meterdp_papers"

    upwards = {name: {m for m in found if of_a_paper(m)} for name, found in arrows.items() if not of_a_paper(name)}
    assert {name: found for name, found in upwards.items() if found} == {}
    assert any(of_a_paper(name) and not all(map(of_a_paper, found)) for name, found in arrows.items())


def test_no_script_and_no_rule_of_the_product_imports_a_reproduction(repository):
    files = [p for kind in ("scripts", "rules") for p in (repository / "workflow" / kind).rglob("*.*")]
    naming = {p for p in files if p.suffix in (".py", ".smk") and "meterdp_papers" in p.read_text()}
    assert naming and {p for p in naming if p.parent.name != "papers"} == set()


def test_no_module_imports_itself_by_way_of_others(arrows):
    assert len(arrows) > 200 and sum(map(len, arrows.values())) > len(arrows)
    assert [sorted(circle) for circle in circles(arrows)] == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("from town.second import Load", "import town.first"),
        ("from town import second", "def peak():\n    from town.first import load"),
        (
            "import town.second",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from town.first import Load",
        ),
    ],
)
def test_a_circle_is_found_wherever_the_import_stands(tmp_path, first, second):
    package = tmp_path / "town"
    package.mkdir()
    for name, text in {"__init__": "", "first": first, "second": second, "third": "import town.first"}.items():
        (package / f"{name}.py").write_text(text)
    modules = modules_of(package)
    arrows = {name: set(imported(file, modules)) for name, file in modules.items()}
    assert circles(arrows) == {frozenset({"town.first", "town.second"})}


# What makes noise that may leave, and a source of entropy or samplers that could; -> the modules that may name it.
RELEASE_NOISE = {
    "SafeNoise": {"privacy.release"},
    "discrete_gaussian": {"privacy.noise"},
    "opendp": {"privacy.noise"},
}


def names_of(file):
    """Return every name that a module uses, imports or reaches as an attribute."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {part for alias in node.names for part in alias.name.split(".")}
            found |= set((getattr(node, "module", None) or "").split("."))
    return found


def test_release_noise_is_made_in_one_place(repository):
    modules = modules_of(repository / "src/meterdp")
    names = {module.removeprefix("meterdp."): names_of(file) for module, file in modules.items()}
    for name, allowed in RELEASE_NOISE.items():
        found = {module for module, known in names.items() if name in known}
        assert found == allowed, name
    for script in [*(repository / "workflow").rglob("*.py"), *(repository / "workflow").rglob("*.smk")]:
        assert not any(name in script.read_text() for name in RELEASE_NOISE), script


def test_the_kernel_imports_nothing_above_it(repository):
    """Errors are all that it takes from the rest of the package."""
    modules = modules_of(repository / "src/meterdp")
    found = {target for name, file in modules.items() if ".privacy." in name for target in imported(file, modules)}
    assert {name for name in found if not name.startswith("meterdp.privacy")} == {"meterdp.errors"}


def test_what_is_published_is_made_without_noise(arrows):
    """Files and manifests know nothing of mechanisms, sources of noise and ledgers; releases know them.

    Of the kernel they know what is claimed, what follows from what was charged, and how periods are written.
    """
    found = {target for name, targets in arrows.items() if name.startswith("meterdp.publish") for target in targets}
    known = {f"meterdp.privacy.{name}" for name in ("guarantee", "charge", "periods")}
    assert {name for name in found if name.startswith("meterdp.privacy")} == known
    assert not any(name.startswith(("meterdp.release", "meterdp.mechanisms", "meterdp.core.noise")) for name in found)
