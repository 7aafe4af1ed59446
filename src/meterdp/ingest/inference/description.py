"""What `meterdp check` prints: what an export is, what speaks against it, and a configuration to paste."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import yaml

from meterdp.core.stamps import local_text
from meterdp.ingest.dense import REASONS, USED
from meterdp.ingest.findings import daily_kwh
from meterdp.ingest.inference.examine import Finding
from meterdp.ingest.inference.trial import Trial
from meterdp.ingest.readers.interface import READERS


def format_words(settings: Mapping) -> str:
    form = settings.get("format", "long_csv")
    if form == "wide_csv" and settings.get("wide_layout") == "meters":
        return "wide CSV, a column per meter"
    return READERS[form].title


def finding_words(path, found: Finding) -> str:
    trial = found.trial
    lines = [f"{path}: {format_words(found.settings)}", *_numbers(trial, found.settings["time_zone"])]
    lines += [f"  {sentence}" for sentence in [*found.said, *(found.clock.sentences() if found.clock else [])]]
    lines += _period(found)
    lines += _rows(trial)
    if to_check := [*found.to_check, *found.odd]:
        lines += ["", "To be checked by somebody who knows the export:"]
        lines += [f"  - {sentence}" for sentence in to_check]
    if found.findings:
        lines += ["", "A study would be refused:"]
        lines += [f"  - {finding}" for finding in found.findings]
    return "\n".join(lines)


def _numbers(trial: Trial, zone: str) -> list[str]:
    settings, slots = trial.settings, trial.starts_us
    first, last = (text[:10] for text in local_text(slots[[0, -1]].astype("datetime64[us]"), zone))
    days = round(len(slots) * settings.interval_minutes / (24 * 60))
    part = "" if trial.whole else " (of the first rows: the file goes on)"
    daily = daily_kwh(trial.energy_kwh, settings.interval_minutes)
    return [
        f"  {len(trial.energy_kwh):,} meters, {int(trial.counts[USED]):,} usable readings{part}",
        f"  intervals of {settings.interval_minutes} minutes, {first} to {last} ({days} days)",
        f"  in {settings.unit}; a typical meter uses {daily:.3g} kWh a day",
    ]


def _period(found: Finding) -> list[str]:
    begin, end, kept, kept_whole = found.period
    meters, slots = found.trial.energy_kwh.shape
    missing = float(np.median(np.isnan(found.trial.energy_kwh[:, begin:end]).mean(axis=1)))
    days = f"from {found.settings['first_day']} to {found.settings['last_day']}"
    said = [f"  {days} a typical meter lacks {missing:.1%} of its readings"]
    if (begin, end) != (0, slots):
        said.append(
            f"  {kept:,} of {meters:,} meters have enough of them for a study; in the whole period {kept_whole:,}"
        )
    elif kept < meters:
        said.append(f"  {kept:,} of {meters:,} meters have enough of them for a study")
    return said


def _rows(trial: Trial) -> list[str]:
    lines = []
    for (reason, tokens), count in zip(REASONS.items(), trial.counts.tolist(), strict=True):
        if count and reason != "used":
            lines.append(f"  {count:,} rows: {tokens[:1].lower()}{tokens[1:].rstrip('.')}")
    return lines


def config_text(path, found: Finding) -> str:
    """Return a complete configuration that reads the export, with a remark where something is to be checked."""
    # A file of one meter is called after it.
    alone = found.settings.get("meter_column", "") is None and Path(path).is_file()
    name = "one meter" if alone else Path(path).resolve().name.split(".")[0]
    settings = {"path": str(path), "format": "long_csv", **found.settings}
    config = {"title": f"Study of {name}", "results_dir": "results-" + name.replace(" ", "-"), "export": settings}
    remarks = [f"# To be checked: {sentence}\n" for sentence in found.to_check]
    remarks.append("# The days were chosen by the readings: for a release choose them without looking at any.\n")
    return "".join(remarks) + yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=100)
