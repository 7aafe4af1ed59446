"""The hash of the source behind a rule."""

import meterdp.core.provenance as provenance
from meterdp.core.provenance import modules_behind, source_hash


def test_imports_are_followed_and_other_rooms_left_alone():
    behind = modules_behind("meterdp.profiles.quality")
    assert {
        "meterdp.profiles.quality",
        "meterdp.profiles.grid",
        "meterdp.core.parquet",
        "meterdp.exports.tables",
    } <= set(behind)
    assert not any(m.startswith(("meterdp.mechanisms", "meterdp.classnoise")) for m in behind)


def test_a_change_of_one_module_changes_what_imports_it_and_nothing_else(tmp_path, monkeypatch):
    package = tmp_path / "meterdp"
    for name, text in {
        "__init__": "",
        "a/__init__": "",
        "a/one": "from meterdp.b import two\n",
        "b/__init__": "",
        "b/two": "x = 1\n",
        "b/three": "y = 1\n",
    }.items():
        path = package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(provenance, "ROOT", package)
    provenance._imports.cache_clear()
    before = source_hash("meterdp.a.one"), source_hash("meterdp.b.three")
    (package / "b/two.py").write_text("x = 2\n")
    after = source_hash("meterdp.a.one"), source_hash("meterdp.b.three")
    provenance._imports.cache_clear()
    assert before[0] != after[0] and before[1] == after[1]
