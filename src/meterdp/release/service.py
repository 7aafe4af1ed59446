"""The release service that every release passes: settings are checked, the ledger charged, files described."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Protocol

import meterdp
from meterdp.core.log_scale import LogScale
from meterdp.core.weekend import SATURDAY_SUNDAY, Weekend
from meterdp.ingest.meter_list import MeterList, digest_of_meters, parse_meter_list, plain_list
from meterdp.privacy.charge import Charge, epsilon_of, epsilon_text
from meterdp.privacy.guarantee import UNIT_OF, Guarantee, Limit
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.mechanism import Files, Mechanism
from meterdp.privacy.periods import Interval
from meterdp.privacy.policy import check_release
from meterdp.privacy.release import Part, release
from meterdp.profiles.constants import with_constants
from meterdp.publish.crate import About
from meterdp.publish.folder import described, publish
from meterdp.publish.kinds import CRATE, CROISSANT, CUSTODIAN, DCAT, ENTRY, PAGE
from meterdp.publish.loading import how_to_load
from meterdp.release.plan import Plan
from meterdp.release.settings import SIMULATED, budget_of, check_settings, plain_sentence, touched_periods

# Which file is whose: kept in the ledger, never published.
PLACES = "places.json"
# Of the export, what does not shape a release, and the list of meters, whose digest is a parameter.
NO_PARAMETERS = ("path", "meters", "incremental")
# Parameters that are digests of the list of meters.
DIGESTS = ("list_of_meters_sha256",)
ABOUT = (
    f"`{PAGE}`: this page with pictures and how to load the files; `{CUSTODIAN}`: for whoever signs off the release, "
    f"what an attacker can learn and a draft impact assessment; `{CRATE}`, `{DCAT}`, `{CROISSANT}` and "
    f"`{ENTRY}`: metadata for archives (RO-Crate), data catalogues (DCAT), machine learning (Croissant) and the "
    "public registry of differential privacy deployments"
)
SAFE_NOISE = "docs/proofs/safe_noise.md"
# What releases that protect readings hide, and of what they do not hide, what holds for all of them.
HIDES = (
    "what any one listed meter read in the period, and when it read nothing, to the extent that epsilon and delta "
    "state",
)
LISTED = (
    "how many meters are listed, in all and in each group named here (which meters these are is not in this folder: "
    "the list need not be published, but the guarantee does not protect it)"
)
SEVERAL_METERS = (
    "what several meters of one household reveal together: the guarantee is for one meter, and weaker for several"
)


class Releasable(Mechanism, Protocol):
    """A mechanism whose release the service charges and describes.

    ``setting`` asks for it, ``what`` says in a few words what is released. ``groups`` are the names of the public
    groups of all listed meters, if it is released by group. ``former_parameters`` are those of its parameters that
    earlier versions wrote otherwise. One within whose neighbourhoods names are hidden has
    ``neighbourhoods`` as well, their digest.
    """

    setting: str
    what: str
    groups: tuple[str | None, ...]
    former_parameters: Mapping


@dataclass(frozen=True)
class Calibrated:
    """What is released with the claim and the cost of one calibrated mechanism: a base of releasable ones.

    Refused if by public numbers it is not worth its epsilon, and release.allow lacks poor.
    """

    mechanism: Any

    def __post_init__(self):
        if self.plan is not None:
            self.plan.check(self.service.config)

    @property
    def plan(self) -> Plan | None:
        """What the release is expected to be worth, None where public numbers do not tell."""
        return None

    @property
    def groups(self) -> tuple[str | None, ...]:
        return ()

    @property
    def remark(self) -> str | None:
        """What else of public settings and the list whoever is about to pay should know."""
        return None

    @property
    def former_parameters(self) -> Mapping:
        return {}

    def prepared(self, records):
        return records

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    @property
    def households(self) -> int:
        return self.mechanism.public.records

    @property
    def loss(self) -> Charge:
        return Charge(self.mechanism.mu, self.mechanism.total_variation)


def _kept_rows(keep_rows: Mapping[str, Sequence[str]] | None) -> dict:
    """Return the request parameters of export.keep_rows; one entry of one column as ledgers have known it longest."""
    match sorted((keep_rows or {}).items()):
        case []:
            return {}
        case [(column, [register])]:
            return {"register_column": column, "register": register}
        case columns:
            return {"keep_rows": {column: sorted({*entries}) for column, entries in columns}}


@dataclass(frozen=True)
class ReleaseService:
    """What the releases of one configuration have in common; refused if nothing may be released from it.

    ``meter_list`` is the public list of meters, as the file is; ``together`` returns everything that the
    configuration asks for, which folders count as spent.
    """

    config: Mapping
    meter_list: bytes
    simulated: bool
    together: Callable[[ReleaseService], Iterable[Releasable]] | None = None

    def __post_init__(self):
        check_settings(self.config, self.simulated)

    @property
    def limit(self) -> Limit:
        return Limit(self.config["release"]["cap_epsilon"], self.config["release"]["cap_delta"])

    @cached_property
    def listed(self) -> MeterList:
        return parse_meter_list(self.meter_list)

    @property
    def circuits(self) -> tuple[str | None, ...]:
        """The circuit of every listed meter."""
        return tuple(self.listed.circuit_of[meter] for meter in self.listed.meter_ids)

    @property
    def period(self) -> list[str]:
        return [self.config["export"][key] for key in ("first_day", "last_day")]

    @property
    def metadata(self) -> dict[str, str]:
        """What every Parquet file says beside its guarantee."""
        return {"synthetic": "yes" if self.simulated else "no"}

    def records(self, profile_keys: Iterable[str] | None = None, by_weekend: bool = True) -> dict:
        """Return the request parameters of the records: all that shapes them, and who they are of.

        Of the section profiles these are ``profile_keys``, all of them by default. The weekend is among them where a
        release tells working days apart (``by_weekend``).
        """
        quality, profiles = with_constants(self.config["quality"], self.config["profiles"])
        scale = {"log_scale": words} if (words := LogScale.from_config(profiles).words) else {}
        keys = (key for key in (profiles if profile_keys is None else profile_keys) if key != "log_scale")
        profiles = {key: profiles[key] for key in keys} | scale
        left_out = NO_PARAMETERS if by_weekend else (*NO_PARAMETERS, "weekend")
        export = {key: value for key, value in self.config["export"].items() if key not in left_out}
        export |= _kept_rows(export.pop("keep_rows")) | {"weekend": Weekend.of(export).setting}
        # Earlier versions, which knew no such settings, took these for granted.
        granted = {"encoding": "utf-8", "shortest_interval_minutes": None, "weekend": SATURDAY_SUNDAY.setting}
        export = {key: value for key, value in export.items() if key not in granted or value != granted[key]}
        return {"export": export, "quality": quality, "profiles": profiles}

    @property
    def periods(self) -> tuple[Interval, ...] | None:
        """Budget periods that the readings are in; None, which counts in all, if they are simulated without one."""
        unnamed = self.simulated and self.config["release"]["budget_period"] is None
        return None if unnamed else touched_periods(self.config)

    def request(self, mechanism: Releasable) -> Request:
        """Return the request for a mechanism, if the policy does not refuse it."""
        check_release(mechanism.guarantee, mechanism.households, self.limit)
        meters = self.listed.meter_ids
        # Of the list counts what shapes the release, however it is saved and whatever else it says.
        of_list = digest_of_meters(self.meter_list, mechanism.groups)
        # As earlier versions named the list.
        of_bytes, of_plain = (hashlib.sha256(of).hexdigest() for of in (self.meter_list, plain_list(self.meter_list)))
        request = Request(
            budget_of(mechanism.guarantee, self.config, self.simulated),
            {**mechanism.parameters, "list_of_meters_sha256": of_list, "synthetic": self.simulated},
            mechanism.loss,
            tuple(self.period),
            meters,
            self.periods,
            former_lists=(of_bytes, digest_of_meters(self.meter_list)),
            label=self.config["release"]["population"],
            neighbourhoods=getattr(mechanism, "neighbourhoods", None),
            setting=mechanism.setting,
        )
        former = {**request.parameters, **mechanism.former_parameters, "list_of_meters_sha256": of_plain}
        return Ledger(self.config["release"]["ledger"]).named(request, former)

    def release(
        self, mechanisms: Sequence[Releasable], records, folder=None, ready: Callable[[], None] | None = None
    ) -> tuple[Files, list[str] | None]:
        """Release mechanisms that belong together, and publish the files of the last one as ``folder``, if any.

        Returns these files, and the names of households' files in the order of the list, private, or None where
        households have none. Refused by policy or ledger, or if the files cannot be written; for ``ready`` see
        :func:`meterdp.privacy.release.release`.
        """
        parts = [Part(self.request(mechanism), mechanism) for mechanism in mechanisms]
        released = release(parts, records, Ledger(self.config["release"]["ledger"]), self.limit, ready)
        places = [files[PLACES] for files in released if PLACES in files]
        files = published(released[-1])
        if folder is not None:
            self.publish(files, folder, mechanisms[-1])
        return files, json.loads(places[0])["release_id"] if places else None

    def publish(self, files: Files, folder, mechanism: Releasable) -> None:
        """Write the files of a mechanism as ``folder``, and note it in the ledger."""
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
                # From it follow all other epsilon and delta that hold.
                "loss": asdict(mechanism.loss),
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

    @cached_property
    def _together(self) -> tuple[Request, ...]:
        return () if self.together is None else tuple(map(self.request, self.together(self)))

    def _budget(self, mechanism: Releasable) -> dict:
        """Return the limit of the meters' budget and, by the ledger, what has been spent of it and is left.

        The numbers are those of stored releases, as their manifests are public, and of all that the configuration
        asks for, so that none depends on which of it is made first.
        """
        ledger = Ledger(self.config["release"]["ledger"])
        if not ledger.path.exists():  # whoever drew this keeps another, or none
            return {"limit_epsilon": self.limit.epsilon, "limit_delta": self.limit.delta}
        requests = {request.key: request for request in (*self._together, self.request(mechanism))}
        spent, (left, limit), ever = ledger.reported([*requests.values()], self.limit)
        epsilon, in_all = (
            float(epsilon_text(max((epsilon_of(one, limit.delta) for one in charges), default=0.0)))
            for charges in (spent, ever)
        )
        return {
            "limit_epsilon": limit.epsilon,
            "limit_delta": limit.delta,
            "spent_epsilon": epsilon,
            "left_epsilon": left,
            "spent_in_all_periods_epsilon": in_all,
        }

    def _replaced(self, mechanism: Releasable) -> list[dict]:
        """Return which releases of the same kind, days and meters this one takes the place of, oldest first."""
        ledger = Ledger(self.config["release"]["ledger"])
        if not ledger.path.exists():
            return []
        before = ledger.replaced(self.request(mechanism))
        return [
            {"charged": day, "epsilon": float(epsilon_text(epsilon_of(one, self.limit.delta)))} for day, one in before
        ]

    def folder(
        self, files: Mapping[str, bytes], manifest: Mapping, page: bytes, mechanism: Releasable
    ) -> dict[str, bytes]:
        """Return all files of a folder: manifest with checksums, page, and whatever describes them."""
        replaced = self._replaced(mechanism)
        if replaced:  # at the end of the opening
            opening, _, rest = page.partition(b"\n\n## ")
            page = b"\n\n".join([opening, _instead_of(replaced).encode(), b"## " + rest])
        about, day = About.from_config(self.config["release"]), datetime.now(UTC).date()
        spent = {"listed_meters": mechanism.households, "budget": self._budget(mechanism)}
        spent |= {"replaces": replaced} if replaced else {}
        manifest = as_json({**manifest, **spent, "sha256": checksums(files)})
        files = {**files, "manifest.json": manifest, "README.md": page}
        cited = f" To cite it: {about.citation(files, json.loads(manifest), day)}\n"
        files["README.md"] = page.rstrip() + (cited + how_to_load(files)).encode()
        return described(files, about, day)

    @property
    def population(self) -> str:
        return self.config["release"]["population"] or SIMULATED

    @property
    def _rows(self) -> Iterator[str]:
        """Say which rows of the export count, if not all."""
        for column, entries in sorted((self.config["export"]["keep_rows"] or {}).items()):
            named = " or ".join(f"'{entry}'" if entry else "nothing" for entry in sorted({*entries}))
            yield f"Only rows of the export with {named} in the column '{column}' count; others are ignored"

    def page(
        self,
        title: str,
        opening: str,
        inside: Sequence[str],
        *,
        guarantee: Guarantee,
        hides: Sequence[str],
        does_not_hide: Sequence[str],
        covers: str = "",
        means: str | None = None,
        expected: Sequence[str] = (),
        contradicted: str | None = None,
    ) -> bytes:
        """Return one page that a customer could read.

        The name of the households, be it of a place or of people, follows the title; ``inside`` says what is in the
        folder, in Markdown; ``covers``, which files epsilon is of; ``means`` takes the place of what differential
        privacy for a meter's readings means; ``expected`` says how far the release is expected to be off, if that is
        known, and ``contradicted`` why it is off by more.
        """
        low, high = self.config["profiles"]["clip_kwh_per_hour"]
        paragraphs = [
            f"# {title}: {self.population}",
            *(["**These households are simulated.** They stand in for real ones."] if self.simulated else []),
            f"{opening} A household here is a meter of the public list, whoever uses it, businesses too.",
            *([f"**{contradicted}.**"] if contradicted else []),
            "## What is in it",
            _points((*inside, *self._rows, ABOUT)),
            *(("## How far off it is", _points(expected)) if expected else ()),
            "## What is protected",
            _points(hides),
            means
            or f"{plain_sentence(guarantee.epsilon, guarantee.delta, covers)} What releases about the same "
            "households cost adds up; the publisher keeps a ledger of the sum.",
            f"Before anything is computed, every reading is clipped to between {low:g} and {high:g} kWh per hour. "
            "These limits are public and the same for everybody.",
            "## What can be learnt from it",
            _points(does_not_hide),
            "## How to use it",
            About.from_config(self.config["release"]).use,
        ]
        return ("\n\n".join(paragraphs) + "\n").encode()


def published(files: Files) -> Files:
    """Return those of the files of a release that are published."""
    return {name: data for name, data in files.items() if name != PLACES}


def public_fields(public: object, *names: str) -> dict:
    """Return public settings as request parameters, by name; the names stay for ever, as ledgers know them."""
    return {name: getattr(public, name) for name in names}


def request_parameters(artefact: str, mechanism: str, version: int, public: Mapping, **more) -> dict:
    """Return the parameters of a request: public settings of the mechanism, and what else shapes the release."""
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


def _instead_of(replaced: Sequence[Mapping]) -> str:
    each = " and ".join(f"{one['charged']} (ε = {one['epsilon']:g})" for one in replaced)
    return f"It replaces what was released about the same days on {each}, which was charged as well."


def as_json(value) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def checksums(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def _points(points: Sequence[str]) -> str:
    lines = (w if w.startswith("`") else f"{w[0].upper()}{w[1:]}" for w in points)
    return "\n".join(f"- {line.rstrip('.')}." for line in lines)
