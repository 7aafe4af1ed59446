"""``meterdp release verify``: whoever receives a folder sees whether it is what was released."""

import hashlib
import json
import shutil

import numpy as np
import pytest

from meterdp.__main__ import main
from meterdp.core.guarantee import STUDY_MODE
from meterdp.core.parquet import write_table
from meterdp.release.tables import RELEASED_PROFILES

GUARANTEE = "(1, 1e-05)-differential privacy for all readings of one listed meter"


def sealed(folder):
    """Write the manifest of what is in a folder."""
    declared = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir() if p.suffix != ".md"}
    declared.pop("manifest.json", None)
    privacy = {"hides": ["what one meter read"], "does_not_hide": ["who is on the list"]}
    told = {"population": "made-up town", "period": ["2025-01-01", "2025-01-28"], "simulated_data": True}
    words = {**told, "privacy": privacy, "public_parameters": {}, "sha256": declared}
    (folder / "manifest.json").write_text(json.dumps(words))


def declared(folder, name):
    """Declare another file, wherever it is."""
    (folder / name).write_text("mine")
    words = json.loads((folder / "manifest.json").read_text())
    words["sha256"][name] = hashlib.sha256(b"mine").hexdigest()
    (folder / "manifest.json").write_text(json.dumps(words))


def without(folder, key):
    """Take a key out of the manifest."""
    words = json.loads((folder / "manifest.json").read_text())
    del words[key]
    (folder / "manifest.json").write_text(json.dumps(words))


def profiles(folder, guarantee=GUARANTEE):
    columns = {"profile": np.arange(1, 4, dtype=np.int32), "energy_kwh": [np.ones(2)] * 3}
    write_table(folder / "synthetic_profiles.parquet", RELEASED_PROFILES, columns, {"guarantee": guarantee})


@pytest.fixture
def release(tmp_path):
    """The folder of all releases with one in it and an earlier one."""
    folder = tmp_path / "release/mixture"
    folder.mkdir(parents=True)
    profiles(folder)
    (folder / "mixture.json").write_text("{}")
    sealed(folder)
    (folder / "README.md").write_text("a page")
    shutil.copytree(folder, tmp_path / "release/earlier/mixture-1")
    return tmp_path / "release"


def said(capsys, folder):
    code = main(["release", "verify", str(folder)])
    told = capsys.readouterr()
    assert code == int(bool(told.err)) and told.err.count("\n") <= 1
    return told.out, told.err


def test_what_was_released_is_told_with_its_guarantee(release, capsys):
    out, err = said(capsys, release / "mixture")
    assert not err and "mixture: 2 declared files, all as the manifest says" in out
    assert f"\n  {GUARANTEE}\n" in out and "made-up town, 2025-01-01 to 2025-01-28, simulated" in out
    assert "  hides: what one meter read\n  does not hide: who is on the list\n" in out
    out, err = said(capsys, release)
    assert not err and out.count(GUARANTEE) == 2, "earlier ones, too"


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda folder: (folder / "mixture.json").write_text("{} "), "mixture.json: is missing or not what was"),
        (lambda folder: (folder / "mixture.json").unlink(), "mixture.json: is missing or not what was released"),
        (lambda folder: (folder / "meters.csv").write_text(""), "meters.csv: is not declared in the manifest"),
        (lambda folder: (folder / "link").symlink_to(folder), "link: is not declared in the manifest"),
        (lambda folder: (folder / "manifest.json").write_text("{}"), "has no manifest of a release"),
        (lambda folder: (folder / "manifest.json").unlink(), "mixture: has no manifest of a release"),
        (lambda folder: without(folder, "period"), "has no manifest of a release"),
        (lambda folder: without(folder, "privacy"), "has no manifest of a release"),
        (lambda folder: declared(folder, "../../notes.txt"), "has no manifest of a release"),
        # A study's file that somebody put there, manifest and all.
        (lambda folder: (profiles(folder, STUDY_MODE), sealed(folder)), "synthetic_profiles.parquet: is not for"),
    ],
)
def test_a_folder_that_differs_is_refused_in_one_sentence(release, capsys, spoil, sentence):
    spoil(release / "mixture")
    out, err = said(capsys, release / "mixture")
    assert sentence in err and "all as the manifest says" not in out


def test_a_file_beside_released_folders_is_refused(release, capsys):
    (release / "notes.txt").write_text("mine")
    assert "notes.txt: belongs to no released folder" in said(capsys, release)[1]


def test_neither_a_study_nor_nothing_is_a_release(tmp_path, capsys):
    profiles(tmp_path, STUDY_MODE)
    assert "synthetic_profiles.parquet: is not for release" in said(capsys, tmp_path)[1]
    assert "has no manifest of a release" in said(capsys, tmp_path / "nowhere")[1]


def test_no_word_of_a_manifest_reaches_the_terminal_as_a_command(release, capsys):
    words = json.loads((release / "mixture/manifest.json").read_text())
    words["population"] = "town\n\x1b[2Jall is well"
    words["privacy"]["hides"] = ["everything\r\x9b1A"]
    (release / "mixture/manifest.json").write_text(json.dumps(words))
    out, err = said(capsys, release / "mixture")
    assert not err and all(c.isprintable() or c == "\n" for c in out)
    assert "  of town\\n\\x1b[2Jall is well, 2025-01-01" in out and "  hides: everything\\r\\x9b1A\n" in out
