"""What a user names on the command line of make reaches programs as it is, and nothing in it is run."""

import os
import subprocess
from itertools import takewhile

import pytest
import yaml

# Writes down how many words it was given, its name and the words.
STUB = r"""#!/bin/sh
printf '%s\0' "$#" "$0" "$@" >> calls
case "$1" in *setting.py) echo results ;; esac
"""
# None of them may make a file called p.
HOSTILE = [
    "a; touch p",
    "`touch p`",
    "$(touch p)",
    "$(shell touch p)",
    "$$(touch p)",
    "a' ; touch p ; '",
    'a"; touch p; "',
    'a\\", \\"x\\": "$(touch p)',
    "$(if x,'; touch p #)",
    "a && touch p #",
    "my export, of 'March' (\"last\").csv",
    "{a: b}",
    "2025",
]


@pytest.fixture
def folder(repository, tmp_path):
    """A folder with the Makefile and an environment of stubs, which write down how they were called."""
    (tmp_path / "Makefile").write_bytes((repository / "Makefile").read_bytes())
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    for name in ("python", "snakemake", "meterdp"):
        (programs / name).write_text(STUB)
        (programs / name).chmod(0o700)
    (tmp_path / "requirements").mkdir()
    for name in ("requirements.txt", "requirements/uv.txt", "pyproject.toml", "setup.py", ".venv/.installed"):
        (tmp_path / name).touch()
    return tmp_path


def calls(folder, goal, *given, environment=()):
    command = ["make", goal, *given]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | dict(environment), capture_output=True, text=True, timeout=60
    )
    words = iter((folder / "calls").read_text().split("\0")[:-1])
    made = [[next(words) for _ in range(int(count) + 1)] for count in words]
    (folder / "calls").unlink()
    return done, made


def settings(call):
    """What --config of a call of Snakemake says, as Snakemake reads it."""
    if "--config" not in call:
        return {}
    entries = takewhile(lambda word: not word.startswith("--"), call[call.index("--config") + 1 :])
    return {key: yaml.load(text, yaml.BaseLoader) for key, text in (entry.split("=", 1) for entry in entries)}


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("by", ["words", "environment"])
def test_nothing_a_user_names_is_run(folder, hostile, by):
    given = {"EXPORT": hostile, "CONFIG": hostile, "RESULTS": hostile}
    words = [f"{name}={value}" for name, value in given.items()] if by == "words" else []
    for goal in ("study", "check", "release", "report"):
        done, made = calls(folder, goal, *words, environment=given if by == "environment" else ())
        assert done.returncode == 0, done.stderr
        assert not (folder / "p").exists()
        snakemake = [call for call in made if call[0].endswith("snakemake")]
        assert bool(snakemake) == (goal != "check")
        for call in snakemake:
            assert f"--configfile={hostile}" in call
            assert settings(call) == {"export": {"path": hostile}, "results_dir": hostile}
        for call in made:
            if call[0].endswith("meterdp"):
                assert call[-2:] == ["--", hostile] and f"--config={hostile}" in call
            elif call[0].endswith("python"):
                assert call[-1] == hostile


def test_what_is_not_named_is_not_passed(folder):
    _, made = calls(folder, "study")
    (snakemake,) = (call[1:] for call in made if call[0].endswith("snakemake"))
    assert snakemake[2:] == ["--rerun-incomplete", "--", "study"]
    assert calls(folder, "check")[1][0][1:] == ["check"]
    _, made = calls(folder, "study", "RESULTS=mine")
    assert settings(made[-1]) == {"results_dir": "mine"}
