"""Documentation that is written from the source stays in step with it."""

import ast
import re

RULES = re.compile(r"^\| `(\w+)` \|.*\| (.+) \|$", re.MULTILINE)


def test_rooms_import_only_what_the_architecture_allows(repository):
    text = (repository / "docs/architecture.md").read_text()
    allowed = {room: set(re.findall(r"\w+", words)) for room, words in RULES.findall(text)}
    ground = {"core", "privacy", "errors"}
    rooms = {p.name for p in (repository / "src/meterdp").iterdir() if p.is_dir()} - {"__pycache__"} - ground
    assert set(allowed) == rooms
    reach = {room: allowed[room] | ground | {room} for room in rooms}
    for _ in rooms:  # what a room may import, it may import from there as well
        reach = {room: set().union(*(reach.get(r, set()) for r in known), known) for room, known in reach.items()}
    wrong = []
    for path in sorted((repository / "src/meterdp").rglob("*.py")):
        room = path.relative_to(repository / "src/meterdp").parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("meterdp."):
                target = node.module.split(".")[1]
                if room in reach and target not in reach[room]:
                    wrong.append(f"{path.relative_to(repository)} imports {target}")
    assert not wrong, "\n".join(wrong)


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
