"""Which files may leave the building, whether this configuration may be released, and what to say with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from meterdp.errors import InputError
from meterdp.figures.report.grid import Tables
from meterdp.privacy.guarantee import UNIT_OF, Guarantee, Limit
from meterdp.privacy.policy import check_release
from meterdp.release.service import in_plain_words
from meterdp.release.settings import SIMULATED, refusals_of

# What of a release is called in the configuration -> what it is, more of what its folder holds, key of its epsilon.
_FOLDERS = {
    "mixture": ("typical load profiles", " and made-up customers sampled from them", "epsilon"),
    "forecasts": ("forecasts", ", one for every listed customer in a file with a random name", "forecast_epsilon"),
    "feeders": (
        "energy totals of feeders",
        ", a number for every feeder and interval, if the list of meters names one for each",
        "feeder_epsilon",
    ),
}


@dataclass(frozen=True)
class Leaving:
    """What the first page says about a release.

    Parameters
    ----------
    folders : sequence of (path, what it holds)
        Below the results folder.
    missing : sequence of (setting, sentence)
        What the gate would refuse; empty where a release could be made.
    sentences : sequence of str
        To be handed on with the files.
    """

    folders: Sequence[tuple[str, str]]
    missing: Sequence[tuple[str, str]]
    sentences: Sequence[str]


def leaving(tables: Tables, settings: Mapping, simulated: bool) -> Leaving | None:
    """Return what could leave under these settings; nothing without the section ``release``."""
    release = settings.get("release")
    if not release:
        return None
    known = {what: _FOLDERS[what] for what in release["what"] if what in _FOLDERS}
    return Leaving(
        [(f"release/{what}/", words + more) for what, (words, more, _) in known.items()],
        [(error.field, f"{error.problem}; {error.hint}.") for error in _refusals(tables, settings, simulated)],
        _sentences({what: release[key] for what, (*_, key) in known.items()}, settings, simulated),
    )


def _refusals(tables: Tables, settings: Mapping, simulated: bool) -> list[InputError]:
    """What the gate says of the settings and, as far as the study knows it, of the number of households."""
    refused = list(refusals_of(settings, simulated))
    release, quality = settings["release"], tables.get("quality_summary")
    if quality is not None:
        households = int(quality.loc[quality["scope"] == "households", "item_count"].sum())
        stated = Guarantee("", "replace_one", release["epsilon"], release["delta"], "", "", "sound")
        try:
            check_release(stated, households, Limit(release["cap_epsilon"], release["cap_delta"]))
        except InputError as error:
            refused.append(error)
    return refused


def _sentences(epsilons: Mapping[str, float], settings: Mapping, simulated: bool) -> list[str]:
    """Return one sentence for all folders of the same guarantee."""
    release, export = settings["release"], settings["export"]
    who = release["population"] or (SIMULATED if simulated else "[population]")
    when = "from {} to {}".format(*(export.get(key) or "[day]" for key in ("first_day", "last_day")))
    same: dict[float, list[str]] = {}
    for what, epsilon in epsilons.items():
        if what != "forecasts" or release["forecast_protects"] == "readings":
            same.setdefault(epsilon, []).append(what)
    said = [
        f"{' and '.join(_FOLDERS[what][0] for what in folders).capitalize()} of {who}, made from readings {when}. "
        f"{in_plain_words(epsilon, release['delta'], ', each' if len(folders) > 1 else '')} "
        "Releases about the same households add up."
        for epsilon, folders in same.items()
    ]
    if "forecasts" in epsilons and release["forecast_protects"] == "label":
        said.append(
            f"Forecasts of {who}, made from readings {when}: they hide {UNIT_OF['class_label']}, and no reading."
        )
    return said
