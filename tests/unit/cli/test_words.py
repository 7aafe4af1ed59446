"""The command ``meterdp``: every command explains itself, takes the example it gives, and ends in one sentence."""

import shlex
import subprocess
import sys
from dataclasses import replace
from importlib import import_module

import pytest

import meterdp
from meterdp.__main__ import COMMANDS, main
from meterdp.households.files import ENERGY, HOUSEHOLD, START


def names(table=COMMANDS, group=()):
    for name, entry in table.items():
        if isinstance(entry, dict):
            yield from names(entry, (*group, name))
        elif name:
            yield (*group, name)


def module_of(words):
    return import_module(f"meterdp.cli.{words[0]}")


def named(file):
    """The words of every command that a module has."""
    return [(file, name) if isinstance(COMMANDS[file], dict) else (name,) for name in module_of([file]).COMMANDS]


def said_by(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def test_every_module_is_a_command(repository):
    files = {path.stem for path in (repository / "src/meterdp/cli").glob("*.py")} - {"__init__"}
    assert files == set(COMMANDS)
    assert sorted(names()) == sorted(words for file in files for words in named(file))


@pytest.mark.parametrize("words", list(names()), ids=" ".join)
def test_help_says_what_a_command_is_for_and_gives_an_example_that_it_takes(words, capsys, monkeypatch):
    code, out, _ = said_by(capsys, *words, "--help")
    commands, taken = module_of(words).COMMANDS, []
    command = commands[words[-1]]
    assert code == 0 and out.endswith("".join(f"  {example}\n" for example in command.examples))
    monkeypatch.setitem(commands, words[-1], replace(command, run=lambda arguments: taken.append(arguments) or 0))
    for example in command.examples:
        name, *given = shlex.split(example.partition(">")[0])
        assert name == "meterdp" and tuple(given[: len(words)]) == words and main(given) == 0
    assert len(taken) == len(command.examples)


def test_the_help_of_score_names_the_columns(capsys):
    code, out, _ = said_by(capsys, "score", "--help")
    assert code == 0 and all(names[0] in out for names in (HOUSEHOLD, START, ENERGY))


def test_the_help_of_all_names_every_command_and_of_a_group_its_own(capsys):
    code, out, _ = said_by(capsys, "--help")
    assert code == 0 and all(f"\n    {name}" in out for name in COMMANDS)
    for group, entry in COMMANDS.items():
        if isinstance(entry, dict):
            code, out, _ = said_by(capsys, group, "--help")
            assert code == 0 and all(f"\n    {name}" in out for name in entry if name)


def test_the_version_and_words_nobody_knows(capsys):
    assert said_by(capsys, "--version")[:2] == (0, f"meterdp {meterdp.__version__}\n")
    code, _, err = said_by(capsys, "sell")
    assert code == 2 and "invalid choice: 'sell'" in err
    assert said_by(capsys, "ledger")[0] == 2


def test_help_waits_for_no_library():
    program = (
        "import sys; from meterdp.__main__ import main\n"
        f"for words in {list(names())}:\n"
        "    try: main([*words, '--help'])\n"
        "    except SystemExit: pass\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "pyarrow", "scipy", "yaml"} & set(done.stdout.splitlines()[-1].split())


def test_a_reader_who_leaves_is_no_error():
    """``meterdp ... | head``: nothing is printed by Python about the pipe."""
    program = (
        "import os, sys; from meterdp.__main__ import main; from meterdp.cli import Command, ledger\n"
        "reading, writing = os.pipe(); os.close(reading); os.dup2(writing, 1)\n"
        "ledger.COMMANDS['show'] = Command((), lambda parser: None, lambda arguments: print('words', flush=True))\n"
        "sys.exit(main(['ledger', 'show']))"
    )
    done = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "")


def test_what_an_unexpected_error_says_is_left_out():
    """It may quote a reading; lines of source do not."""
    program = (
        "import sys; from meterdp.__main__ import main; from meterdp.cli import Command, ledger\n"
        "def fails(arguments): raise ValueError(sys.argv[-1])\n"
        "ledger.COMMANDS['show'] = Command((), lambda parser: parser.add_argument('said'), fails)\n"
        "sys.exit(main())"
    )
    command = [sys.executable, "-c", program, "ledger", "show", "M00042 used 1.234"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "M00042" not in done.stdout + done.stderr
    assert "in fails" in done.stderr and "ValueError" in done.stderr
    assert done.stderr.rstrip().endswith("because it may quote a reading.")
