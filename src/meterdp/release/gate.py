"""The gate: what a release must be before anything is charged, each refusal one sentence with its remedy.

It looks at public settings and at what a mechanism says of itself, never at a record.
"""

from __future__ import annotations

from collections.abc import Mapping

from meterdp.core.errors import InputError
from meterdp.core.guarantee import Guarantee
from meterdp.release.account import Account, Cap

# Below this a mixture of households describes hardly more than the households.
FEWEST_HOUSEHOLDS = 50
SIMULATED = "simulated households"
# What the folder of a released mixture holds, and nothing else.
MIXTURE_FILES = ("mixture.parquet", "mixture.json", "synthetic_profiles.parquet", "manifest.json", "README.md")


def check_settings(config: Mapping, simulated: bool) -> None:
    """Refuse a configuration from which nothing may be released.

    Parameters
    ----------
    config : mapping
        The whole configuration.
    simulated : bool
        Whether the export is simulated; it brings its list, its period and its name.

    Raises
    ------
    InputError
        Naming the first setting that does not do.
    """
    export, release = config["export"], config["release"]
    if not simulated:
        for key, what in (
            ("meters", "a public list of meters, without which the number of households is private"),
            ("first_day", "a public period, without which one stray stamp moves every record"),
            ("last_day", "a public period, without which one stray stamp moves every record"),
        ):
            if export[key] is None:
                raise _refused(f"export.{key}", f"is not set: a release needs {what}", "set it, see config/README.md")
        for key in ("population", "budget_period"):
            if release[key] is None:
                raise _refused(
                    f"release.{key}", "is not set: the ledger needs a public name", "set it, see config/README.md"
                )
    if config["mechanisms"]["sound"]["adjacency"] != "replace_one":
        raise _refused(
            "mechanisms.sound.adjacency",
            "is add_remove: with a public list of meters who is in it is no secret",
            "set it to replace_one",
        )
    if release["delta"] > release["cap_delta"]:
        raise _refused("release.delta", "is larger than release.cap_delta", "use a smaller delta")


def check_release(guarantee: Guarantee, households: int, cap: Cap) -> None:
    """Refuse what may not leave, whatever made it.

    Raises
    ------
    InputError
        If the mechanism is not sound, delta is too large for so many households, or there are too few of them.
    """
    if guarantee.family != "sound":
        raise _refused(
            "release", f"is of family '{guarantee.family}', which is for study only", "release a sound mechanism"
        )
    if households < FEWEST_HOUSEHOLDS:
        raise _refused(
            "export.meters", f"lists fewer than {FEWEST_HOUSEHOLDS} households", "release about more households"
        )
    if guarantee.delta > min(cap.delta, 1 / households):
        raise _refused(
            "release.delta", "is larger than 1 in the number of households, or than the cap", "use a smaller delta"
        )


def account_of(guarantee: Guarantee, config: Mapping, simulated: bool) -> Account:
    """Return whose privacy a release spends."""
    release = config["release"]
    names = [release[key] or (SIMULATED if simulated else None) for key in ("population", "budget_period")]
    return Account(guarantee.unit, guarantee.adjacency, *names)


def _refused(field: str, problem: str, remedy: str) -> InputError:
    return InputError(problem, file="config", field=field, remedy=remedy)
