"""What the events of a ledger add up to, kept so small that a ledger need not be read from its beginning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from meterdp.core.dates import Interval, day_of, days_of, interval_of
from meterdp.privacy.account import CANCELLED, CHARGED, LISTED, MOVED, PUBLISHED, RAISED, STORED, Account, Cap
from meterdp.privacy.budget import Entry
from meterdp.privacy.charge import NOTHING, Charge

_KEPT = ("kind", "account", "request", "attempt", "mu", "total_variation", "responses", "cap", "meters", "periods")
_ALSO_KEPT = ("planned", "neighbourhoods")


class Entries:
    """Charges, limits, lists and stored releases.

    Parameters
    ----------
    state : dict, optional
        What :attr:`state` was; JSON.
    """

    def __init__(self, state: dict | None = None):
        self.state = state or {"charges": [], "requests": {}, "lists": {}, "batches": [], "former": {}, "zones": {}}

    def apply(self, event: Mapping) -> None:
        """Take one more event into account."""
        kind = event["kind"]
        if kind in (CHARGED, RAISED):
            self._add(event)
        elif kind == CANCELLED:
            self._cancel(event["request"], event["attempt"])
        elif kind == LISTED:
            if event["bitmap_sha256"] is not None:
                self.state["lists"][event["meters"]] = event["bitmap_sha256"]
                self.state["batches"].append(event["batch_sha256"])
                self.state["key"] = event["key"]  # a digest: under another key the same meters have other hashes
            self.show(event["meters"], event["former"])
        elif kind in (STORED, MOVED):
            # An earlier version has the digests of all files here, and the files in the ledger.
            self._of(event["request"])["archive"] = event.get("archive")
        elif kind == PUBLISHED:
            self._of(event["request"])["published"] = True

    def show(self, meters: str, former: Iterable[str]) -> None:
        """Know a list again that an earlier version knew by other digests."""
        self.state["former"] = dict.fromkeys(former, meters) | self.state["former"]  # the first to be shown

    def _cancel(self, request: str, attempt: int) -> None:
        """Take a charge back; the plan it made stays if answers may have been seen under it."""
        charges = self.state["charges"]
        for one in charges:
            if (one.get("request"), one.get("attempt")) == (request, attempt):
                one |= {"cancelled": True, "mu": 0.0, "total_variation": 0.0, "responses": []}
        while charges and charges[-1].get("cancelled"):
            charges.pop()

    def _add(self, event: Mapping) -> None:
        kept = {key: event[key] for key in _KEPT if key in event}
        kept |= {key: event[key] for key in _ALSO_KEPT if event.get(key) is not None}
        if event["kind"] == CHARGED:
            self._of(event["request"])["attempts"] += 1
            if "periods" not in event:
                words = event["words"]
                export = words.get("export", {})
                days = event.get("days") or [export.get(key) for key in ("first_day", "last_day")]
                former = {words.get("list_of_meters_sha256"), event.get("meters")} - {None}
                kept |= {"earlier": {"days": days, "lists": sorted(former), "zone": export.get("time_zone")}}
                kept["meters"] = None
                if zone := export.get("time_zone"):
                    zones, label = self.state["zones"], _label(event["account"])
                    zones[label] = zone if zones.get(label, zone) == zone else None  # two zones tell none
        self.state["charges"].append(kept)

    def _of(self, request: str) -> dict:
        return self.state["requests"].setdefault(request, {"attempts": 0, "archive": None, "published": False})

    def attempts(self, request: str) -> int:
        """Return how often a request was charged, cancelled attempts included."""
        return self.state["requests"].get(request, {"attempts": 0})["attempts"]

    def is_charged(self, request: str, meters: str | None, periods: tuple[Interval, ...] | None) -> bool:
        """Whether a charge for a request stands that counts for these meters in these periods."""
        return any(
            one["meters"] == meters and _intervals(one.get("periods")) == periods and "earlier" not in one
            for one in self.state["charges"]
            if one.get("request") == request and "cancelled" not in one
        )

    def is_published(self, request: str) -> bool:
        """Whether the files of a request were written where they may leave."""
        return self.state["requests"].get(request, {"published": False})["published"]

    def archive_of(self, request: str) -> str | None:
        """Return the digest of what was drawn for a request, if it was stored."""
        return self.state["requests"].get(request, {"archive": None})["archive"]

    def archives(self) -> dict[str, str]:
        """Return the digest of what was drawn, by request."""
        return {key: one["archive"] for key, one in self.state["requests"].items() if one["archive"] is not None}

    def entries(self) -> list[Entry]:
        """Return every charge that stands and every raised limit, oldest first."""
        return [self._entry(one) for one in self.state["charges"]]

    def _entry(self, kept: Mapping) -> Entry:
        account, cap = Account(**kept["account"]), Cap(**kept["cap"])
        if kept["kind"] == RAISED:
            return Entry(account, kept["meters"], _intervals(kept["periods"]), NOTHING, cap, raises=True)
        planned = kept.get("planned")
        meters, periods = kept["meters"], _intervals(kept.get("periods"))
        if "earlier" in kept:
            shown = [self.state["former"][one] for one in kept["earlier"]["lists"] if one in self.state["former"]]
            # Who is in an add_remove release is private.
            meters = shown[0] if shown and account.adjacency != "add_remove" else None
            zone = kept["earlier"]["zone"] or self.state["zones"].get(_label(kept["account"]))
            periods = _earlier_periods(account.period, kept["earlier"]["days"], zone)
        return Entry(
            account,
            meters,
            periods,
            Charge.of_event(kept),
            cap,
            None if planned is None else Charge.of_event({"mu": 0.0} | planned),
            kept.get("neighbourhoods"),
        )


def _earlier_periods(name: str, days, zone: str | None) -> tuple[Interval, ...] | None:
    """Return where a charge of an earlier version counts: its days and its period, None if one is unknown."""
    with suppress(ValueError, TypeError, OverflowError):
        first, last = map(day_of, days)
        return tuple(interval_of(*span, zone) for span in [*days_of(name), (first, last)])
    return None


def _intervals(periods) -> tuple[Interval, ...] | None:
    return None if periods is None else tuple((int(start), int(end)) for start, end in periods)


def _label(account: Mapping) -> str:
    return f"{account['population']}\n{account['period']}"
