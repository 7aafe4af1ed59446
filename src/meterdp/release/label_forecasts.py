"""Released forecast files that hide whose they are (``class_label``), and nothing about the readings.

A file is the household's own forecast, moved towards those of its public neighbourhood and with noise; all files of
a neighbourhood are covered together (docs/proofs/joint.md). Every period of readings is charged; names are new each
time. Nothing else about these households may be released in the budget period: what these files say of readings no
other guarantee survives.
"""

from __future__ import annotations

import hashlib
import json
import math

import numpy as np

from meterdp.class_noise.towards_centre import LabelPublic, TowardsCentre
from meterdp.core.log_scale import LogScale
from meterdp.forecasting.settings import AHEAD, some_of
from meterdp.ingest.meter_list import parse_meter_list
from meterdp.privacy.charge import Charge
from meterdp.privacy.meter_lists import plain_name
from meterdp.privacy.noise import GRID, GaussianSource
from meterdp.privacy.policy import check_groups
from meterdp.privacy.release import Part
from meterdp.release.forecast_folder import Told, forecast_folder
from meterdp.release.noise import new_ids
from meterdp.release.service import ReleaseService, as_json, words_of

# Counts up when the same public words would give another release.
VERSION = 1
# Which file is whose: kept in the ledger, never handed over.
PLACES = "places.json"
HIDES = (
    "whose file is whose among the households of a neighbourhood, to the extent that epsilon and delta state, even "
    "from those who know the forecast of every household, for all files of the neighbourhood together",
)
DOES_NOT_HIDE = (
    "anything about the readings themselves: nothing is claimed when one household's readings are replaced",
    "who is on the public list of meters, which neighbourhood a household is in, and the typical forecast there",
    "how far the forecasts of a neighbourhood lie apart",
)


def release_label_forecasts(forecast_log_kwh: np.ndarray, circuit: tuple[int, ...] | None, service: ReleaseService):
    """Return files, the name of every household's file and what notes that they were handed over.

    Parameters
    ----------
    forecast_log_kwh : (N, k) float64
        Each household's own forecast, NaN where it has none.
    circuit : tuple of N int, or None
        Public neighbourhoods; all households are one without them.
    service : ReleaseService

    Raises
    ------
    InputError
        If gate or ledger refuses.
    """
    part = label_part(len(forecast_log_kwh), circuit, service)
    (files,), handed_over = service.release(part, records=forecast_log_kwh)
    where = json.loads(files.pop(PLACES))
    return files, where["release_id"], handed_over


def label_part(households: int, circuit: tuple[int, ...] | None, service: ReleaseService) -> Part:
    """Return what releases these forecasts, from public settings alone.

    Parameters
    ----------
    households : int
        N, who get a file.
    circuit, service
        As for :func:`release_label_forecasts`.
    """
    config = service.config
    release, minutes, profiles = config["release"], config["export"]["interval_minutes"], config["profiles"]
    level = LogScale.of_interval(profiles, minutes).log(profiles["default_kwh_per_hour"] * (minutes / 60))
    neighbourhood = (0,) * households if circuit is None else circuit
    check_groups(np.bincount(neighbourhood))
    public = LabelPublic(
        epsilon=release["forecast_epsilon"],
        delta=release["delta"],
        neighbourhood=neighbourhood,
        steps=config["forecast"]["horizon_steps"],
        noise_std_log_kwh=release["forecast_noise_std_log_kwh"],
        centre_log_kwh=float(level),
        grid=GRID,
    )
    mechanism = TowardsCentre.calibrate(public)
    # Their names stay for ever: ledgers know a release by them.
    settings = {
        "epsilon": public.epsilon,
        "delta": public.delta,
        "steps": public.steps,
        "noise_std_log_kwh": public.noise_std_log_kwh,
        "centre_log_kwh": public.centre_log_kwh,
        "grid": public.grid,
        "records": households,
        "neighbourhoods": "one" if circuit is None else "circuit",
    }
    words = words_of(
        "forecasts",
        mechanism.name,
        VERSION,
        settings,
        **service.records(),
        forecast=some_of(config["forecast"], AHEAD),
    )
    charge = Charge(mechanism.mu, mechanism.total_variation)
    request = service.request(
        mechanism.guarantee,
        households,
        charge,
        words,
        setting="release.forecast_epsilon",
        neighbourhoods=_digest_of(neighbourhood, service),
    )

    def answer(forecast_log_kwh: np.ndarray, noise: GaussianSource, _) -> np.ndarray:
        return mechanism.release(forecast_log_kwh, noise)

    def render(released_log_kwh: np.ndarray, _) -> dict[str, bytes]:
        ids = new_ids(households)
        folder = forecast_folder(np.array(ids), released_log_kwh, _told(mechanism), request, service)
        return folder | {PLACES: as_json({"release_id": ids})}

    return Part(request, mechanism.guarantee, households, answer, render)


def _digest_of(neighbourhood: tuple[int, ...], service: ReleaseService) -> str:
    """Return a digest of who is in which neighbourhood; another one is another secret."""
    meters = sorted(plain_name(meter) for meter in parse_meter_list(service.meter_list).meter_ids)
    return hashlib.sha256(as_json([meters, neighbourhood])).hexdigest()


def _told(mechanism: TowardsCentre) -> Told:
    public, guarantee = mechanism.public, mechanism.guarantee
    # Of the files of two households that swap places, at most all of mu; of one file, at most 1 / sqrt(2) of that.
    facts = {
        "mechanism": {
            "name": mechanism.name,
            "query_model": "deterministic",
            "noise_std_log_kwh": public.noise_std_log_kwh,
            "mu_of_all_files_of_a_neighbourhood": mechanism.mu,
            "mu_of_one_file_at_most": mechanism.mu / math.sqrt(2),
            "centre_log_kwh": public.centre_log_kwh,
        }
    }
    return Told(
        guarantee=guarantee,
        what="a household's forecast, moved towards those of its neighbourhood, with noise",
        covers="all files of a neighbourhood together",
        facts=facts,
        opening="Each was moved towards the mean of its neighbourhood and got noise, which limits what it tells of "
        "whose it is. The readings themselves are not protected by it.",
        file="It lies near the mean forecast of its neighbourhood",
        hides=HIDES,
        does_not_hide=DOES_NOT_HIDE,
        means=f"This is a mathematical guarantee, (epsilon, delta) = ({guarantee.epsilon:g}, {guarantee.delta:g}) "
        "for all files of a neighbourhood together: whatever set of outcomes is looked at, its probability is at "
        f"most {math.exp(guarantee.epsilon):.3g} times what it would be with the files handed to the households in "
        f"any other order, plus {guarantee.delta:g}, even for somebody who knows every household's forecast. "
        "Releases add up; whoever publishes them keeps a ledger of the sum.",
    )
