"""The release service that every release passes: settings are checked, the ledger charged, files described."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Protocol

import meterdp
from meterdp.core.log_scale import LogScale
from meterdp.ingest.meter_list import MeterList, digest_of_meters, parse_meter_list
from meterdp.privacy.charge import NOTHING, Charge
from meterdp.privacy.guarantee import UNIT_OF, Guarantee, Limit
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.mechanism import Files, Mechanism
from meterdp.privacy.periods import Interval
from meterdp.privacy.policy import check_release
from meterdp.privacy.release import Part, release
from meterdp.profiles.constants import with_constants
from meterdp.release.crate import About
from meterdp.release.described import described
from meterdp.release.kinds import CRATE, ENTRY
from meterdp.release.publish import publish
from meterdp.release.settings import SIMULATED, budget_of, check_settings, plain_sentence, touched_periods

# Which file is whose: kept in the ledger, never published.
PLACES = "places.json"
# Of the export, what does not shape a release, and the list of meters, whose digest is a parameter.
NO_PARAMETERS = ("path", "meters", "incremental")
# Parameters that are digests of the list of meters, or of parameters that hold one.
DIGESTS = ("list_of_meters_sha256", "groups_request")
ABOUT = (
    f"`{CRATE}` and `{ENTRY}`: what archives (RO-Crate) and the public registry of differential privacy deployments "
    "ask for"
)
SAFE_NOISE = "docs/proofs/safe_noise.md"


class Releasable(Mechanism, Protocol):
    """A mechanism whose release the service charges and describes.

    Attributes
    ----------
    setting : str
        The setting that asks for it.
    """

    setting: str


@dataclass(frozen=True)
class ReleaseService:
    """What the releases of one configuration have in common.

    Parameters
    ----------
    config : mapping
        The whole configuration.
    meter_list : bytes
        The public list of meters.
    simulated : bool
        Whether the export is simulated.

    Raises
    ------
    InputError
        If nothing may be released from this configuration.
    """

    config: Mapping
    meter_list: bytes
    simulated: bool

    def __post_init__(self):
        check_settings(self.config, self.simulated)

    @property
    def limit(self) -> Limit:
        """What a meter may spend in a budget period."""
        return Limit(self.config["release"]["cap_epsilon"], self.config["release"]["cap_delta"])

    @cached_property
    def listed(self) -> MeterList:
        """The public list of meters."""
        return parse_meter_list(self.meter_list)

    @property
    def period(self) -> list[str]:
        """First and last day of the readings."""
        return [self.config["export"][key] for key in ("first_day", "last_day")]

    @property
    def metadata(self) -> dict[str, str]:
        """What every Parquet file says beside its guarantee."""
        return {"synthetic": "yes" if self.simulated else "no"}

    def records(self, profile_keys: Iterable[str] | None = None) -> dict:
        """Return the request parameters of the records: all that shapes them, and who they are of.

        Parameters
        ----------
        profile_keys : iterable of str, optional
            The keys of the section profiles that do; all of them by default.
        """
        quality, profiles = with_constants(self.config["quality"], self.config["profiles"])
        scale = {"log_scale": words} if (words := LogScale.from_config(profiles).words) else {}
        keys = (key for key in (profiles if profile_keys is None else profile_keys) if key != "log_scale")
        profiles = {key: profiles[key] for key in keys} | scale
        export = {key: value for key, value in self.config["export"].items() if key not in NO_PARAMETERS}
        return {"export": export, "quality": quality, "profiles": profiles}

    @property
    def periods(self) -> tuple[Interval, ...] | None:
        """Budget periods that the readings are in; None, which counts in all, if they are simulated without one."""
        unnamed = self.simulated and self.config["release"]["budget_period"] is None
        return None if unnamed else touched_periods(self.config)

    def request(self, mechanism: Releasable) -> Request:
        """Return the request for a mechanism.

        Raises
        ------
        InputError
            If the policy refuses it.
        """
        check_release(mechanism.guarantee, mechanism.households, self.limit)
        list_digest = hashlib.sha256(self.meter_list).hexdigest()
        meters = self.listed.meter_ids
        return Request(
            budget_of(mechanism.guarantee, self.config, self.simulated),
            {**mechanism.parameters, "list_of_meters_sha256": list_digest, "synthetic": self.simulated},
            mechanism.loss,
            tuple(self.period),
            meters,
            self.periods,
            former_lists=(list_digest, digest_of_meters(self.meter_list)),
            label=self.config["release"]["population"],
            planned=planned(self.config, len(meters)),
            neighbourhoods=getattr(mechanism, "neighbourhoods", None),
            setting=mechanism.setting,
        )

    def release(
        self, mechanisms: Sequence[Releasable], records, folder=None, ready: Callable[[], None] | None = None
    ) -> tuple[Files, list[str] | None]:
        """Release mechanisms that belong together, and publish the files of the last one.

        Parameters
        ----------
        mechanisms : sequence of Releasable
        records
            What they take.
        folder : path-like, optional
            Where to publish them; nowhere by default.
        ready : callable, optional
            See :func:`meterdp.privacy.release.release`.

        Returns
        -------
        files : dict of name to bytes
        release_ids : list of str, or None
            Names of households' files in the order of the list, private; None where households have none.

        Raises
        ------
        InputError
            If policy or ledger refuses, or the files cannot be written.
        """
        parts = [Part(self.request(mechanism), mechanism) for mechanism in mechanisms]
        released = release(parts, records, Ledger(self.config["release"]["ledger"]), self.limit, ready)
        places = [files[PLACES] for files in released if PLACES in files]
        files = {name: data for name, data in released[-1].items() if name != PLACES}
        if folder is not None:
            self.publish(files, folder, mechanisms[-1])
        return files, json.loads(places[0])["release_id"] if places else None

    def publish(self, files: Files, folder, mechanism: Releasable) -> None:
        """Write the files of a mechanism as ``folder``, and note it; see :func:`meterdp.release.publish.publish`."""
        publish(files, folder)
        Ledger(self.config["release"]["ledger"]).published(self.request(mechanism))

    def manifest(self, what: str, mechanism: Releasable, hides: Sequence[str], does_not_hide: Sequence[str]) -> dict:
        """Return what every manifest says; the caller adds what is special, and the checksums."""
        guarantee, parameters = mechanism.guarantee, {**mechanism.parameters, "synthetic": self.simulated}
        return {
            "what": what,
            "simulated_data": self.simulated,
            "privacy": {
                "unit": UNIT_OF[guarantee.adjacency],
                "adjacency": guarantee.adjacency,
                "epsilon": guarantee.epsilon,
                "delta": guarantee.delta,
                "accountant": guarantee.accountant,
                "proof": [guarantee.proof, SAFE_NOISE],
                "readings": LogScale.from_config(self.config["profiles"]).sentence,
                "hides": list(hides),
                "does_not_hide": list(does_not_hide),
            },
            "population": self.population,
            "budget_period": budget_of(guarantee, self.config, self.simulated).period,
            "period": self.period,
            # The list itself is public to whom it is; a digest would let others check a guess. So would the name of
            # a request, which is a digest of the list and of parameters; the ledger knows every file by its digest.
            "public_parameters": {k: v for k, v in parameters.items() if k not in DIGESTS},
            "meterdp_version": meterdp.__version__,
        }

    def described(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the files of a folder, with what they say of themselves to archives and to the public registry."""
        return described(files, About.from_config(self.config["release"]), datetime.now(UTC).date())

    @property
    def population(self) -> str:
        """Name of the households as the configuration writes it."""
        return self.config["release"]["population"] or SIMULATED

    def page(self, title: str, opening: str, inside: Sequence[str], **said) -> bytes:
        """Return one page that a customer could read.

        Parameters
        ----------
        title, opening : str
            The name of the households follows the title.
        inside : sequence of str
            What is in the folder, in Markdown.
        **said
            ``guarantee``, ``covers`` (which files its epsilon is of), ``hides`` and ``does_not_hide``; ``means`` in
            place of what differential privacy for a meter's readings means; ``expected``, how far it is expected to
            be off, if that is known.
        """
        guarantee, covers = said["guarantee"], said["covers"]
        low, high = self.config["profiles"]["clip_kwh_per_hour"]
        paragraphs = [
            f"# {title} {self.population}",
            *(["**These households are simulated.** They stand in for real ones."] if self.simulated else []),
            opening,
            "## What is in it",
            _points((*inside, ABOUT)),
            *(("## How far it is off", _points([said["expected"]])) if "expected" in said else ()),
            "## What is protected",
            _points(said["hides"]),
            said.get("means")
            or f"{plain_sentence(guarantee.epsilon, guarantee.delta, covers)} Releases about the same households add "
            "up; whoever publishes them keeps a ledger of the sum.",
            f"Whatever a meter read counts as energy between {low:g} and {high:g} kWh per hour, limits that are "
            "public and the same for everybody.",
            "## What can be learnt from it",
            _points(said["does_not_hide"]),
        ]
        return ("\n\n".join(paragraphs) + "\n").encode()


def planned(config: Mapping, listed: int) -> Charge:
    """Return what the releases of a configuration may draw by lot for each of so many listed meters: forecasts alone.

    Responses may not be chosen after other answers were seen (docs/proofs/ledger.md), so every charge names them.
    """
    if "forecasts" not in config["release"]["what"]:
        return NOTHING
    from meterdp.groupforecast.mechanism import planned_responses

    return planned_responses(config, listed)


def request_parameters(artefact: str, mechanism: str, version: int, public: Mapping, **more) -> dict:
    """Return the parameters that every request has.

    Parameters
    ----------
    artefact, mechanism : str
    version : int
        Counts up when the same parameters would give another release.
    public : mapping
        Public settings of the mechanism.
    **more
        What else shapes the release.
    """
    return {
        "artefact": artefact,
        "mechanism": mechanism,
        "mechanism_version": version,
        "public": dict(public),
        **more,
    }


def sentence(guarantee: Guarantee) -> str:
    """Return the guarantee as a file's metadata say it."""
    kind = "differential privacy" if guarantee.family == "sound" else "class_label privacy"
    return f"({guarantee.epsilon:g}, {guarantee.delta:g})-{kind} for {UNIT_OF[guarantee.adjacency]}"


def as_json(value) -> bytes:
    """Return a file of JSON."""
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def checksums(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of every file."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def _points(points: Sequence[str]) -> str:
    lines = (w if w.startswith("`") else f"{w[0].upper()}{w[1:]}" for w in points)
    return "\n".join(f"- {line.rstrip('.')}." for line in lines)
