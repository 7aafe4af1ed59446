"""``meterdp check``: what an export contains, and whether a configuration describes it, in seconds."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from meterdp.cli import Command, configurations, refuse_configuration, take_configurations
from meterdp.errors import REFUSAL, InputError

if TYPE_CHECKING:
    from meterdp.core.log_scale import LogScale
    from meterdp.ingest.inference.examine import Finding

EXAMPLES = ("meterdp check readings.csv.gz > found.txt", "meterdp check readings.csv.gz --config my.yaml")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "export", nargs="?", help="file, folder or zip with the readings; by default the configuration's"
    )
    words = "configuration(s) of a study; only checks whether they describe the export"
    take_configurations(parser, words, default=[])
    parser.add_argument("--time-zone", metavar="ZONE", help="IANA zone of the homes, e.g. Europe/Zurich")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the proposed configuration to a new file")
    parser.add_argument(
        "--unless-read",
        type=Path,
        metavar="FILE",
        help="with --config: do nothing if this file, written when the export was read, is newer than both inputs",
    )


def _check(arguments: argparse.Namespace) -> int:
    """Print what the export contains; return 1 if a study with the given settings would be refused."""
    if arguments.config:
        if arguments.time_zone is not None:
            hint = "leave it out, or check without --config"
            raise InputError("does not go with --config", field="--time-zone", hint=hint)
        _refuse_to_write_over(arguments.write)
        return _compare(arguments)
    if arguments.export is None:
        raise InputError("no export is named", hint=f"write e.g. {EXAMPLES[0]}")
    refuse_configuration(arguments.export)
    _refuse_to_write_over(arguments.write)
    from meterdp.ingest.inference.examine import config_text, examine, finding_words

    found = examine(arguments.export, time_zone=arguments.time_zone)
    print(finding_words(arguments.export, found))
    print("\n`meterdp plan N` says what a release about N listed meters would be worth.")
    _give(found, config_text(arguments.export, found), arguments.write)
    return int(bool(found.findings))


def _refuse_to_write_over(path: Path | None) -> None:
    if path is not None and path.exists():
        raise InputError("already exists", file=path, hint="name a new file")


def _give(found: Finding, proposed: str, path: Path | None) -> None:
    """Print a configuration, or write it to a new file."""
    title = "A configuration to use once this is corrected" if found.findings else "A configuration that reads it"
    if path is None:
        print(f"\n{title}:\n\n{proposed}", end="")
    else:
        with open(path, "x", encoding="utf-8") as file:
            file.write(proposed)
        print(f"\n{title} is in {path}.")


def _compare(arguments: argparse.Namespace) -> int:
    """Say whether the settings describe the export, and if not, what does not fit and what would."""
    from meterdp.core.config import looked_through

    given, schema = configurations(arguments.config, arguments.export)
    path = (given.get("export") or {}).get("path")
    most_daily_kwh = _plan(given, schema) if arguments.unless_read is None else None
    if path is not None and _is_read(arguments, path):
        return 0
    config, problems = looked_through(given, schema, " + ".join(map(str, arguments.config)))
    if path is None:  # a simulated export is what it is
        if problems:
            _print_refusals(problems)
        elif arguments.unless_read is None:
            print("No export is named, so one will be simulated: a study can run.")
        return int(bool(problems))
    from meterdp.ingest.inference.look import Look, looked_at
    from meterdp.ingest.inference.remarks import other_weekend

    export, look, odd, listed = config["export"], None, [], False
    proposed = any(_is_of_layout(problem, given["export"]) for problem in problems)
    # A zone that exists is that of the homes, also where the stamps are in another.
    zone = None if any(problem.field == "export.time_zone" for problem in problems) else export["time_zone"]
    if not any((problem.field or "").startswith("export.") for problem in problems):
        try:
            rules = {**_rules(config, problems), "last_days": _last_days(config, problems)}
            look = looked_at(path, export, _scale(config, problems), most_daily_kwh=most_daily_kwh, **rules)
            # Of a public list nothing may end because of what its rows hold: it is said, and the run goes on.
            listed = export["meters"] is not None
        except InputError as error:
            look = Look([error])
        if listed:
            odd = [*map(str, look.findings), *look.odd]
        else:
            of_export = any(str(error.file) != export["meters"] for error in look.findings)
            problems, proposed, odd = [*problems, *look.findings], of_export, look.odd
        if "weekend" not in given["export"]:
            odd = [*odd, *other_weekend(export)]
    if problems:
        _print_refusals(problems)
    elif arguments.unless_read is None:
        if look.coverage:
            print(f"{look.coverage[0].upper()}{look.coverage[1:]}.")
        if look.somebody:
            study = f"a study can run{', but look at this first:' if odd else '.'}"
            print(f"The settings fit {path} ({look.meters}): {study}")
        else:
            print(f"With these settings a study of {path} ({look.meters}) would be empty; the reason is below.")
        if listed:
            for sentence in _of_list(export["meters"]):
                print(sentence)
    for sentence in odd:
        print(f"To be checked: {sentence}")
    if proposed:
        _propose(path, zone, given["export"], {str(problem) for problem in problems}, arguments.write)
    elif arguments.write is not None:
        print(f"Nothing is written to {arguments.write}: the settings need no other configuration.")
    return int(bool(problems))


def _print_refusals(problems: Iterable[InputError]) -> None:
    print("\n".join(f"{REFUSAL} {problem}" for problem in problems))


def _scale(config: Mapping, problems: list[InputError]) -> LogScale | None:
    """Return the scale of energy that the settings name, if they are in order."""
    from meterdp.core.log_scale import LogScale

    wrong = any((problem.field or "").startswith("profiles.") for problem in problems)
    return None if wrong else LogScale.from_config(config["profiles"])


def _rules(config: Mapping, problems: list[InputError]) -> dict:
    """Return what share of its readings a household may lack, 1 if repaired gaps make up for them, what share may be
    zero, and which power is plausible, if the rules of quality are in order.
    """
    quality = config["quality"]
    if any((problem.field or "").startswith("quality.") for problem in problems):
        return {}
    most_missing = 1.0 if "gap" in quality["repair"] else quality["max_missing_share"]
    return {
        "most_missing": most_missing,
        "most_zero": quality["max_zero_share"],
        "plausible_power_kw": tuple(quality["plausible_power_kw"]),
    }


def _last_days(config: Mapping, problems: list[InputError]) -> int | None:
    """Return how many days at the end of the period a release is about, if its settings are in order."""
    if config["release"]["budget_period"] is None or any((p.field or "").startswith("release.") for p in problems):
        return None
    from meterdp.release.settings import last_days

    return last_days(config)


def _plan(given: Mapping, schema: Mapping) -> float | None:
    """Say what a release would be worth, if the settings describe one; return the most energy a day that feeder
    totals count of a meter, if they are asked for.
    """
    from meterdp.core.config import looked_through
    from meterdp.ingest.meter_list import read_meter_list
    from meterdp.release.asked import plans, size_of_list
    from meterdp.release.feeders import most_daily_kwh
    from meterdp.release.plan import lines
    from meterdp.release.settings import refusals_of
    from meterdp.simulate.parameters import describe_simulated

    config, problems = looked_through(copy.deepcopy(given), schema)
    simulated = config["export"]["path"] is None
    if not problems:
        if simulated:
            describe_simulated(config)
        if simulated or config["release"]["budget_period"] is not None:  # else the list is for a study alone
            with suppress(InputError):  # of a list that cannot be read, which is said below
                if size := size_of_list(config, simulated):
                    # What the section release still lacks is said by `meterdp release check`.
                    said, refused = [], [e for e in refusals_of(config, simulated) if e.field.startswith("export.")]
                    try:
                        said = lines(plans(config, *size))
                    except InputError as error:
                        refused.append(error)
                    for line in said:
                        print(line)
                    for words in dict.fromkeys(map(str, refused)):
                        print(f"To be checked: a release would be refused: {words}")
        if not simulated and config["export"]["meters"] is not None:
            with suppress(InputError):  # said by `meterdp release check`
                return most_daily_kwh(config, read_meter_list(config["export"]["meters"]))
    return None


def _of_list(path) -> Iterator[str]:
    """Say what the list of meters calls them, and which of its columns the report compares households by."""
    from meterdp.consumption.study import groups_of, most_entries
    from meterdp.ingest.meter_list import METER_COLUMN, read_meter_list

    meter_list = read_meter_list(path)
    groups = groups_of(meter_list.columns, meter_list.meter_ids)
    # Of a column with one entry nobody expects groups.
    others = {name for name, said in meter_list.columns.items() if len({*said.values()} - {None, ""}) > 1}
    others -= groups.keys()
    if meter_list.meter_column != METER_COLUMN:
        yield f"The ids of the listed meters are in the column '{meter_list.meter_column}' of the list."
    if groups:
        yield f"The report compares groups of the list by {', '.join(sorted(groups))}."
    if others:
        names = ", ".join(sorted(others))
        most = most_entries(len(meter_list.meter_ids))
        yield f"The report compares no groups by {names}: a column needs 2 to {most} different entries."
    yield from (f"To be checked: {one}" for one in meter_list.to_check)


def _is_of_layout(problem: InputError, section: Mapping) -> bool:
    """Whether what an export looks like helps with a problem; not with the misspelt name of a zone."""
    _, dot, key = (problem.field or "").partition("export.")
    return bool(dot) and not (key in ("time_zone", "stamp_time_zone") and section.get(key) is not None)


def _is_read(arguments: argparse.Namespace, path) -> bool:
    """Whether the export has been read since it and the settings were written."""
    done, written = arguments.unless_read, [Path(path), *arguments.config]
    if done is None or not done.is_file() or not all(file.is_file() for file in written):
        return False
    return done.stat().st_mtime > max(file.stat().st_mtime for file in written)


def _propose(path, time_zone: str | None, section: Mapping, said: set[str], written: Path | None) -> None:
    """Print what the export looks like by itself, if the rows that are kept are those of the settings, and give a
    configuration that reads it.
    """
    from meterdp.ingest.inference.examine import config_text, examine, finding_words

    try:
        found = examine(path, time_zone=time_zone, known=section)
    except InputError as error:
        if str(error) not in said:
            print(f"{REFUSAL} {error}")
        return
    print(f"\nThe export by itself looks like this:\n\n{finding_words(path, found)}")
    _give(found, config_text(path, found), written)


COMMANDS = {"check": Command(EXAMPLES, _add_arguments, _check)}
