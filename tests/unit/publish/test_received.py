"""``meterdp release verify``: whoever receives a folder sees whether it is what was released."""

import copy
import hashlib
import json
import os
import shutil

import numpy as np
import pytest
import yaml

from meterdp.__main__ import main
from meterdp.core.parquet import write_table
from meterdp.errors import InputError
from meterdp.privacy.guarantee import STUDY_MODE
from meterdp.publish.received import read_manifest
from meterdp.publish.tables import RELEASED_PROFILES

GUARANTEE = "(1, 1e-05)-differential privacy for all readings of one listed meter"


def sealed(folder):
    """Write the manifest of what is in a folder."""
    declared = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir() if p.suffix != ".md"}
    for name in ("manifest.json", "ro-crate-metadata.json", "registry_entry.yaml"):
        declared.pop(name, None)
    privacy = {
        "hides": ["what one meter read"],
        "does_not_hide": ["who is on the list"],
        "adjacency": "replace_one",
        "epsilon": 1,
        "delta": 1e-5,
    }
    told = {"population": "made-up town", "period": ["2025-01-01", "2025-01-28"], "simulated_data": True}
    words = {**told, "privacy": privacy, "public_parameters": {}, "sha256": declared}
    (folder / "manifest.json").write_text(json.dumps(words))


def rewritten(folder, change):
    """Change the manifest of a folder."""
    words = json.loads((folder / "manifest.json").read_text())
    change(words)
    (folder / "manifest.json").write_text(json.dumps(words))


def declared(folder, name):
    """Declare another file, wherever it is."""
    (folder / name).write_text("mine")
    digest = hashlib.sha256(b"mine").hexdigest()
    rewritten(folder, lambda words: words["sha256"].update({name: digest}))


def stated(folder, **changed):
    """State something else in the manifest."""
    rewritten(folder, lambda words: words["privacy"].update(changed))


def without(folder, key):
    rewritten(folder, lambda words: words.pop(key))


def put(folder, name, text):
    """Write another file and declare it, with a manifest that goes with all there is."""
    (folder / name).write_text(text)
    sealed(folder)


def nothing_declared(folder):
    for path in folder.iterdir():
        path.unlink()
    sealed(folder)


def linked(path):
    """Put a link to the same contents outside in the place of a file."""
    outside = path.parent.parent.parent / path.name
    path.rename(outside)
    path.symlink_to(outside)


def piped(path):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def sparse(path):
    path.unlink()
    with open(path, "wb") as file:
        file.truncate(2**40)


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
    assert not err and out.startswith("Verified: ") and "mixture, 2 files are as they were released\n" in out
    assert f"\n  {GUARANTEE}\n" in out and "made-up town, readings of 2025-01-01 to 2025-01-28, simulated" in out
    assert "  without a checksum: manifest.json, README.md\n" in out, "an earlier version wrote no RO-Crate"
    assert out.endswith("whoever changes a file can change manifest.json and ro-crate-metadata.json with it.\n")
    out, err = said(capsys, release)
    assert not err and out.count(GUARANTEE) == 2, "earlier ones, too"


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda folder: (folder / "mixture.json").write_text("{} "), "mixture.json: is missing, or is not what was"),
        (lambda folder: (folder / "mixture.json").unlink(), "mixture.json: is missing, or is not what was released"),
        (lambda folder: (folder / "meters.csv").write_text(""), "meters.csv: is not declared in the manifest"),
        (lambda folder: (folder / "link").symlink_to(folder), "link: is not declared in the manifest"),
        (lambda folder: (folder / "manifest.json").write_text("{}"), "has no manifest of a release"),
        (lambda folder: (folder / "manifest.json").unlink(), "mixture: has no manifest of a release"),
        (lambda folder: without(folder, "period"), "has no manifest of a release"),
        (lambda folder: without(folder, "privacy"), "has no manifest of a release"),
        (lambda folder: declared(folder, "../../notes.txt"), "notes.txt: is declared, but no release holds such a"),
        (lambda folder: put(folder, "readings.csv", "meter_id,kwh\nm1,0.3\n"), "readings.csv: is declared, but no"),
        (lambda folder: put(folder, "feeders.csv", "meter_id,kwh\nm1,0.3\n"), "feeders.csv: has columns that no"),
        (lambda folder: nothing_declared(folder), "manifest.json: declares no Parquet file"),
        (lambda folder: (folder / "empty").mkdir(), "empty: is not declared in the manifest"),
        (lambda folder: linked(folder / "mixture.json"), "mixture.json: is not a regular file"),
        (lambda folder: linked(folder / "manifest.json"), "manifest.json: is not a regular file"),
        (lambda folder: linked(folder / "README.md"), "README.md: is not a regular file"),
        (lambda folder: piped(folder / "manifest.json"), "manifest.json: is not a regular file"),
        (lambda folder: piped(folder / "mixture.json"), "mixture.json: is not a regular file"),
        (lambda folder: (piped(folder / "a.parquet"), without(folder, "period")), "a.parquet: is not a regular file"),
        (lambda folder: sparse(folder / "manifest.json"), "manifest.json: is larger than any such file"),
        (lambda folder: sparse(folder / "mixture.json"), "mixture.json: is larger than any such file"),
        (lambda folder: (folder / "manifest.json").write_text("[" * 10**5), "has no manifest of a release"),
        (lambda folder: stated(folder, epsilon=10**400), "has no manifest of a release"),
        (lambda folder: stated(folder, epsilon=float("nan")), "has no manifest of a release"),
        (lambda folder: put(folder, "synthetic_profiles.parquet", "PAR1"), "profiles.parquet: is not a readable"),
        (lambda folder: (folder / "\x1b[2J").write_text(""), "\\x1b[2J: is not declared"),
        (
            lambda folder: (folder / "registry_entry.yaml").write_bytes(b"a: \0"),
            "registry_entry.yaml: cannot be read",
        ),
        (lambda folder: (folder / "README.md").write_bytes(b"\xff"), "README.md: cannot be read"),
        (lambda folder: put(folder, "mixture.json", "[" * 10**5), "mixture.json: cannot be read"),
        # A study's file that somebody put there, manifest and all.
        (lambda folder: (profiles(folder, STUDY_MODE), sealed(folder)), "synthetic_profiles.parquet: is not for"),
    ],
)
def test_a_folder_that_differs_is_refused_in_one_sentence(release, capsys, spoil, sentence):
    spoil(release / "mixture")
    out, err = said(capsys, release / "mixture")
    assert sentence in err and "Verified" not in out


def test_a_device_is_no_manifest(release, capsys):
    (release / "mixture/manifest.json").unlink()
    (release / "mixture/manifest.json").symlink_to("/dev/zero")
    assert "manifest.json: is not a regular file" in said(capsys, release / "mixture")[1]
    assert "manifest.json: is not a regular file" in said(capsys, release)[1]


def test_a_folder_that_leads_outside_is_no_part_of_a_release(release, tmp_path, capsys):
    (release / "mixture").rename(tmp_path / "elsewhere")
    (release / "mixture").symlink_to(tmp_path / "elsewhere")
    assert "mixture: belongs to no released folder" in said(capsys, release)[1]


PAGE = "with epsilon 1 and delta 1e-05: had any one meter's readings been others"
CRATE = {"@graph": [{"description": "Released with epsilon 1 and delta 1e-05 (replace_one) for a meter."}]}
ENTRY = {"deployment": {"privacy_loss": {"privacy_parameters": {"epsilon": 1, "delta": 1e-05}}}}


def states_all(folder):
    """State the guarantee in every place that can."""
    (folder / "README.md").write_text(PAGE)
    (folder / "ro-crate-metadata.json").write_text(json.dumps(CRATE))
    (folder / "registry_entry.yaml").write_text(yaml.safe_dump(ENTRY))


def entry(key, value):
    words = copy.deepcopy(ENTRY)
    words["deployment"]["privacy_loss"]["privacy_parameters"][key] = value
    return yaml.safe_dump(words)


@pytest.mark.parametrize(
    ("spoil", "file"),
    [
        (lambda folder: stated(folder, epsilon=0.1), "synthetic_profiles.parquet"),
        (lambda folder: stated(folder, delta=1e-9), "synthetic_profiles.parquet"),
        (lambda folder: stated(folder, adjacency="class_label"), "synthetic_profiles.parquet"),
        (lambda folder: (profiles(folder, GUARANTEE.replace("(1,", "(8,")), sealed(folder)), "profiles.parquet"),
        (lambda folder: (profiles(folder, "private"), sealed(folder)), "synthetic_profiles.parquet"),
        (lambda folder: put(folder, "mixture.json", '{"epsilon": 8, "delta": 1e-05}'), "mixture.json"),
        (
            lambda folder: put(folder, "mixture.json", f'{{"guarantee": "{GUARANTEE.replace("1,", "2,")}"}}'),
            "mixture.json",
        ),
        (lambda folder: (folder / "README.md").write_text(PAGE.replace("epsilon 1", "epsilon\n0.5")), "README.md"),
        (lambda folder: (folder / "README.md").write_text("(epsilon, delta) = (2, 1e-05)"), "README.md"),
        (lambda folder: (folder / "registry_entry.yaml").write_text(entry("epsilon", 2)), "registry_entry.yaml"),
        (lambda folder: (folder / "registry_entry.yaml").write_text(entry("delta", 1e-6)), "registry_entry.yaml"),
        (
            lambda folder: (folder / "ro-crate-metadata.json").write_text(
                json.dumps(CRATE).replace("epsilon 1", "epsilon 3")
            ),
            "ro-crate-metadata.json",
        ),
    ],
)
def test_all_places_state_the_same_guarantee(release, capsys, spoil, file):
    states_all(release / "mixture")
    sealed(release / "mixture")
    out, err = said(capsys, release / "mixture")
    assert not err and "Verified" in out
    spoil(release / "mixture")
    out, err = said(capsys, release / "mixture")
    assert f"{file}: states a different guarantee from manifest.json" in err and not out


def crated(folder, **changed):
    """Write an RO-Crate with the checksums of all that is there, or others."""
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()} | changed
    graph = [{"@id": "./"}, *({"@id": name, "sha256": digest} for name, digest in digests.items())]
    (folder / "ro-crate-metadata.json").write_text(json.dumps({"@graph": graph}))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("README.md", PAGE),
        ("index.html", PAGE),
        ("custodian.html", PAGE),
        ("dcat.jsonld", json.dumps(CRATE)),
        ("croissant.json", json.dumps(CRATE)),
        ("registry_entry.yaml", yaml.safe_dump(ENTRY)),
        ("manifest.json", None),
    ],
)
def test_what_the_checksums_of_a_crate_cover_is_checked(release, capsys, file, text):
    folder = release / "mixture"
    if text is not None:
        (folder / file).write_text(text)
    crated(folder)
    out, err = said(capsys, folder)
    assert not err and f"{4 + (file not in ('README.md', 'manifest.json'))} files are as they were" in out
    assert "without a checksum" not in out
    (folder / file).write_text((folder / file).read_text() + " \n")
    out, err = said(capsys, folder)
    assert f"{file}: does not have the checksum in ro-crate-metadata.json" in err and not out


def test_a_page_that_was_taken_out_is_named_and_a_crate_that_names_no_page_opens_nothing(release, capsys):
    folder = release / "mixture"
    (folder / "custodian.html").write_text(PAGE)
    crated(folder, **{"../../../etc/passwd": "0"})
    (folder / "custodian.html").unlink()
    out, err = said(capsys, folder)
    assert not err and "  listed in ro-crate-metadata.json, but not there: custodian.html\n" in out
    for graph in ([3], 3, [{"sha256": "0", "@id": []}]):
        (folder / "ro-crate-metadata.json").write_text(json.dumps({"@graph": graph}))
        assert "ro-crate-metadata.json: cannot be read" in said(capsys, folder)[1]


def test_a_file_beside_released_folders_is_refused(release, capsys):
    (release / "notes.txt").write_text("mine")
    assert "notes.txt: belongs to no released folder" in said(capsys, release)[1]


def test_neither_a_study_nor_nothing_is_a_release(tmp_path, capsys):
    profiles(tmp_path, STUDY_MODE)
    assert "synthetic_profiles.parquet: is not for release" in said(capsys, tmp_path)[1]
    assert "has no manifest of a release" in said(capsys, tmp_path / "nowhere")[1]


def test_what_is_expected_of_a_release_is_said_once(release, capsys):
    stated = {"in_words": "expected to be off by: energy 22 %; shape 24 %. As planned"}  # words: keep
    rewritten(release / "mixture", lambda words: words.update(expected_error=stated))
    assert "  expected error: energy 22 %;\n    shape 24 %\n" in said(capsys, release / "mixture")[0]


def test_the_folder_of_all_releases_is_refused_with_the_names_of_those_in_it(release):
    with pytest.raises(InputError, match=r"name one of the releases in it: .*mixture"):
        read_manifest(release)


def test_no_word_of_a_manifest_reaches_the_terminal_as_a_command(release, capsys):
    rewritten(release / "mixture", lambda words: words.update(population="town\n\x1b[2Jall is well"))
    words = {"in_words": "all\r\x9b1A", "contradicted": "\x1b[1m"}  # words: keep
    rewritten(release / "mixture", lambda manifest: manifest.update(expected_error=words))
    out, err = said(capsys, release / "mixture")
    assert not err and all(c.isprintable() or c == "\n" for c in out)
    assert "  town\\n\\x1b[2Jall is well, readings of 2025-01-01" in out
    assert "error: all\\r\\x9b1A\n  \\x1b[1m.\n" in out
