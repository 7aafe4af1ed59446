"""Releases of made-up files, and what a ledger says was charged under a name."""

from meterdp.privacy.charge import NOTHING, Charge
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.policy import FEWEST_HOUSEHOLDS
from meterdp.privacy.release import Part, release
from meterdp.privacy.spent import CHARGED
from meterdp.release.show import statements

SOUND = Guarantee("one household", "replace_one", 1.0, 0.0, "made up", "none", "sound")


def spent(ledger, budget) -> Charge:
    """Return the sum of all charges under a name, lost attempts included."""
    return next((one.total for one in statements(ledger.events()) if one.budget == budget), NOTHING)


def states(events) -> list[tuple[str, str]]:
    """Return what became of every request, by what it was of."""
    artefact = {event["request"]: event["words"]["artefact"] for event in events if event["kind"] == CHARGED}
    return sorted((artefact[event["request"]], event["kind"]) for event in events if "request" in event)


def released_all(ledger, links, limit, ready=None) -> list[dict[str, bytes]]:
    """Return the files of linked requests; each is drawn by a function of the files before."""
    parts = [
        Part(request, SOUND, FEWEST_HOUSEHOLDS, lambda _, noise, earlier, draw=draw: draw(earlier), _same)
        for request, draw in links
    ]
    return release(parts, None, ledger, limit, ready)


def released(ledger, request, limit, draw) -> dict[str, bytes]:
    """Return the files of a request; ``draw`` makes them, if there are none."""
    return released_all(ledger, [(request, lambda earlier: draw())], limit)[0]


def _same(files, earlier):
    return files
