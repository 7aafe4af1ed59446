"""The hash of the source behind a script."""

import pytest

import meterdp.core.provenance as provenance
from meterdp.core.provenance import modules_behind, source_hash


def test_imports_are_followed_and_other_packages_left_alone(repository):
    behind = modules_behind(repository / "workflow/scripts/profile_shard.py")
    assert {"meterdp.profiles.quality", "meterdp.profiles.grid", "meterdp.core.parquet", "meterdp"} <= set(behind)
    assert not any(m.startswith(("meterdp.mechanisms", "meterdp.class_noise")) for m in behind)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two subpackages, another package beside it, and two scripts."""
    for name, text in {
        "meterdp/__init__": "",
        "meterdp/a/__init__": "",
        "meterdp/a/one": "def late():\n    from meterdp.b import two\n",
        "meterdp/b/__init__": "",
        "meterdp/b/two": "x = 1\n",
        "meterdp/b/three": "y = 1\n",
        "meterdp_more/__init__": "from meterdp.b import three\n",
        "first": "from meterdp.a.one import late\n",
        "second": "from meterdp_more import three\n",
    }.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    forget()
    yield tmp_path
    forget()


def forget():
    for remembered in (provenance._file, provenance._imports, provenance._digest, modules_behind):
        remembered.cache_clear()


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("meterdp/b/two.py", [True, False]),
        ("meterdp/b/three.py", [False, True]),
        ("meterdp/b/__init__.py", [True, True]),
        ("meterdp/b/page.html", [True, True]),
        ("meterdp/a/one.py", [True, False]),
        ("meterdp_more/__init__.py", [False, True]),
        ("meterdp_more/page.css", [False, True]),
    ],
)
def test_a_change_changes_the_hash_of_scripts_that_reach_it_and_of_no_other(package, file, changed):
    scripts = [package / "first.py", package / "second.py"]
    before = [source_hash(script) for script in scripts]
    (package / file).write_text("x = 2\n")
    forget()
    assert [source_hash(script) != old for script, old in zip(scripts, before, strict=True)] == changed
