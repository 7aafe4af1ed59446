"""Releases of made-up files, and what a ledger says was charged under a name."""

from collections.abc import Callable
from dataclasses import dataclass, field

from meterdp.privacy.charge import NOTHING, Charge
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.policy import FEWEST_HOUSEHOLDS
from meterdp.privacy.release import Part, release
from meterdp.privacy.spent import CHARGED
from meterdp.release.forecasts import forecast_mechanisms
from meterdp.release.mixture import ReleasedMixture
from meterdp.release.show import statements

SOUND = Guarantee("one household", "replace_one", 1.0, 0.0, "made up", "none", "sound")


@dataclass(frozen=True)
class Drawn:
    """A mechanism whose files a function of earlier files makes."""

    loss: Charge
    draw: Callable
    guarantee: Guarantee = SOUND
    households: int = FEWEST_HOUSEHOLDS
    parameters: dict = field(default_factory=dict)

    def answer(self, records, noise, earlier):
        return self.draw(earlier)

    def render(self, answers, earlier):
        return answers


def spent(ledger, budget) -> Charge:
    """Return the sum of all charges under a name, lost attempts included."""
    return next((one.total for one in statements(ledger.events()) if one.budget == budget), NOTHING)


def states(events) -> list[tuple[str, str]]:
    """Return what became of every request, by what it was of."""
    artefact = {event["request"]: event["words"]["artefact"] for event in events if event["kind"] == CHARGED}
    return sorted((artefact[event["request"]], event["kind"]) for event in events if "request" in event)


def released_all(ledger, links, limit, ready=None) -> list[dict[str, bytes]]:
    """Return the files of linked requests; each is drawn by a function of the files before."""
    parts = [Part(request, Drawn(request.charge, draw)) for request, draw in links]
    return release(parts, None, ledger, limit, ready)


def released(ledger, request, limit, draw) -> dict[str, bytes]:
    """Return the files of a request; ``draw`` makes them, if there are none."""
    return released_all(ledger, [(request, lambda earlier: draw())], limit)[0]


def release_mixture(log_kwh, service, folder=None) -> dict[str, bytes]:
    """Return the files of the mixture of a configuration."""
    return service.release([ReleasedMixture.configured(len(log_kwh), service, None)], log_kwh, folder)[0]


def release_forecasts(log_kwh, circuit, service) -> tuple[dict[str, bytes], list[str]]:
    """Return the forecast files of a configuration, and the name of every household's file."""
    return service.release(forecast_mechanisms(len(log_kwh), circuit, service), log_kwh)
