"""Configuration: one schema that describes every key, fills defaults and refuses what it does not know.

The schema is the single source; tools/document_config.py writes config/config.yaml and the table of
config/README.md from it.
"""

from __future__ import annotations

import copy
import difflib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import yaml

from meterdp.core.choices import names_in
from meterdp.core.log_scale import LOG, SIGNED, LogScale
from meterdp.core.stamps import zone_hint
from meterdp.core.weekend import SATURDAY_SUNDAY, Weekend
from meterdp.errors import InputError

# Settings there were, and choices of one, as ``key: choice``; and what holds now.
REMOVED = {
    "forecast.compare: auto_ets": "exponential_smoothing needs no other package",
    "forecast.compare: pooled_ridge": "gradient_boosting is trained across homes, too, and forecasts better",
    "release.insist": "release.allow names what is allowed: poor, repeat, ids",
    "release.forecast_groups: assigned": "a group of everybody (one) is worth more, or write circuit",
    "mechanisms.sound.marginal_share": "it is 0.25, and a mixture of another share would be charged again",
    "mechanisms.sound.library": "mechanisms.sound.prior_mixture takes the same values",
    "export.register_column": "write export.keep_rows with entries of columns, such as {OBIS: ['1-1:1.8.0']}",
    "export.register": "write it as export.keep_rows",
    "simulate.start_date": "the simulated export begins on 2025-10-20",
    "quality.level_tolerance": "it is 3 (docs/data_quality.md)",
    "quality.unit_slip_hours": "it is 24 (docs/data_quality.md)",
    "quality.unit_slip_power_kw": "it is 10 (docs/data_quality.md)",
    "quality.spike_factor": "it is 10 (docs/data_quality.md)",
    "quality.catch_up_factor": "it is 1.5 (docs/data_quality.md)",
    "quality.catch_up_hours": "it is 24 (docs/data_quality.md)",
    "quality.coarse_hours": "it is 24 (docs/data_quality.md)",
    "quality.gap_intervals": "it is 4 (docs/data_quality.md)",
    "quality.policies": "quality.repair lists the kinds of readings to repair",
    "quality.refuse": "study/quality_summary.parquet counts faulty readings by kind",
    "export.conflicting_rows: refuse": "the last row counts, or write missing",
    "profiles.max_floor_share": "half of the hours may be at the lower bound",
    "profiles.seasonal": "the season is the rolling mean; reproductions have their paper's",
    "profiles.seasonal_scale": "the season is a mean of logs",
    "profiles.smoothing_hours": "the rolling season is not smoothed",
    "profiles.rolling_days": "the season reaches back 14 days",
    "profiles.rolling_day_decay": "it is 0.85",
    "profiles.rolling_other_day_weight": "it is 0.5",
    "federation.update": "covariances are about the means of the same step",
    "federation.mask_std": "masks are uniform",
    "federation.scheme: subspace": "edge_masks reveals the same sums and hides the rest perfectly",
    "mixture.fit": "the fit is to the K-means labels",
    "mixture.eigenvalue_floor": "it is 0.001 (log kWh)^2",
    "federation.iterations": "there are 50",
    "mechanisms.figure_epsilon": "it is release.epsilon, or the middle one of mechanisms.epsilons",
    "mechanisms.sound.adjacency": "studies and releases of the workflow replace one of so many records",
    "mechanisms.sound.records_guess": "nothing needs it where the number of meters is public",
    "mechanisms.sdp_solver": "meterdp's own solver is used",
    "mechanisms.sound.classes": "a public rule says how many, with mixture.classes as upper limit",
    "mechanisms.sound.rounds": "a public rule says how many",
    "mechanisms.sound.hour_correlation": "it is 0.6",
    "mechanisms.draws": "the KL divergence is averaged over 200 draws",
    "forecast.method": "an ARMA process forecasts; forecast.compare sets others beside it",
    "forecast.refit_days": "coefficients are estimated again every 7 days",
    "forecast.long_ar_order": "it is 24",
    "forecast.mean": "what the season leaves has the mean zero",
    "forecast.largest_root": "it is 0.99",
    "forecast.cap_days": "forecasts stay between the extremes of the last 14 days",
    "forecast.calibration_days": "14 days calibrate the intervals",
    "forecast.arma": "the compiled kernel fits",
    "forecast.fit": "the kernel fits with a prior, for forecasts",
    "forecast.starts": "the search has 3 start points",
    "forecast.max_iterations": "the search has 1000 iterations from each start",
    "forecast.interval_levels": "intervals are of 0.5 and 0.9",
    "neighbourhoods.clusters": "there are 6",
    "neighbourhoods.nearest": "write it as neighbourhoods.size",
    "neighbourhoods.file_columns": "call the columns of the file meter_id and neighbour_id",
    "class_noise.stochastic_designs": "the designs of class_noise.designs but joint and transport",
    "class_noise.accuracy_convention": "rho is always the squared error of the whole forecast",
    "class_noise.epsilons": "privacy curves are drawn from 0.1 to 1",
    "class_noise.prior_ratios": "studies have no delta under a prior",
    "class_noise.answers": "`meterdp ask` answers for any guarantee or error",
    "class_noise.file_rho": "the files have the first of class_noise.rhos",
    "hide_among": "the figure shows 2 to 100 households at epsilon 1 and delta 1e-5",
    "group_forecast": "the files of a study are for the meters, groups and epsilon of release.forecast_*",
    "feeder_study": "a study measures feeders of 5 to 500 households at epsilon 0.5 to 8 over the last 7 days",
    "audit.primitive_trials": "it is 250 times audit.trials",
    "audit.canaries": "the audit plants 160",
    "audit.confidence": "all bounds hold with a probability of 0.95",
}


_UPGRADE = "(`meterdp config upgrade` rewrites a file)"
# Of two circuits that add up their sums, each could take its own away.
FEWEST_CIRCUITS = 3
# Snakemake takes a file with this key as a template and runs the Python in it.
_TEMPLATE = "__use_yte__"
# Ten times as fast as the loader written in Python, and every start of the workflow waits for it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_schema(path) -> dict:
    """Read a JSON schema written in YAML.

    ``shorthand`` of a section names the key that the section may be given as: ``federation: circuit``.
    ``enum_of`` names the registry a setting chooses from and becomes its ``enum``, without the entries that carry the
    flag ``enum_without`` and those listed in ``enum_except``.
    """
    return _with_choices(yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_LOADER))


def _with_choices(schema):
    if isinstance(schema, list):
        return [_with_choices(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: _with_choices(value) for key, value in schema.items() if not key.startswith("enum_")}
    if "enum_of" in schema:
        names = names_in(schema["enum_of"], without=schema.get("enum_without"))
        out["enum"] = [name for name in names if name not in schema.get("enum_except", ())]
    return out


def complete(config: Mapping, schema: Mapping, source: str = "config") -> dict:
    """Fill defaults and validate.

    Parameters
    ----------
    config : mapping
        What the user wrote.
    schema : mapping
        JSON schema with defaults.
    source : str
        Name of the file(s) for error messages.

    Returns
    -------
    dict
        Every key of the schema in its order, validated; a path is written in one way. So two files that say the same
        are the same configuration, and none is a reason to run anything again.

    Raises
    ------
    InputError
        For the first key that is unknown or has a bad value.
    """
    settings = filled(config, schema, source)
    for problem in _across_keys(settings, source):
        raise problem
    return settings


def filled(config: Mapping, schema: Mapping, source: str = "config") -> dict:
    """Do as :func:`complete` for any schema: what is not said by the schema of a study is not checked."""
    settings, problems = _filled(config, schema, source)
    for problem in problems:
        raise problem
    return settings


def looked_through(config: Mapping, schema: Mapping, source: str = "config") -> tuple[dict, list[InputError]]:
    """Do as :func:`complete`, but return all that it would refuse beside what there is without it.

    Returns
    -------
    settings : dict
        With the default in the place of every value that its own description does not allow.
    problems : list of InputError
        The first is what :func:`complete` raises.
    """
    settings, problems = _filled(config, schema, source)
    return settings, [*problems, *_across_keys(settings, source)]


def _filled(config: Mapping, schema: Mapping, source: str) -> tuple[dict, list[InputError]]:
    import jsonschema  # a tenth of a second, and nothing else here needs it

    config = _spelt_out(with_texts(config, schema), schema)
    problems = list(_unknown(config, schema, source, ()))
    settings = _fill(config, schema)
    checker = jsonschema.FormatChecker(())
    checker.checks("date")(_is_day)
    checker.checks("date or auto")(lambda value: value == "auto" or _is_day(value))
    errors = list(jsonschema.Draft202012Validator(schema, format_checker=checker).iter_errors(settings))
    first = jsonschema.exceptions.best_match(errors)
    for error in sorted(errors, key=lambda error: error is not first):
        path = list(error.absolute_path)
        problems.append(InputError(_problem(error), file=source, field=_field(path), hint=_hint(error, schema)))
        _put_default(settings, schema, path)
    return settings, problems


def _is_day(value) -> bool:
    """Whether a setting is a day as YYYY-MM-DD, or none."""
    if value is None:
        return True
    try:
        return date.fromisoformat(value).isoformat() == value
    except (TypeError, ValueError):
        return False


def _put_default(settings: dict, schema: Mapping, path: list) -> None:
    for key in path:
        schema = schema["properties"][key]
        if "properties" not in schema:
            settings[key] = copy.deepcopy(schema.get("default"))
            return
        settings = settings[key]


def with_texts(value, schema: Mapping):
    """Return a configuration in which a bare date or whole number is a text where its schema knows only texts.

    YAML takes 2025-12-31 for a date and 2025 for a number, unless they are in quotes.
    """
    if isinstance(value, Mapping):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        others = others if isinstance(others, Mapping) else {}
        return {key: with_texts(entry, known.get(key, others)) for key, entry in value.items()}
    if isinstance(value, list):
        return [with_texts(entry, schema.get("items", {})) for entry in value]
    kinds = schema.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    if "string" in kinds and kinds.isdisjoint({"integer", "number"}):
        if isinstance(value, date) and not isinstance(value, datetime):
            return value.isoformat()
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return value


def _spelt_out(config, schema) -> dict:
    """Return a copy in which a section that was given as one value holds it under the key ``shorthand`` names."""
    out = copy.deepcopy(dict(config))
    for key, sub in schema["properties"].items():
        value = out.get(key)
        if "properties" in sub and isinstance(value, Mapping):
            out[key] = _spelt_out(value, sub)
        elif "shorthand" in sub and value is not None:
            out[key] = {sub["shorthand"]: value}
    return out


def _field(path) -> str:
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.lstrip(".")


def _unknown(config, schema, source, path) -> Iterator[InputError]:
    known = schema.get("properties")
    if known is None:
        return
    if not isinstance(config, Mapping):
        yield InputError("must be a section with keys", file=source, field=_field(path), hint="see config/README.md")
        return
    for key, value in config.items():
        name = _field((*path, key))
        if key not in known and name in REMOVED:
            yield InputError(
                "is no longer a setting", file=source, field=name, hint=f"leave it out: {REMOVED[name]} {_UPGRADE}"
            )
        elif key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = (
                f"write '{close[0]}' if you meant that key"
                if close
                else "see config/README.md for the keys that exist"
            )
            yield InputError("is not a known key", file=source, field=name, hint=hint)
        elif value is not None or "properties" in known[key]:
            yield from _unknown({} if value is None else value, known[key], source, (*path, key))


def _fill(config, schema):
    if "properties" not in schema:
        return config
    config, out = config if isinstance(config, Mapping) else {}, {}
    for key, sub in schema["properties"].items():
        if "properties" in sub:
            out[key] = _fill(config.get(key), sub)
        else:
            out[key] = config[key] if key in config else copy.deepcopy(sub["default"])
            if sub.get("format") == "path" and isinstance(out[key], str) and out[key]:
                out[key] = _one_spelling(out[key])
    return out


def _one_spelling(path: str) -> str:
    """Return a path relative to the working directory if it lies there, otherwise from the root."""
    path = os.path.abspath(path)
    inside = os.path.relpath(path)
    return path if inside.split(os.sep)[0] == os.pardir else inside


def _problem(error) -> str:
    value, limit = error.instance, error.validator_value
    match error.validator:
        case "type":
            return f"must be of type {limit if isinstance(limit, str) else ' or '.join(limit)}, not {value!r}"
        case "enum":
            return f"is {value!r}, which is not one of {', '.join(map(str, limit))}"
        case "exclusiveMinimum":
            return f"is {value!r} and must be greater than {limit}"
        case "exclusiveMaximum":
            return f"is {value!r} and must be less than {limit}"
        case "minimum":
            return f"is {value!r} and must be at least {limit}"
        case "maximum":
            return f"is {value!r} and must be at most {limit}"
        case "uniqueItems":
            return "has a value twice"
        case "minItems" | "maxItems":
            bound = "at least" if error.validator == "minItems" else "at most"
            return f"has {len(value)} values and must have {bound} {limit}"
        case "minLength" | "maxLength":
            bound = "at least" if error.validator == "minLength" else "at most"
            return f"is {value!r} and must have {bound} {limit} character{'' if limit == 1 else 's'}"
        case "format":
            return f"is {value!r}, which is not a date as in 2025-10-20"
        case "pattern":
            return f"is {value!r}, which is not in the required form"
        case _:
            return f"is {value!r}, which does not fit {error.validator} {limit!r}"


def _hint(error, schema) -> str:
    name = f"{_field(key for key in error.absolute_path if isinstance(key, str))}: {error.instance}"
    if name in REMOVED:
        return f"leave it out: {REMOVED[name]} {_UPGRADE}"
    sub, described = schema, ""
    for key in error.absolute_path:
        sub = sub.get("properties", {}).get(key, sub) if not isinstance(key, int) else sub
        described = sub.get("description", described)
    if not described:
        return "see config/README.md"
    meaning = _lower_first(described.split(". ")[0].rstrip("."))
    return f"correct it, the default is {_flow(sub.get('default'))} ({meaning})"


def _flow(value) -> str:
    """Write a value as YAML on one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=1000).strip().removesuffix("\n...")


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _across_keys(config, source) -> Iterator[InputError]:
    def refuse(field, problem, hint):
        return InputError(problem, file=source, field=field, hint=hint)

    for section, key in (
        ("profiles", "clip_kwh_per_hour"),
        ("quality", "plausible_power_kw"),
        ("export", "typical_daily_kwh"),
    ):
        low, high = config[section][key]
        if not low < high:
            yield refuse(f"{section}.{key}", "has its bounds in the wrong order", "give the lower bound first")
    low, high = config["profiles"]["clip_kwh_per_hour"]
    if not low <= config["profiles"]["default_kwh_per_hour"] <= high:
        yield refuse(
            "profiles.default_kwh_per_hour", "lies outside profiles.clip_kwh_per_hour", "choose a value between"
        )
    scale = LogScale.from_config(config["profiles"])
    if scale.kind != SIGNED and not low + scale.offset_kwh > 0:
        above = "zero" if scale.kind == LOG else f"minus the offset of {scale.offset_kwh:g}"
        yield refuse(
            "profiles.clip_kwh_per_hour",
            f"has a lower bound of {low:g}, and with profiles.log_scale.kind '{scale.kind}' it must be above {above}",
            "raise it, or choose the kind 'offset' with a larger offset_kwh_per_hour, or 'signed'",
        )
        return  # the bounds of the scale are not numbers
    if scale.kind == SIGNED and low > 0:
        yield refuse(
            "profiles.clip_kwh_per_hour",
            f"has a lower bound of {low:g}, so profiles.log_scale.kind '{SIGNED}' keeps no feed-in",
            "give the largest feed-in of an hour as a number below zero, such as [-15, 20], or choose the kind 'log'",
        )
    if config["export"]["flow"] == "net" and scale.least_negative_kwh >= 0:
        yield refuse(
            "export.flow",
            f"is net, but profiles.clip_kwh_per_hour begins at {low:g}, which keeps no feed-in",
            "set profiles.log_scale to {kind: signed} and profiles.clip_kwh_per_hour to bounds such as [-15, 20]",
        )
    sound = config["mechanisms"]["sound"]
    (least, most), level = scale.bounds_log_kwh, sound["level_log_kwh"]
    if not least <= level <= most:
        yield refuse(
            "mechanisms.sound.level_log_kwh",
            f"is {level:g}, and profiles.clip_kwh_per_hour reaches from {least:.3g} to {most:.3g} log kWh",
            "choose a value between, that of a typical load",
        )
    if config["profiles"]["vector"] == "typical_day" and config["profiles"]["date"] != "auto":
        yield refuse(
            "profiles.date",
            "is set, but profiles.vector is 'typical_day', with which every household has a day of its own",
            "leave it out, or write vector: half_day, start_hour: 12 and hours: 12, which was the default",
        )
    designs, of_files = (config["class_noise"][key] for key in ("designs", "file_design"))
    if of_files not in designs:
        others = [design for design in designs if design != "none"]
        hint = f"or set class_noise.file_design to {' or '.join(others)}" if others else "or leave the setting out"
        yield refuse(
            "class_noise.designs",
            f"lacks {of_files}, the design of the forecast files (class_noise.file_design)",
            f"add it, {hint}",
        )
    if config["neighbourhoods"]["by"] == "file" and config["neighbourhoods"]["file"] is None:
        yield refuse(
            "neighbourhoods.file", "is missing, but neighbourhoods.by is 'file'", "give the path of the pairs"
        )
    if config["export"]["path"] is None and Weekend.of(config["export"]) != SATURDAY_SUNDAY:
        yield refuse("export.weekend", "is set, but the weekend of simulated households is fixed", "leave it out")
    if config["export"]["path"] is not None and config["export"]["time_zone"] is None:
        yield refuse(
            "export.time_zone",
            "is not set, but local hours, days and weekends depend on it",
            "give the IANA zone of the homes, such as Europe/Zurich; `meterdp check` says what the stamps reveal",
        )
    yield from _of_federation(config, refuse)
    for key in ("time_zone", "stamp_time_zone"):
        zone = config["export"][key]
        try:
            ZoneInfo(zone or "UTC")
        except (KeyError, ValueError, OSError):
            yield refuse(
                f"export.{key}",
                f"is {zone!r}, which is not a known time zone",
                zone_hint(zone),
            )


def _of_federation(config, refuse) -> Iterator[InputError]:
    """Yield what can be checked before the circuits are counted; ``federated.study`` counts those of an export."""
    federation, export = config["federation"], config["export"]
    if federation["by"] is None:
        return
    if export["path"] is None:
        circuits, colluding = config["simulate"]["circuits"], federation["colluding"]
        if circuits < FEWEST_CIRCUITS:
            yield refuse(
                "simulate.circuits",
                f"is {circuits}, but with fewer than {FEWEST_CIRCUITS} circuits each learns what the other has",
                "raise it, or set federation.by to null",
            )
        if colluding >= circuits - 1:
            yield refuse(
                "federation.colluding",
                f"is {colluding} of {circuits} circuits, so that no sum of two circuits is left to hide behind",
                f"lower it to {circuits - 2} or less",
            )
    elif export["circuit_column"] is None and export["meters"] is None:
        yield refuse(
            "federation.by",
            "is 'circuit', but nothing names the circuit of a meter",
            "set export.circuit_column, or name circuits in export.meters",
        )


def shown_epsilon(config: Mapping) -> float:
    """Return the epsilon at which a study shows synthetic profiles: that of the release, if it is among those tried.

    Otherwise it is the one in the middle, or the lower of two.
    """
    epsilons = sorted(config["mechanisms"]["epsilons"])
    asked = config["release"]["epsilon"]
    return asked if asked in epsilons else epsilons[(len(epsilons) - 1) // 2]


def _walk(schema, path=()) -> Iterator[tuple[tuple[str, ...], Mapping]]:
    for key, sub in schema["properties"].items():
        yield (*path, key), sub
        if "properties" in sub:
            yield from _walk(sub, (*path, key))


def as_yaml(schema: Mapping) -> str:
    """Return the default configuration with a comment per key."""
    lines = ["# Every setting with its default; config/README.md describes them. Unknown keys are refused."]
    for path, sub in _walk(schema):
        indent = "  " * (len(path) - 1)
        if "properties" in sub:
            lines += [*([""] if len(path) == 1 else []), f"{indent}# {sub['description']}", f"{indent}{path[-1]}:"]
        else:
            lines.append(f"{indent}{path[-1]}: {_flow(sub['default'])}")
    return "\n".join(lines) + "\n"


def as_markdown(schema: Mapping) -> str:
    """Return the table of settings for config/README.md."""
    lines = ["| key | default | may be | meaning |", "| --- | --- | --- | --- |"]
    for path, sub in _walk(schema):
        name = f"`{'.'.join(path)}`"
        if "properties" in sub:
            short = f"a section, or its {sub['shorthand']} alone" if "shorthand" in sub else ""
            lines.append(f"| **{'.'.join(path)}** | | {short} | {sub['description']} |".replace("|  |", "| |"))
            continue
        lines.append(f"| {name} | `{_flow(sub['default'])}` | {_allowed(sub)} | {sub['description']} |")
    return "\n".join(lines) + "\n"


def _allowed(sub) -> str:
    if "enum" in sub:
        # A mark or nothing is written as in the file, so that it can be seen.
        marked = (word is None or not any(map(str.isalnum, str(word))) for word in sub["enum"])
        return ", ".join(_flow(w) if mark else str(w) for w, mark in zip(sub["enum"], marked, strict=True))
    if sub.get("type") == "array":
        items = sub["items"]
        return f"list of: {_allowed(items)}"
    kind = sub.get("type", "")
    text = " or ".join(kind) if isinstance(kind, list) else kind
    for key, sign in (("exclusiveMinimum", ">"), ("minimum", "≥"), ("exclusiveMaximum", "<"), ("maximum", "≤")):
        if key in sub:
            text += f" {sign} {sub[key]}"
    return text


def read_files(files: list[str]) -> dict:
    """Return the settings of several files, later ones on top.

    Raises
    ------
    InputError
        If a file is missing or is not YAML with sections and keys.
    """
    merged: dict = {}
    for file in files:
        try:
            value = _loaded(Path(file).read_text(encoding="utf-8"))
        except OSError:
            raise InputError("cannot be read", file=file, hint="give the path of a configuration file") from None
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text", file=file, hint="save it as UTF-8") from None
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            row = mark.line + 1 if mark else None
            raise InputError(
                "is not valid YAML", file=file, row=row, hint="write 'key: value' lines as in config/config.yaml"
            ) from None
        if not isinstance(value or {}, Mapping):
            raise InputError("holds no keys", file=file, hint="write 'key: value' lines as in config/config.yaml")
        _merge(merged, value or {})
    return merged


def _loaded(text: str):
    """Return what Snakemake reads in a file: JSON, or else YAML, where tabs may not stand as in JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return yaml.load(text, Loader=_LOADER)


def refuse_templates(files: Iterable[str]) -> None:
    """Refuse files whose Python Snakemake has run by now, which this can no longer prevent.

    Raises
    ------
    InputError
        Naming the first of them.
    """
    for file in files:
        # A pipe was read, and cannot be read again.
        if Path(file).is_file() and _TEMPLATE in read_files([str(file)]):
            raise InputError(
                "is a template, whose Python Snakemake has run already",
                file=file,
                field=_TEMPLATE,
                hint="write plain settings, look at what the file did, and start with make, which runs none of it",
            )


def _merge(into: dict, other: Mapping) -> None:
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)
