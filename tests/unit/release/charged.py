"""What a ledger says was charged under a name."""

from meterdp.release.charge import NOTHING, Charge
from meterdp.release.show import statements


def spent(ledger, account) -> Charge:
    """Return the sum of all charges under a name, lost attempts included."""
    return next((one.total for one in statements(ledger.events()) if one.account == account), NOTHING)
