"""Releases of made-up files and of a made-up town, and what a ledger says was charged under a name."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from meterdp.core.config import complete, load_schema
from meterdp.errors import InputError
from meterdp.privacy.charge import NOTHING, Charge
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.policy import FEWEST_HOUSEHOLDS
from meterdp.privacy.release import Part, release
from meterdp.privacy.spent import CHARGED
from meterdp.release.forecasts import forecast_mechanisms
from meterdp.release.mixture import ReleasedMixture
from meterdp.release.service import ReleaseService
from meterdp.release.show import statements
from tests.conftest import ROOT

SOUND = Guarantee("one household", "replace_one", 1.0, 0.0, "made up", "none", "sound")
DEFAULTS = complete({}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))


def config(**sections) -> dict:
    """Return the default configuration with other settings in some sections."""
    out = copy.deepcopy(DEFAULTS)
    for name, values in sections.items():
        out[name] |= values
    return out


def service(folder, month="01", year=2025, meters=b"meter_id\nm1\n", simulated=True, sections=(), **release):
    """Return the service of a town whose ledger is in a folder, for four weeks of a month.

    ``sections`` are other settings, by section; ``release`` those of the release.
    """
    given = config(**dict(sections))
    days = {"first_day": f"{year}-{month}-01", "last_day": f"{year}-{month}-28", "time_zone": "America/Los_Angeles"}
    given["export"] = given["export"] | days | dict(sections).get("export", {})
    town = {"population": "town", "budget_period": "2025", "ledger": str(folder / "ledger.sqlite")}
    given["release"] |= town | {"allow": ["poor"], "synthetic_profiles": 5} | release
    return ReleaseService(given, meters, simulated)


@dataclass(frozen=True)
class Made:
    """A mechanism made of two functions."""

    loss: Charge
    answer: Callable
    render: Callable = lambda answers, earlier: answers
    guarantee: Guarantee = SOUND
    households: int = FEWEST_HOUSEHOLDS
    parameters: dict = field(default_factory=dict)
    prepared: Callable = lambda records: records


def never(*_):
    raise AssertionError("noise was drawn")


def fails(error):
    raise error


def kinds(ledger) -> list[str]:
    """Return what kinds of events a ledger has."""
    return [event["kind"] for event in ledger.events()]


def spent(ledger, budget) -> Charge:
    """Return the sum of all charges under a name, lost attempts included."""
    return next((one.total for one in statements(ledger.events(), {}) if one.budget == budget), NOTHING)


def states(events) -> list[tuple[str, str]]:
    """Return what became of every request, by what it was of."""
    artefact = {event["request"]: event["words"]["artefact"] for event in events if event["kind"] == CHARGED}
    return sorted((artefact[event["request"]], event["kind"]) for event in events if "request" in event)


def released_all(ledger, links, limit, ready=None) -> list[dict[str, bytes]]:
    """Return the files of linked requests; functions of the files before draw them in the place of noise."""

    def part(request, draw):
        def answer(records, noise, earlier):
            return noise._source._once("files", np.empty(0), lambda: np.frombuffer(pickle.dumps(draw(earlier)), "u1"))

        return Part(request, Made(request.charge, answer, lambda answers, earlier: pickle.loads(answers.tobytes())))

    return release([part(*link) for link in links], None, ledger, limit, ready)


def released(ledger, request, limit, draw=lambda: {"a": b"x"}) -> dict[str, bytes]:
    """Return the files of a request; ``draw`` makes them, if there are none."""
    return released_all(ledger, [(request, lambda earlier: draw())], limit)[0]


def stopped(ledger, request, limit, lost: bool) -> None:
    """Start a release that dies while it draws, or when everything is drawn and nothing stored."""
    draws = [lambda: fails(KeyboardInterrupt())] * lost
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ledger, "store", lambda *_: fails(KeyboardInterrupt()))
        released(ledger, request, limit, *draws)


def refused(ledger, request, limit, words="would spend more") -> None:
    """Check that a request is refused in these words, before noise is drawn."""
    with pytest.raises(InputError, match=words):
        released(ledger, request, limit, never)


def release_mixture(log_kwh, service, folder=None) -> dict[str, bytes]:
    """Return the files of the mixture of a configuration."""
    return service.release([ReleasedMixture.configured(len(log_kwh), service, None)], log_kwh, folder)[0]


def release_forecasts(log_kwh, circuit, service) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of released forecasts, and the random name of every household."""
    if circuit is not None:  # as the public list names them
        rows = "".join(f"m{number:04d},feeder {group}\n" for number, group in enumerate(circuit))
        service = replace(service, meter_list=f"meter_id,circuit\n{rows}".encode())
    return service.release(forecast_mechanisms(len(log_kwh), circuit, service), log_kwh)
