"""What a ledger says was charged under a name."""

from meterdp.release.account import CHARGED
from meterdp.release.charge import NOTHING, Charge
from meterdp.release.show import statements


def spent(ledger, account) -> Charge:
    """Return the sum of all charges under a name, lost attempts included."""
    return next((one.total for one in statements(ledger.events()) if one.account == account), NOTHING)


def states(events) -> list[tuple[str, str]]:
    """Return what became of every request, by what it was of."""
    artefact = {event["request"]: event["words"]["artefact"] for event in events if event["kind"] == CHARGED}
    return sorted((artefact[event["request"]], event["kind"]) for event in events if "request" in event)
