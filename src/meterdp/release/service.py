"""The release service every release passes: settings checked, an account named, charged in the ledger, told in a
manifest."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import meterdp
from meterdp.core.dates import Interval
from meterdp.core.log_scale import LogScale
from meterdp.ingest.meter_list import digest_of_meters, parse_meter_list
from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import UNIT_OF, Guarantee, Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.policy import check_release
from meterdp.privacy.release import Part, release
from meterdp.release.about import About
from meterdp.release.described import check_described, described
from meterdp.release.gate import CRATE, ENTRY, budget_of, check_files, check_settings, touched_periods
from meterdp.release.planned import planned_charge
from meterdp.release.publish import publish

# Of the export, what does not shape a release, and the list of meters, whose digest is a word.
NOT_IN_WORDS = ("path", "meters", "incremental")
# Words that are digests of the list of meters, or of words that hold one.
DIGESTS = ("list_of_meters_sha256", "groups_request")
ABOUT = (
    f"`{CRATE}` and `{ENTRY}`: what archives (RO-Crate) and the public registry of differential privacy deployments "
    "ask for"
)
SAFE_NOISE = "docs/proofs/safe_noise.md"


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
        """What one account may spend in all."""
        return Limit(self.config["release"]["cap_epsilon"], self.config["release"]["cap_delta"])

    @property
    def period(self) -> list[str]:
        """First and last day of the readings."""
        return [self.config["export"][key] for key in ("first_day", "last_day")]

    @property
    def metadata(self) -> dict[str, str]:
        """What every Parquet file says beside its guarantee."""
        return {"synthetic": "yes" if self.simulated else "no"}

    def budget(self, guarantee: Guarantee) -> PrivacyBudget:
        """Return whose privacy a release spends."""
        return budget_of(guarantee, self.config, self.simulated)

    def records(self, *more: str, profile_keys: Iterable[str] | None = None) -> dict:
        """Return the public words for the records: all that shapes them, and who they are of.

        Parameters
        ----------
        *more : str
            Sections of the configuration that shape them beside export, quality and profiles.
        profile_keys : iterable of str, optional
            The keys of the section profiles that do; all of them by default.
        """
        profiles = self.config["profiles"]
        scale = {"log_scale": words} if (words := LogScale.from_config(profiles).words) else {}
        keys = (key for key in (profiles if profile_keys is None else profile_keys) if key != "log_scale")
        profiles = {key: profiles[key] for key in keys} | scale
        export = {key: value for key, value in self.config["export"].items() if key not in NOT_IN_WORDS}
        sections = {name: self.config[name] for name in ("quality", *more)}
        return {"export": export, **sections, "profiles": profiles}

    @property
    def periods(self) -> tuple[Interval, ...] | None:
        """Budget periods that the readings are in; None, which counts in all, if they are simulated without one."""
        unnamed = self.simulated and self.config["release"]["budget_period"] is None
        return None if unnamed else touched_periods(self.config)

    def request(self, guarantee: Guarantee, households: int, charge: Charge, words: Mapping, **more) -> Request:
        """Return a request that may be made.

        Parameters
        ----------
        guarantee : Guarantee
            Of what is to be released.
        households : int
            Of the public list.
        charge : Charge
        words : mapping
            Artefact, mechanism, version and public parameters.
        **more
            ``neighbourhoods`` and ``setting`` of the request.

        Raises
        ------
        InputError
            If the gate refuses it.
        """
        check_release(guarantee, households, self.limit)
        who = {"list_of_meters_sha256": hashlib.sha256(self.meter_list).hexdigest(), "synthetic": self.simulated}
        meters = parse_meter_list(self.meter_list).meter_ids
        return Request(
            self.budget(guarantee),
            {**words, **who},
            charge,
            tuple(self.period),
            meters,
            self.periods,
            former_lists=(who["list_of_meters_sha256"], digest_of_meters(self.meter_list)),
            label=self.config["release"]["population"],
            planned=planned_charge(self.config, len(meters)),
            **more,
        )

    def release(
        self, *parts: Part, records, ready: Callable[[], None] | None = None
    ) -> tuple[list[dict[str, bytes]], Callable[[], None]]:
        """Return the files of parts that belong together, and what to call once those of the last are handed over.

        Parameters
        ----------
        *parts : Part
        records
            What their mechanisms take.
        ready : callable, optional
            See :func:`meterdp.privacy.release.release`.
        """
        ledger = Ledger(self.config["release"]["ledger"])
        files = release(parts, records, ledger, self.limit, ready)
        return files, partial(ledger.published, parts[-1].request)

    def hand_over(self, files: Mapping[str, bytes], folder) -> None:
        """Write the files of a release as ``folder``, if every file and column is declared for release."""
        check_files(files)
        check_described(files)
        publish(files, folder)

    def manifest(
        self, what: str, guarantee: Guarantee, hides: Sequence[str], does_not_hide: Sequence[str], request: Request
    ) -> dict:
        """Return what every manifest says; the caller adds what is special, and the checksums."""
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
                "readings": LogScale.from_config(self.config["profiles"]).in_words,
                "hides": list(hides),
                "does_not_hide": list(does_not_hide),
            },
            "population": self.population(request),
            "budget_period": request.budget.period,
            "period": self.period,
            # The list itself is public to whom it is; a digest would let others check a guess. So would the name of
            # a request, which is a digest of the list and of public words; the ledger knows every file by its digest.
            "public_parameters": {k: v for k, v in request.words.items() if k not in DIGESTS},
            "meterdp_version": meterdp.__version__,
        }

    def described(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the files of a folder, with what they say of themselves to archives and to the public registry."""
        return described(files, About.from_config(self.config["release"]), datetime.now(UTC).date())

    def population(self, request: Request) -> str:
        """Return the name of the households as the configuration writes it."""
        return self.config["release"]["population"] or request.budget.population

    def page(self, title: str, opening: str, inside: Sequence[str], request: Request, **told) -> bytes:
        """Return one page that a customer could read.

        Parameters
        ----------
        title, opening : str
            The name of the households follows the title.
        inside : sequence of str
            What is in the folder, in Markdown.
        request : Request
        **told
            ``guarantee``, ``covers`` (which files its epsilon is of), ``hides`` and ``does_not_hide``; ``means`` in
            place of what differential privacy for a meter's readings means; ``expected``, how far it is expected to
            be off, if that is known.
        """
        guarantee, covers = told["guarantee"], told["covers"]
        low, high = self.config["profiles"]["clip_kwh_per_hour"]
        paragraphs = [
            f"# {title} {self.population(request)}",
            *(["**These households are simulated.** They stand in for real ones."] if self.simulated else []),
            opening,
            "## What is in it",
            _points((*inside, ABOUT)),
            *(("## How far it is off", _points([told["expected"]])) if "expected" in told else ()),
            "## What it hides",
            _points(told["hides"]),
            told.get("means")
            or f"{in_plain_words(guarantee.epsilon, guarantee.delta, covers)} Releases about the same households add "
            "up; whoever publishes them keeps a ledger of the sum.",
            f"Whatever a meter read counts as energy between {low:g} and {high:g} kWh per hour, limits that are "
            "public and the same for everybody.",
            "## What can be learnt from it",
            _points(told["does_not_hide"]),
        ]
        return ("\n\n".join(paragraphs) + "\n").encode()


def words_of(artefact: str, mechanism: str, version: int, public: Mapping, **more) -> dict:
    """Return the words that every request has.

    Parameters
    ----------
    artefact, mechanism : str
    version : int
        Counts up when the same public words would give another release.
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


def in_words(guarantee: Guarantee) -> str:
    """Return the guarantee as a file's metadata say it."""
    kind = "differential privacy" if guarantee.family == "sound" else "class_label privacy"
    return f"({guarantee.epsilon:g}, {guarantee.delta:g})-{kind} for {UNIT_OF[guarantee.adjacency]}"


def as_json(value) -> bytes:
    """Return a file of JSON."""
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def checksums(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of every file."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def _points(words: Sequence[str]) -> str:
    lines = (w if w.startswith("`") else f"{w[0].upper()}{w[1:]}" for w in words)
    return "\n".join(f"- {line.rstrip('.')}." for line in lines)


def in_plain_words(epsilon: float, delta: float, covers: str = "") -> str:
    """Return what differential privacy for the readings of one meter means, for a customer.

    Parameters
    ----------
    epsilon, delta : float
    covers : str
        What the numbers are of, after them.
    """
    # e^epsilon overflows, and as a factor it says no more.
    factor = math.exp(epsilon) if epsilon < 700 else math.inf
    return (
        "This is a mathematical guarantee, differential privacy with epsilon "
        f"{epsilon:g} and delta {delta:g}{covers}: "
        "whatever set of outcomes is looked at, its probability with the readings of any one meter is at most "
        f"{factor:.3g} times its probability with others in their place, plus {delta:g}, whatever else somebody "
        "knows."
    )
