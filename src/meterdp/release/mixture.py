"""The released mixture: from records to released files.

The files are made once, when the noise is drawn, and are the same bytes ever after: the mixture as Parquet and as
JSON for scikit-learn, synthetic profiles, a manifest for machines and a page for people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import ClassVar

import numpy as np

from meterdp.core.log_scale import LOG
from meterdp.core.noise import FreshNumbers
from meterdp.core.parquet import read_table, table_bytes
from meterdp.core.weekend import Weekend
from meterdp.ingest.meter_list import MeterList
from meterdp.ingest.tables import METERS
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings, Released
from meterdp.mechanisms.proven.marginals import sample_reweighted
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ALONE, SharedNoise, Shares
from meterdp.mechanisms.proven.prior_mixture import AUTO, SHIPPED
from meterdp.mixture.draws import Mixture
from meterdp.privacy.mechanism import Files
from meterdp.privacy.noise import GRID, GaussianSource
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records, VectorRules, hour_rows
from meterdp.publish.tables import RELEASED_MIXTURE, RELEASED_PROFILES
from meterdp.release.plan import Expected, Plan, mostly_default
from meterdp.release.service import (
    HIDES,
    LISTED,
    SEVERAL_METERS,
    Calibrated,
    ReleaseService,
    as_json,
    public_fields,
    request_parameters,
    sentence,
)
from meterdp.release.settings import check_meters
from meterdp.release.worth import QUANTILES, TRIED, tried

# Count up when the same parameters ask for other measurements, without a prior mixture and with one.
VERSION, PRIOR_VERSION = 1, 3
# Request parameters of every mixture.
PUBLIC = (
    *("epsilon", "delta", "classes", "dimension", "records"),
    *("low_log_kwh", "high_log_kwh", "eigenvalue_floor"),
)
SOUND = (
    *("adjacency", "records_guess", "classes", "rounds"),
    *("level_log_kwh", "hour_correlation", "marginal_share", "grid"),
)
SHARED_NOISE = "docs/proofs/shared_noise.md"
# A synthetic profile whose hours differ less from the public default, as a root mean square of logarithms, is one of
# a meter without usable readings: no home uses as much in every hour.
_LIKE_THE_DEFAULT = 0.2
# From this mean energy of an hour the plan holds: where homes use less, noise hides more of it.
LEAST_TRIED_KWH = 0.25
# A component with a smaller share is only counted on the page.
SHOWN_SHARE = 0.01
DOES_NOT_HIDE = (
    LISTED,
    "what is true of the population: typical profiles, how common they are and how much they vary",
    SEVERAL_METERS,
)


@dataclass(frozen=True)
class ReleasedMixture(Calibrated):
    """The mixture of a configuration, released.

    Its records are (N, d) float64, log kWh: profile vectors of all listed households, the public default record where
    not valid. ``shared`` says how circuits or nodes share the noise, if they do; ``more`` are further request
    parameters.
    """

    mechanism: Proven
    service: ReleaseService
    shared: SharedNoise | None = None
    artefact: str = "mixture"
    more: Mapping = field(default_factory=dict)
    setting: ClassVar[str] = "release.epsilon"
    what: ClassVar[str] = "a mixture and synthetic profiles"

    @property
    def plan(self) -> Plan:
        return plan_of(self.mechanism.public)

    @property
    def groups(self) -> tuple[str | None, ...]:
        return () if self.shared is None else self.service.circuits

    @classmethod
    def configured(cls, households: int, service: ReleaseService, shared: SharedNoise | None) -> ReleasedMixture:
        shares = ALONE if shared is None else shared.shares
        public = configured(service.config, households, GRID, shares)
        return cls(Proven.calibrate(public), service, shared)

    @property
    def parameters(self) -> dict:
        return request_parameters(
            self.artefact,
            self.mechanism.name,
            VERSION if self.mechanism.public.sound.prior_mixture is None else PRIOR_VERSION,
            parameters_of(self.mechanism.public),
            **self.service.records(
                profile_keys=[one.name for one in fields(VectorRules)],
                by_weekend=self.service.config["profiles"]["vector"] == "typical_day",
            ),
            synthetic_profiles=self.service.config["release"]["synthetic_profiles"],
            **({} if self.shared is None else {"federation": self.shared.words}),
            **self.more,
        )

    @property
    def former_parameters(self) -> Mapping:
        public = self.mechanism.public
        return {"public": parameters_of(public) | {"classes": public.classes}}

    def answer(self, log_kwh: np.ndarray, noise: GaussianSource, earlier: Sequence[Files]) -> Released:
        return self.mechanism.release(PrivateRecords(log_kwh), noise, 1)

    def render(self, released: Released, earlier: Sequence[Files]) -> Files:
        return released_files(released, self)


def mechanisms(listed: MeterList, service: ReleaseService) -> tuple[ReleasedMixture]:
    shared = None
    if service.config["federation"]["by"] is not None:
        from meterdp.federated.shared_noise import shared_noise

        shared = shared_noise(service.config["federation"], listed.table)
    return (ReleasedMixture.configured(len(listed.meter_ids), service, shared),)


def records(files: Mapping, config: Mapping, listed: MeterList) -> np.ndarray:
    log_kwh = Records.from_table(read_table(files["records"], PROFILES)).log_kwh
    check_meters(read_table(files["known"], METERS)["meter_id"].to_pylist(), listed.meter_ids, len(log_kwh))
    return log_kwh


def plan(config: Mapping, meters: int, feeders: int, listed: MeterList | None = None) -> Plan:
    return plan_of(configured(config, meters))


def configured(config: Mapping, listed: int, grid: float = 0.0, shares: Shares = ALONE) -> PublicSettings:
    """Return the public settings of the mixture that a configuration asks for, of so many listed meters."""
    release, profiles = config["release"], config["profiles"]
    sections = config["mechanisms"], config["mixture"], profiles
    return public_settings(release["epsilon"], release["delta"], (listed, profiles["hours"]), *sections, grid, shares)


def plan_of(public: PublicSettings) -> Plan:
    """Return what a mixture with these public settings is expected to be worth."""
    found, hours = tried(public), public.dimension
    low, *_, high = (f"{100 * level:g}" for level in QUANTILES)
    said = {
        "hours_of_mixture": "mean energy of an hour, mixture",
        "hours": "mean energy of an hour, profiles",
        "energy": f"energy in {hours} hours, mean of profiles",
        "quantiles": f"energy in {hours} hours that {low} to {high} % of homes stay below",
    }
    return Plan(
        what="mixture",
        setting="epsilon",
        epsilon=public.epsilon,
        size=public.records,
        sized="listed meters",
        expected=tuple(Expected(words, *found[name]) for name, words in said.items()),
        found=TRIED,
        again=lambda epsilon, meters: plan_of(replace(public, epsilon=epsilon, records=meters)),
        absurd=found["absurd"][0],
        assumed="" if public.sound.prior_mixture is None else f"homes use {_tried_kwh(public)} on average",
    )


def _tried_kwh(public: PublicSettings) -> str:
    return f"at least {LEAST_TRIED_KWH * public.dimension:g} kWh in {public.dimension} hours"


def _contradicted(energy_kwh: np.ndarray, public: PublicSettings) -> str | None:
    """Say that the plan does not hold, if by the released profiles (n, d) homes use less than that."""
    if public.sound.prior_mixture is None or energy_kwh.mean() >= LEAST_TRIED_KWH:
        return None
    return (
        f"According to the released profiles, homes use {energy_kwh.sum(axis=1).mean():.2g} kWh in "
        f"{public.dimension} hours, not {_tried_kwh(public)}: errors are probably larger than expected"
    )


def parameters_of(public: PublicSettings) -> dict:
    """Return the public settings as parameters of a request; a prior mixture is known by its digest.

    Their names stay for ever: ledgers know a release by them. The scale is among those of the records.
    """
    sound, brought = public.sound, {}
    if sound.prior_mixture is not None:  # it brings its own classes, whatever mixture.classes is
        brought = {"library_sha256": sound.prior_mixture.sha256, "classes": sound.prior_mixture.classes}
    return {
        **public_fields(public, *PUBLIC),
        "sdp_solver": "own",  # stays part of a request, though there is no choice any more
        "sound": {
            **public_fields(sound, *SOUND),
            "ball": None if sound.ball is None else {"radius": sound.ball.radius, "centre": sound.ball.centre},
            "prior": None if sound.prior is None else asdict(sound.prior),
            **({} if sound.shares == ALONE else {"shares": asdict(sound.shares)}),
        },
        **brought,
    }


def released_files(released: Released, made_by: ReleasedMixture) -> dict[str, bytes]:
    mechanism, service, shared = made_by.mechanism, made_by.service, made_by.shared
    mixture, beside = mechanism.published(released), released.marginals
    rules = VectorRules.from_config(service.config["profiles"])
    hours, guarantee, scale = hour_rows(rules)["label"], mechanism.guarantee, rules.scale
    metadata = {"guarantee": sentence(guarantee), **service.metadata}
    n = service.config["release"]["synthetic_profiles"]
    profiles = sample_reweighted(beside.reference, beside.exponents, n, FreshNumbers())
    energy_kwh = scale.clipped_kwh(profiles)
    differs = np.sqrt(((profiles - rules.default_record) ** 2).mean(axis=1))
    wrong = mostly_default(np.mean(differs < _LIKE_THE_DEFAULT), f"{24 * rules.default_kwh_per_hour:.3g} kWh a day")
    wrong = wrong or _contradicted(energy_kwh, mechanism.public)
    files = {
        "mixture.parquet": table_bytes(
            RELEASED_MIXTURE,
            {
                "component": np.arange(1, mixture.classes + 1, dtype=np.int32),
                "weight": mixture.weights,
                "mean_log_kwh": list(mixture.means),
                "covariance": [c.ravel() for c in mixture.covariances],
            },
            metadata,
        ),
        "mixture.json": as_json(
            {
                "weights": mixture.weights.tolist(),
                "means": mixture.means.tolist(),
                "covariances": mixture.covariances.tolist(),
                "covariance_type": "full",
                "entries": hours,
                "unit": "log kWh per hour",
                "log_scale": scale.stated,
            }
        ),
        "synthetic_profiles.parquet": table_bytes(
            RELEASED_PROFILES,
            {"profile": np.arange(1, n + 1, dtype=np.int32), "energy_kwh": list(energy_kwh)},
            metadata | {"synthetic": "yes"},
        ),
    }
    what = "a statistical model of when households use electricity, and synthetic profiles drawn from it"
    manifest = service.manifest(what, made_by, HIDES, DOES_NOT_HIDE) | {
        "log_scale": scale.stated,
        "expected_error": made_by.plan.stated(wrong),
    }
    if shared is not None:
        manifest["privacy"][shared.holders] = shared.sentence
        manifest["privacy"]["proof"].append(SHARED_NOISE)
        if shared.holders == "nodes":
            manifest["population"] += f", and the households of {shared.shares.nodes - 1} other parties"
    manifest["marginals"] = {
        "what": "means over all meters of functions of single hours, of the energy of all hours and of the "
        "largest hour, measured with noise after a mixture was. The released mixture and the synthetic profiles "
        "follow them. The epsilon and delta above cover both",
        "share_of_mu_squared": mechanism.public.sound.marginal_share,
    }
    return service.folder(files, manifest, _page(mixture, rules, made_by, wrong), made_by)


def _started_from(made_by: ReleasedMixture) -> str:
    """Say what a prior mixture does to the profiles, if there is one; the path of another folder is private."""
    if made_by.mechanism.public.sound.prior_mixture is None:
        return ""
    shipped = made_by.service.config["mechanisms"]["sound"]["prior_mixture"] in (SHIPPED, AUTO)
    whose = " of simulated households" if shipped else ""
    return (
        f". The fit started from a public mixture{whose}. Its shapes remain where noise hides those of the "
        "households, so a pattern it lacks may be missing"
    )


def _page(mixture: Mixture, rules: VectorRules, made_by: ReleasedMixture, wrong: str | None) -> bytes:
    mechanism, service, shared = made_by.mechanism, made_by.service, made_by.shared
    hours, period, scale = hour_rows(rules)["label"], service.period, rules.scale
    working_days = Weekend.of(service.config["export"]).working_days
    days = {
        "typical_day": f"on a typical day from {working_days}, {period[0]} to {period[1]}: for each household, the "
        "day whose energy is closest to the mean of these days",
        "mean": f"on the days from {period[0]} to {period[1]}, averaged",
        "half_day": f"on one day of the period from {period[0]} to {period[1]}",
    }[rules.vector]
    until = hours[-1][-5:].replace("00:00", "24:00")
    large = sorted((share for share in mixture.weights if share >= SHOWN_SHARE), reverse=True)
    shares = ", ".join(f"{100 * share:.0f} %" for share in large)
    if rest := mixture.classes - len(large):
        shares += f", and {rest} below {100 * SHOWN_SHARE:g} % each"
    title, typical = "Typical load profiles", "the mean of its natural logarithm"
    if shared is not None and shared.holders == "nodes":
        title = f"{title} of the households of {shared.shares.nodes} parties, among them"
    if scale.kind != LOG:
        typical = "its mean on the scale `log_scale` of `manifest.json`"
    return service.page(
        title,
        f"This folder describes how households used electricity between {hours[0][:5]} and {until}, local time, "
        f"{days}. It holds no real household's readings.",
        (
            f"`mixture.parquet` and `mixture.json`: {mixture.classes} typical profiles (shares {shares}), each with "
            f"the typical energy per hour ({typical}) and how much households vary around it. A meter without usable "
            f"readings counts as a public default household{_started_from(made_by)}",
            f"`synthetic_profiles.parquet`: {service.config['release']['synthetic_profiles']:,} synthetic profiles, "
            "which follow the mixture and the noisy distributions of single hours, energy and peak",
            "`manifest.json`: how the files were made, for experts and machines",
        ),
        expected=made_by.plan.points(),
        contradicted=wrong,
        guarantee=mechanism.guarantee,
        hides=HIDES,
        does_not_hide=DOES_NOT_HIDE,
    )
