"""``meterdp check``: what an export is, and whether a configuration describes it, in seconds."""

from __future__ import annotations

import argparse
from pathlib import Path

from meterdp.core.errors import REFUSAL, InputError
from meterdp.core.shipped import shipped

# numba looks for BLAS in SciPy, a third of a second.
NEEDLESS = ("scipy.linalg",)
EXAMPLES = ("meterdp check readings.csv.gz > found.txt", "meterdp check readings.csv.gz --config my.yaml")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument(
        "export", nargs="?", help="file, folder or zip of the readings; else that of the configuration"
    )
    parser.add_argument(
        "--config",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="configuration(s) of a study: say only whether they describe the export",
    )
    parser.add_argument("--time-zone", metavar="ZONE", help="IANA zone of the homes, e.g. Europe/Zurich")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the proposed configuration to a new file")
    parser.add_argument(
        "--unless-read",
        type=Path,
        metavar="FILE",
        help="with --config: nothing is done if this result of reading the export is younger than both",
    )
    parser.add_argument(
        "--schema", type=Path, default=shipped("workflow/schemas/config.schema.yaml"), help=argparse.SUPPRESS
    )


def run(arguments: argparse.Namespace) -> int:
    """Look at the export and print what it is; return 1 if a study with the given settings would be refused.

    Raises
    ------
    InputError
        If the export is nothing meterdp reads.
    """
    if arguments.config:
        return _compare(arguments)
    if arguments.export is None:
        raise InputError("no export is named", remedy=f"write e.g. {EXAMPLES[0]}")
    from meterdp.exports.guess.examine import examine
    from meterdp.exports.guess.words import config_text, finding_words

    found = examine(arguments.export, time_zone=arguments.time_zone)
    proposed = config_text(arguments.export, found)
    print(finding_words(arguments.export, found))
    print("\nA configuration that reads it:\n")
    print(proposed, end="")
    if arguments.write is not None:
        with open(arguments.write, "x", encoding="utf-8") as file:
            file.write(proposed)
    return int(bool(found.doubts))


def _compare(arguments: argparse.Namespace) -> int:
    """Say nothing if the settings describe the export, and otherwise what does not fit and what would."""
    from meterdp.core.config import complete, load_schema, read_files

    config = read_files([str(file) for file in arguments.config])
    section = config["export"] = dict(config.get("export") or {})
    if arguments.export is not None:
        section["path"] = arguments.export
    path = section.get("path")
    if path is None or _is_read(arguments, path):  # a simulated export is what it is
        return 0
    from meterdp.exports.check import against

    try:
        export = complete(config, load_schema(arguments.schema), source=" + ".join(map(str, arguments.config)))[
            "export"
        ]
        problems = against(path, export)
        if export["meters"] is not None:
            # Of a public list nothing may end because of what its rows hold: it is told, and the run goes on.
            return _told(problems)
    except InputError as error:
        problems = [error]
    if problems:
        print("\n".join(f"{REFUSAL} {problem}" for problem in problems))
        _propose(path, section.get("time_zone"), {str(problem) for problem in problems})
    return int(bool(problems))


def _told(doubts: list[InputError]) -> int:
    for doubt in doubts:
        print(f"To be checked: {doubt}")
    return 0


def _is_read(arguments: argparse.Namespace, path) -> bool:
    """Whether the export has been read since it and the settings were written."""
    done, written = arguments.unless_read, [Path(path), *arguments.config]
    if done is None or not done.is_file() or not all(file.is_file() for file in written):
        return False
    return done.stat().st_mtime > max(file.stat().st_mtime for file in written)


def _propose(path, time_zone: str | None, said: set[str]) -> None:
    """Print what the export looks like by itself."""
    from meterdp.exports.guess.examine import examine
    from meterdp.exports.guess.words import config_text, finding_words

    try:
        found = examine(path, time_zone=time_zone)
    except InputError as error:
        if str(error) not in said:
            print(f"{REFUSAL} {error}")
        return
    print(f"\nThe export by itself looks like this:\n\n{finding_words(path, found)}")
    print(f"\nA configuration that reads it:\n\n{config_text(path, found)}", end="")
