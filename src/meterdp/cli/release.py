"""``meterdp release``: check a release before it is made; verify and convert released folders."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path

from meterdp.cli import Command, configurations, take_configurations
from meterdp.core.choices import names_in
from meterdp.core.provenance import shipped
from meterdp.errors import REFUSAL, InputError

# What stands for a setting that only the user knows; none of them would be taken for a value.
_TO_FILL_IN = {
    "export.meters": ("meters.csv", "a CSV with the header meter_id and a meter in each row, not made from readings"),
    "export.first_day": ("YYYY-MM-DD", "days chosen without looking at the readings"),
    "export.last_day": ("YYYY-MM-DD", None),
    "export.time_zone": ("Area/City", "the IANA zone of the homes, such as Europe/London"),
    "release.population": ("<who they are>", "a public name, such as Homes of Newtown"),
    "release.budget_period": ("YYYY", "a year (2025), a month (2025-03) or a first and a last day (... to ...)"),
    "release.feeder_typical_daily_kwh": ("kWh", "a number: what a meter uses a day according to public statistics"),
}
# Up to so many more releases are counted.
_MANY = 20
_GROUPS = "the groups on the list of meters, or the way its ids are written"
# These follow from the window and the last day of the period, which are parameters, too.
_FROM_WINDOW = {"public.days", "public.averaged_days", "window.first_day"}
# Parameters of a request that are no settings by their names, and those for which nothing need be released again.
_OTHERWISE_NAMED = {
    "list_of_meters_sha256": "the list of meters",
    "groups": _GROUPS,
    "mechanism_version": "the version of the mechanism",
    "public.sound": "mechanisms.sound",
    "public.records": "the number of listed meters",
    "public.strata": _GROUPS,
    "public.feeders": _GROUPS,
    "public.groups": "release.forecast_groups",
    "days_off": "release.household_holidays",
    "window.days": "release.feeder_days",
    "window.kind": "release.feeder_window",
    "release.adjacency": "release.forecast_protects",
    "release.period": "release.budget_period",
    "synthetic": "whether the export is simulated",
}
_FREE = {
    "synthetic_households": "`meterdp households draw` makes any number of households from the released folder",
    "synthetic_profiles": "any number of profiles can be sampled from the released mixture (docs/howto/publish.md)",
}


def _check_takes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("export", nargs="?", help="the export, instead of export.path; it is not read")
    take_configurations(parser, "configuration(s), later ones on top", default=[])


def _check(arguments: argparse.Namespace) -> int:
    """Print every refusal and return 1, or print what the release would charge."""
    from meterdp.core.config import looked_through
    from meterdp.release.settings import refusals_of
    from meterdp.simulate.parameters import describe_simulated

    given, schema = configurations(arguments.config, arguments.export)
    source = " + ".join(map(str, arguments.config)) or "config"
    config, problems = looked_through(given, schema, source)
    simulated = config["export"]["path"] is None
    if simulated:
        describe_simulated(config)
    of_settings = _once([*problems, *refusals_of(config, simulated)])
    refused, said = [*of_settings, *_of_files(config)], []
    if not of_settings:
        refused, said, _ = before_release(config, simulated)
    for line in said:
        print(line)
    if refused:
        print(refused_words(refused, config, given, schema, source))
        return 1
    return 0


def _planned(config: Mapping, simulated: bool) -> list[str]:
    """Say what a release is expected to be worth, as far as the settings and the list tell, and what to check."""
    from meterdp.release.asked import plans_of_list
    from meterdp.release.plan import lines
    from meterdp.release.settings import to_check

    try:
        return [*lines(plans_of_list(config, simulated)), *to_check(config)]
    except InputError:
        return []


def before_release(
    config: Mapping, simulated: bool
) -> tuple[list[InputError], list[str], dict[str, dict[str, bytes]]]:
    """Return what refuses a release, from public settings, the list of meters and the ledger; what to say of it: what
    it is expected to be worth and, if nothing refuses it, what it charges; and the stored files of every folder.

    Of the settings themselves nothing is refused any more.
    """
    from meterdp.privacy.ledger import DUE
    from meterdp.release.asked import asked
    from meterdp.release.service import ReleaseService, published

    planned = _planned(config, simulated)
    if refused := [*_of_files(config)]:
        return refused, planned, {}
    try:
        service = ReleaseService(config, list_of_meters(config, simulated), simulated)
        found, refused = asked(service)
        if refused:
            return refused, planned, {}
        folders = [(together, [service.request(mechanism) for mechanism in together]) for together in found]
        requests = [request for _, own in folders for request in own]
        with _ledger(service) as ledger:  # which refuses what its limits do not allow, or it has lost
            new = ledger.check(requests, service.limit)
            # Damaged files are named here, before a run has nothing to do because their folder is there.
            stored = {request.key: ledger.stored(request.key) for request in requests}
            due = [request for request in requests if new.get(request.key) in DUE]
            if due:
                _check_released(ledger, service)
        refused = [*_repeats(due, service), *_respelt(due, service)]
    except InputError as error:
        return [error], planned, {}
    of_folders = zip(config["release"]["what"], folders, strict=True)
    files = {what: published(stored[own[-1].key]) for what, (_, own) in of_folders}
    return refused, [*planned, *([] if refused else _charges(folders, new, service))], files


def refused_words(
    refused: Sequence[InputError], config: Mapping, given: Mapping, schema: Mapping, source: str
) -> str:
    """Say what refuses a release, and what to paste for missing settings; ``given`` is what the user wrote."""
    refusals = [f"{REFUSAL} {error.of_configuration(source)}" for error in refused]
    pasted = _lines_to_paste(config, given, schema, [error.field for error in refused], source)
    return "\n".join([*refusals, "Nothing was read or charged.", *pasted])


def to_check_in_export(config: Mapping) -> list[str]:
    """Say what the start of an export leaves to be checked before a release is charged, as ``meterdp check`` does.

    Where the list of meters is public nothing of it may end a run, so how to stop is said as well.
    """
    from meterdp.core.log_scale import LogScale
    from meterdp.ingest.inference.look import looked_at
    from meterdp.ingest.meter_list import read_meter_list
    from meterdp.release.feeders import most_daily_kwh
    from meterdp.release.settings import last_days

    export, scale = config["export"], LogScale.from_config(config["profiles"])
    try:
        most = most_daily_kwh(config, read_meter_list(export["meters"]))
        rules = {"plausible_power_kw": tuple(config["quality"]["plausible_power_kw"]), "last_days": last_days(config)}
        look = looked_at(export["path"], export, scale, most_daily_kwh=most, **rules)
    except Exception:  # no row may end a run; a file that cannot be read is refused where it is read
        return []
    found = [f"To be checked: {one}" for one in (*look.findings, *look.odd)]
    stop = (
        "No reading may stop a release whose list of meters is public: if one of these is a mistake, STOP NOW "
        "(Ctrl-C). Nothing new has been charged yet. Then run `make check` with this configuration and correct it. "
        "If you stop later, what has been charged by then stays charged, and only the same release resumes at no "
        "cost."
    )
    return [*found, stop] if found else []


def list_of_meters(config: Mapping, simulated: bool) -> bytes:
    """Return the public list of meters; that of a simulated export is known before there is one."""
    from meterdp.ingest.meter_list import meter_list_bytes
    from meterdp.simulate.fleet import Fleet
    from meterdp.simulate.parameters import SimulationParameters

    if not simulated:
        return Path(config["export"]["meters"]).read_bytes()
    parameters = SimulationParameters.from_yaml(shipped("resources/simulator.yaml"))
    settings = {key: config["simulate"][key] for key in ("households", "circuits")}
    return meter_list_bytes(Fleet.of(parameters, seed=config["seed"], **settings).meter_list)


def _of_files(config: Mapping) -> Iterator[InputError]:
    """Yield what is wrong with the export, which is not read here, and with the list of meters."""
    from meterdp.ingest.meter_list import read_meter_list

    for key, what in (("path", "the meter export"), ("meters", "the list of meters")):
        file = config["export"][key]
        if file is not None and not Path(file).exists():
            yield InputError("does not exist", file=file, field=f"export.{key}", hint=f"give the path of {what}")
        elif file is not None and key == "meters":
            try:
                read_meter_list(file)
            except InputError as error:
                yield error


def _check_released(ledger, service) -> None:
    """Refuse a charge if a folder in results/release was charged to the same budget, but is not in the ledger.

    The sums that folders state are not compared: they count what was asked for with them, drawn or not.
    """
    from meterdp.privacy.periods import day_of, interval_of, overlap
    from meterdp.publish.received import MANIFEST, read_manifest

    if service.simulated:
        return
    root, released = Path(service.config["results_dir"]) / "release", {}
    for path in sorted([*root.glob(f"*/{MANIFEST}"), *root.glob(f"earlier/*/{MANIFEST}")]):
        with suppress(InputError, ValueError, OverflowError):  # no released folder, and none of these readings
            _, manifest = read_manifest(path.parent)
            days = interval_of(*map(day_of, manifest["period"]), service.config["export"]["time_zone"])
            if not manifest["simulated_data"] and any(overlap(days, period) for period in service.periods):
                released[path.parent.relative_to(root).as_posix()] = set(manifest["sha256"].values())
    if unknown := ledger.lacks(released):
        raise InputError(
            f"has readings of this budget period in {' and '.join(unknown)}, which {ledger.path.name} does not know: "
            "they were charged in another ledger, or in a later state of this one",
            file=root,
            hint="restore that ledger or, if these are other meters or the files were never given to anybody, move "
            "them elsewhere",
        )


@contextmanager
def _ledger(service):
    """Open the ledger, or an empty one where there is none yet: the first release makes it."""
    from meterdp.privacy.ledger import Ledger

    ledger = Ledger(service.config["release"]["ledger"])
    if ledger.begins:
        with tempfile.TemporaryDirectory() as folder:
            yield Ledger(Path(folder) / ledger.path.name)
    else:
        yield ledger


def _charges(folders: Sequence, new: Mapping[str, str], service) -> list[str]:
    """Say what every folder will cost, all of them together, and what would be left.

    ``folders`` are mechanisms and their requests; ``new`` what becomes of those that are not stored.
    """
    from meterdp.ingest.meter_list import METER_COLUMN
    from meterdp.privacy.charge import LESS_THAN_THE_SUM, NOTHING, epsilon_of, epsilon_text
    from meterdp.privacy.ledger import DUE, LOST

    delta, asked = service.limit.delta, [request for _, requests in folders for request in requests]
    due = [request for request in asked if new.get(request.key) in DUE]
    period = "" if service.simulated else f", in '{service.config['release']['budget_period']}'"
    column = service.listed.meter_column
    column = "" if column == METER_COLUMN else f" in the column '{column}' of the list"
    meters = f"{len(service.listed.circuit_of):,} listed meters{column}"
    said = [f"This release covers {meters} ({service.population}){period}:"]
    for together, requests in folders:
        charged = [request for request in requests if new.get(request.key) in DUE]
        charge = sum((request.charge for request in charged), NOTHING)
        cost = "already drawn and charged, so published unchanged: it lacks any readings corrected since"
        if charged:
            # A large epsilon sets aside more of delta for the grid of the noise than is used (safe_noise.md, 3).
            epsilon, setting = epsilon_text(epsilon_of(charge, delta)), requests[-1].setting
            asked_for = f"{service.config['release'][setting.removeprefix('release.')]:g}"
            of = setting if epsilon == asked_for else f"{setting}: {asked_for}"
            cost = f"charged epsilon {epsilon} at delta {delta:g} ({of})"
        elif requests[-1].key in new:
            cost = "charged before, but stopped: it resumes with what was drawn, and nothing more is charged for it"
        said.append(f"  {together[-1].what}: {cost}")
        if together[-1].remark and charged:
            said.append(f"    {together[-1].remark}")
        for request in charged:
            if new[request.key] == LOST:
                said.append("    charged again: the last attempt at this release was lost in the middle of a draw")
            elif like := _like(request, service):
                said += [f"    charged again: {like[0]}", *(f"    {free}" for free in like[1])]
    if new:
        begins = [*_begins(Path(service.config["release"]["ledger"]))]
        said += begins
        charge = sum((request.charge for request in due), NOTHING)
        less = f" ({LESS_THAN_THE_SUM})" if len(due) > 1 else ""
        with _ledger(service) as ledger:
            spent, (left, limit) = ledger.after(asked, service.limit)
            known = "" if begins or not due else _known(*ledger.new_meters(asked[0].meters), asked[0].meters)
        earlier = f", stated earlier and lower than {service.limit.epsilon:g}" if limit != service.limit else ""
        most = epsilon_text(max(epsilon_of(charge, limit.delta) for charge in spent))
        total = (
            f"together epsilon {epsilon_text(epsilon_of(charge, delta))}{less}" if due else "nothing more is charged"
        )
        said += [
            *([known] if known else []),
            f"  {total}; with everything charged before{period.removeprefix(',')}, a meter will have spent up to "
            f"epsilon {most}, within its limit of epsilon {limit.epsilon:g}{earlier}. {_fits(left, charge, delta)}",
        ]
    return said


def _known(new: int, respelt: int, meters: Sequence[str]) -> str:
    """Say how many listed meters the ledger does not know, if any, and how many it seems to know otherwise."""
    if not new:
        return ""
    if 2 * respelt > new:
        return (
            f"  {respelt:,} of {new:,} listed meters new to the ledger seem to be meters it knows under other ids: "
            "if they are the same meters, what they spent before is missing from these sums"
        )
    if new < len(meters):
        return f"  {new:,} of the listed meters {'are' if new > 1 else 'is'} new to the ledger"
    return (
        "  none of the listed meters was on a list of this ledger before: if they were, under other ids, write the "
        "ids as they were written then, because each id has a budget of its own"
    )


def _fits(left: float, charge, delta: float) -> str:
    """Say what would still fit: the largest epsilon of one more release, and how many more like this one."""
    from meterdp.privacy.gaussian import mu_for

    if not left:
        return "Nothing would be left"
    like = 0
    if charge.mu:  # Gaussian noise adds up by the squares of mu
        like = min(_MANY, int((mu_for(left, delta) / charge.mu) ** 2))
    again = f", or {like}{' or more' if like == _MANY else ''} more like this one," if like else ""
    return f"One more release of epsilon {left:g}{again} would fit"


def _begins(path: Path) -> Iterator[str]:
    """Say that a ledger begins here, and which others there are beside it: a mistyped name begins at zero."""
    from meterdp.privacy.ledger import Ledger
    from meterdp.privacy.ledger_file import is_ledger

    if not Ledger(path).begins:
        return
    others = sorted(one.name for one in path.parent.glob("*.sqlite") if is_ledger(one))
    beside = f"; what {' and '.join(others)} in the same folder charged is not counted here" if others else ""
    yield f"  the ledger {path} does not exist yet, so nothing counts as spent{beside}"


def _like(request, service) -> tuple[str, list[str]] | None:
    """Say in what a request differs from what was released of the same days and meters, and what would be free."""
    from meterdp.release.show import Charged

    with _ledger(service) as ledger:
        alike = ledger.nearest(request)
    if alike is None:
        return None
    names = [name for name in alike[1] if name not in _FROM_WINDOW]
    said = dict.fromkeys(_setting(name, request, service) for name in names)
    if "list_of_meters_sha256" in names:
        said = {one: None for one in said if one not in (_GROUPS, _OTHERWISE_NAMED["public.records"])}
    differ = ", ".join(said)
    free = [f"without another charge, {_FREE[name]}" for name in names if name in _FREE]
    earlier = Charged(alike[0])
    of = f"{alike[0]['at_utc'][:10]} ({earlier.what}, {earlier.readings})"
    return f"it differs from the release of {of} in {differ or 'its name only'}", free


def _repeats(due: Sequence, service) -> Iterator[InputError]:
    """Refuse to charge for what was released of the same days and meters before, unless allowed."""
    for request in [] if "repeat" in service.config["release"]["allow"] else due:
        if like := _like(request, service):
            undo = "undo that to publish the stored one unchanged at no cost"
            hint = "; ".join([f"{undo}, or add 'repeat' to release.allow to pay again", *like[1]])
            yield InputError(f"would be charged again: {like[0]}", hint=hint, file="config", field=request.setting)


def _respelt(due: Sequence, service) -> Iterator[InputError]:
    """Refuse to charge meters by rounded ids, or under others than the ledger seems to know, unless allowed."""
    from meterdp.ingest.meter_list import AS_TEXT, SCIENTIFIC

    if not due or "ids" in service.config["release"]["allow"]:
        return
    of = len(due[0].meters)
    if rounded := sum(SCIENTIFIC.fullmatch(meter) is not None for meter in due[0].meters):
        yield InputError(
            f"has {rounded:,} of {of:,} ids that look like 1.23E+17, and each may stand for several meters",
            file=service.config["export"]["meters"],
            field="export.meters",
            hint=f"{AS_TEXT}, or add 'ids' to release.allow",
        )
    with _ledger(service) as ledger:
        new, respelt = ledger.new_meters(due[0].meters)
        budget = due[0].budget
        all_are_new = new == of and ledger.names(budget)
    if all_are_new and not respelt:
        yield InputError(
            f"has none of the meters that were charged before for '{budget.population}' in '{budget.period}': under "
            "another id, such as a shorter one, a meter has a budget of its own",
            file=service.config["export"]["meters"],
            field="export.meters",
            hint="write ids as on the lists of earlier releases or, if these are other meters, name them otherwise "
            "(release.population) or add 'ids' to release.allow",
        )
    elif 2 * respelt > new:
        yield InputError(
            f"has {new:,} meters that are new to the ledger, which knows {respelt:,} of them under ids "
            "that are shorter, have no signs, or have more zeros in front: under another id a meter has a budget of "
            "its own",
            file=service.config["export"]["meters"],
            field="export.meters",
            hint="write ids as on the lists of earlier releases or, if these are other meters, add 'ids' to "
            "release.allow",
        )


def _setting(parameter: str, request, service) -> str:
    """Return the setting behind a parameter of a request, or what else it is of."""
    name = parameter.rpartition(".")[2]
    if parameter == "public.epsilon":
        return request.setting
    if parameter in _OTHERWISE_NAMED:
        return _OTHERWISE_NAMED[parameter]
    return f"release.{name}" if name in service.config["release"] else parameter.removeprefix("public.")


def _once(refused: Sequence[InputError]) -> list[InputError]:
    """Return the first refusal of every setting."""
    first = {error.field: error for error in reversed(refused)}
    return [error for error in refused if error is first[error.field]]


def _lines_to_paste(
    config: Mapping, given: Mapping, schema: Mapping, fields: Sequence[str | None], source: str
) -> list[str]:
    """Return whole sections, as they are with what is missing added; a section that stood twice would lose one.

    What equals a default is left out, except what whoever signs a release wants to see.
    Paths are as in ``given``, what the user wrote: relative to here they would name other files, and another ledger,
    where a run starts elsewhere.
    """
    import yaml

    from meterdp.publish.kinds import KINDS

    unset = [
        field for field in fields if field in _TO_FILL_IN and config[field.split(".")[0]][field.split(".")[1]] is None
    ]
    missing = {field: _filled_in(field, config) for field in unset}
    if not missing:
        return []
    signed = {"what", "delta", "cap_epsilon", "cap_delta"}
    signed |= {KINDS[what].epsilon for what in config["release"]["what"]}
    replaced = source.rpartition(" + ")[2]
    lines = ["", f"Replace the sections of {replaced} with these, which add what was missing:", ""]
    for section in ("export", "release"):
        of_section = {field: value for field, value in missing.items() if field.startswith(f"{section}.")}
        if not of_section:
            continue
        known = schema["properties"][section]["properties"]
        written = given.get(section) if isinstance(given.get(section), Mapping) else {}
        own = {
            key: written.get(key, value) if known[key].get("format") == "path" else value
            for key, value in config[section].items()
            if (value != known[key]["default"] or key in signed) and f"{section}.{key}" not in missing
        }
        lines.append(f"{section}:")
        if own:
            text = yaml.safe_dump(own, sort_keys=False, allow_unicode=True, width=1000)
            lines += [f"  {line}" for line in text.splitlines()]
        for field, (value, why) in of_section.items():
            # In quotes: YAML takes a bare day for a date and a bare year for a number.
            lines.append(f"  {field.partition('.')[2]}: '{value}'{f'  # {why}' if why else ''}")
    return [*lines, ""]


def _filled_in(field: str, config: Mapping) -> tuple[str, str | None]:
    """Return what to write for a setting that is missing, and why: the years, if the days are known."""
    days = [config["export"][key] for key in ("first_day", "last_day")]
    if field == "release.budget_period" and None not in days:
        first, last = (int(day[:4]) for day in days)
        return ", ".join(map(str, range(first, last + 1))), _TO_FILL_IN[field][1]
    return _TO_FILL_IN[field]


def _verify_takes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="a released folder such as results/release/mixture, or results/release itself")


def _verify(arguments: argparse.Namespace) -> int:
    """Check every file of the folder and print the guarantee."""
    from meterdp.publish.crate import covered_days
    from meterdp.publish.kinds import CRATE, README
    from meterdp.publish.received import MANIFEST, before_use, expected_error, released_folders, verify

    received = [verify(folder) for folder in released_folders(arguments.folder)]
    for one in received:
        manifest, count = one.manifest, len(one.files) + len(one.described)
        first, last = covered_days(manifest)
        print(f"Verified: {one.folder}, {count} files are as they were released")
        print(f"  {manifest['population']}, readings of {first} to {last}", end="")
        print(", simulated" if manifest["simulated_data"] else "")
        for guarantee in one.guarantees:
            print(f"  {guarantee}")
        if error := expected_error(manifest, brief=True):
            print("  expected error: " + error.replace("; ", ";\n    "))
        for words in before_use(manifest):
            print(f"  {words}")
        if later := [other.folder for other in received if _takes_place(other.manifest, manifest)]:
            print(f"  replaced by {later[-1]}")
        for other in manifest.get("replaces", ()):
            print(f"  replaces the release of {other['charged']} (epsilon {other['epsilon']:g})")
        if one.unchecked:
            print(f"  without a checksum: {', '.join(one.unchecked)}")
        if one.missing:
            print(f"  listed in {CRATE}, but not there: {', '.join(one.missing)}")
    print(f"{README} says what is protected, what anybody can learn and when the expected errors hold.")
    print(f"Checksums are not a signature: whoever changes a file can change {MANIFEST} and {CRATE} with it.")
    return 0


def _takes_place(manifest: Mapping, of: Mapping) -> bool:
    """Whether a release takes the place of another of the same kind, households and days: it names more before it."""
    from meterdp.publish.crate import covered_days

    same = all(manifest.get(key) == of.get(key) for key in ("what", "population"))
    return same and covered_days(manifest) == covered_days(of) and _before(manifest) > _before(of)


def _before(manifest: Mapping) -> int:
    return len(manifest.get("replaces", ()))


def _convert_takes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        help="a released folder: results/release/mixture or results/release/forecasts; or the Parquet file that "
        "`meterdp households draw` wrote",
    )
    parser.add_argument("--as", dest="tool", required=True, choices=sorted(names_in("publish.convert.TOOLS")))
    parser.add_argument("--to", required=True, metavar="FOLDER", help="to be written; must be empty or not exist")
    parser.add_argument(
        "--date",
        type=_day,
        metavar="DAY",
        help="local day on which synthetic profiles begin; by default the day the release says they are of, or else "
        "the first day of its period (the first working day if they are of working days)",
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("write a day as 2025-11-17") from None


def _convert(arguments: argparse.Namespace) -> int:
    from meterdp.publish.convert import TOOLS, converted, read_release, write_folder

    profiles = read_release(arguments.folder, arguments.date)
    files = write_folder(converted(profiles, TOOLS[arguments.tool]), arguments.to)
    print(f"Converted: {arguments.to} has {files:,} files for {arguments.tool}; its README.md says how to load them.")
    return 0


COMMANDS = {
    "check": Command(
        ("meterdp release check --config my.yaml", "meterdp release check readings.csv.gz --config my.yaml"),
        _check_takes,
        _check,
    ),
    "verify": Command(
        ("meterdp release verify results/release", "meterdp release verify results/release/mixture"),
        _verify_takes,
        _verify,
    ),
    "convert": Command(
        (
            "meterdp release convert results/release/mixture --as opendss --to for-opendss --date 2025-11-17",
            "meterdp release convert homes.parquet --as pypsa --to for-pypsa",
        ),
        _convert_takes,
        _convert,
    ),
}
