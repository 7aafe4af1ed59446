"""What may be released at all, whatever made it; decided by public numbers, never by a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from meterdp.errors import InputError
from meterdp.privacy.guarantee import Guarantee, Limit

# Below this a mixture of households describes hardly more than the households.
FEWEST_HOUSEHOLDS = 50
# Sums of so many records are exact on the grid.
MOST_HOUSEHOLDS = 2**22
# The forecast of a smaller group says more of its households than of a group.
FEWEST_IN_GROUP = 15
# Groups that a refusal names.
MOST_NAMED = 5
# "model" for forecasts that hide whom they belong to: deterministic queries, one noise and grid for all labels.
RELEASABLE = ("sound", "model")


def check_release(guarantee: Guarantee, households: int, limit: Limit) -> None:
    """Refuse what may not leave: no proof, too large a delta for its households, or too few or many of them."""
    if guarantee.family not in RELEASABLE:
        raise refused(
            "release",
            f"is of family '{guarantee.family}', which is for study only",
            "release a mechanism with a proof",
        )
    for refusal in refusals_of_list(guarantee.delta, households, limit):
        raise refusal


def refusals_of_list(delta: float, households: int, limit: Limit) -> Iterator[InputError]:
    """Yield what :func:`check_release` refuses about a release of some delta for so many households."""
    if households < FEWEST_HOUSEHOLDS:
        yield refused(
            "export.meters", f"lists fewer than {FEWEST_HOUSEHOLDS} households", "release about more households"
        )
    if households > MOST_HOUSEHOLDS:
        yield refused("export.meters", f"lists more than {MOST_HOUSEHOLDS} households", "release them in parts")
    largest = 1 / households
    if delta > min(limit.delta, largest):
        problem = f"must not exceed 1/N = {largest:.3g} or release.cap_delta = {limit.delta:g}"
        yield refused("release.delta", f"is {delta:g}, but {problem}", "use a smaller delta")
    if limit.delta > largest:
        problem = f"is {limit.delta:g}, but must not exceed 1/N = {largest:.3g}"
        yield refused("release.cap_delta", problem, "use a smaller one")


def check_groups(households: Mapping[str | None, int]) -> None:
    """Refuse public groups, households of each by name, of which one has fewer than ``FEWEST_IN_GROUP``."""
    if small := [f"'{name}' ({n})" for name, n in sorted(households.items()) if n < FEWEST_IN_GROUP]:
        more = f" and {len(small) - MOST_NAMED} more" if len(small) > MOST_NAMED else ""
        raise refused(
            "release.forecast_groups",
            f"makes groups of fewer than {FEWEST_IN_GROUP} households: {', '.join(small[:MOST_NAMED])}{more}",
            "join small circuits in export.meters, or use 'one'",
        )


def refused(field: str, problem: str, hint: str) -> InputError:
    """Return the refusal of a setting."""
    return InputError(problem, file="config", field=field, hint=hint)
