"""An entry for the public registry of differential privacy deployments, a draft of one for every release.

The registry is that of OpenDP and others, proposed to be hosted by NIST (IR 8588); its entries are YAML files.
``registry_entry.schema.json`` beside this module says which version of its fields this follows. Everything is a word
of the manifest or a public setting. What only the publisher knows is said to be open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import jsonschema
import yaml

from meterdp.errors import InputError
from meterdp.privacy.guarantee import UNIT_OF
from meterdp.publish.crate import About

SCHEMA = Path(__file__).with_suffix(".schema.json")
_OPEN = "Not stated; for the publisher to fill in."
_SIMULATED = "These households are simulated, so this describes no deployment: do not submit it."
_GAUSSIAN = (
    "Noise is discrete Gaussian on a public grid (OpenDP's exact sampler, entropy of the operating system); "
    "statistics are exact multiples of the grid, so that no low bit of floating point reveals anything."
)
_WITHOUT_READINGS = {
    "listed": "counts as a public default record",
    "measured": "adds nothing to totals and counts",
}
_PREPROCESSING = (
    "Quality rules look at one meter at a time; a meter without usable readings {}. "
    "Bounds, radii and shares of the budget come from public settings and rules, all of them in the manifest. "
    "Whether the publisher chose settings after looking at the readings is for the publisher to say."
)
_JUSTIFICATION = (
    "Mechanism and noise are proven in the notes named under composition; lower bounds on epsilon are looked for by "
    "attack (docs/audit.md of meterdp). Why this epsilon, this delta and this limit is for the publisher to say."
)


@dataclass(frozen=True)
class Product:
    """What the registry asks of one kind of release and no manifest says."""

    name: str  # before that of the households
    kind: str  # type of data product, in the registry's words
    use: str
    mechanisms: str
    post_processing: str
    repeated: bool = False  # whether it is made to be released again for other days


_MIXTURE = Product(
    "Typical load profiles",
    "Machine learning model",
    "Planning and research with load profiles, without access to readings.",
    "Private expectation-maximisation for a mixture of Gaussians: stacked sums over clipped load profiles, and means "
    "of functions of single hours, energy and peak where the manifest names marginals, each with Gaussian noise.",
    "A mixture is made from noisy sums; the released one and synthetic profiles are fitted to it and to the noisy "
    "marginals.",
)
_FORECASTS = Product(
    "Load forecasts",
    "Dataset",
    "A forecast for every household, for services that need one and no readings.",
    "Numbers of households by mean energy, then sums over their clipped mean energies, shapes of a week and "
    "spreads of hours, all with Gaussian noise.",
    "Posterior means under public priors; every household gets the expected energy, median and intervals of its "
    "public group.",
    repeated=True,
)
_LABELLED = Product(
    "Load forecasts",
    "Dataset",
    _FORECASTS.use,
    "A household's own forecast is moved towards the mean of its public neighbourhood and gets Gaussian noise of the "
    "same covariance for all.",
    "Energies are clipped to public bounds.",
    repeated=True,
)
_FEEDERS = Product(
    "Energy per feeder and interval",
    "Summary statistics",
    "Load of feeders and areas for planning and research, without access to readings.",
    "The coefficients of each meter's energy in a public basis are clipped; their sum over all meters and their sums "
    "over the meters of each public feeder get Gaussian noise. Feeders share no meter, so all of them together cost "
    "no more than one.",
    "The difference between a feeder and the mean of all is shrunk towards zero by public and noisy numbers; totals "
    "are cut at zero and rounded.",
    repeated=True,
)
_HOUSEHOLDS = Product(
    "Synthetic households over a whole period",
    "Machine learning model",
    "Households over a whole period for planning, research and power flow, without access to readings.",
    "Private expectation-maximisation for a mixture of Gaussians of bounded vectors, one per household; means of "
    "functions of single entries; and sums of what all households do together in each part of a day, each with "
    "Gaussian noise.",
    "Vectors are sampled from the mixture, reweighted to the noisy means and made consistent; readings "
    "are drawn from the vectors.",
)
# By adjacency and artefact; of others the manifest is quoted.
PRODUCTS = {
    ("replace_one", "mixture"): _MIXTURE,
    ("replace_one", "mixture between nodes"): _MIXTURE,
    ("replace_one", "forecasts"): _FORECASTS,
    ("replace_one", "feeders"): _FEEDERS,
    ("replace_one", "households"): _HOUSEHOLDS,
    ("class_label", "forecasts"): _LABELLED,
}
_NEIGHBOURS = {
    "replace_one": "Two data sets are adjacent if they are of the same public list of meters and differ in what one "
    "of them read, in any way.",
    "class_label": "Two data sets are adjacent if two households of one public neighbourhood swap places: whose file "
    "is whose, and nothing about readings.",
}


def entry_of(manifest: Mapping, about: About, day: date) -> bytes:
    words, product = manifest["public_parameters"], product_of(manifest)
    name, zone = f"{product.name}: {manifest['population']}", words["export"]["time_zone"]
    deployment = {
        "basic": {
            "name": name,
            "data_curators": [
                {"data_curator_name": about.publisher or _OPEN, "data_curator_type": about.publisher_kind}
            ],
            "description": _simulated(manifest) + _sentence(manifest["what"]),
            "intended_use": product.use,
            "data_product_type": product.kind,
            "data_product_region": about.region or (f"Time zone {zone}" if zone else _OPEN),
            "data_product_sector": "Energy",
            "publication_date": day.isoformat(),
        },
        "dp_variant": _variant(manifest),
        "privacy_loss": _loss(manifest),
        "deployment_model": _model(manifest, product),
        "implementation": _implementation(manifest, product, about),
        "administrative": {
            "status": "Draft",
            "registry_authors": [f"meterdp {manifest['meterdp_version']}, from the settings of the release"],
            "tier": 3,
        },
    }
    slug = re.sub(r"[^a-z0-9]+", "-", f"{name} {manifest['period'][1] or ''}".lower()).strip("-")
    entry = {"url_slug": slug, "deployment": deployment}
    return yaml.dump(entry, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6).encode()


def product_of(manifest: Mapping) -> Product:
    of = manifest["privacy"]["adjacency"], manifest["public_parameters"]["artefact"]
    return PRODUCTS.get(of) or _in_its_own_words(manifest)


def check_entry(data: bytes) -> None:
    """Refuse an entry that the registry would not take, naming the first field that does not do."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    checker = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker(["date"]))
    for error in checker.iter_errors(yaml.safe_load(data)):
        raise InputError(
            "does not fit the fields of the registry",
            file="registry_entry.yaml",
            field=".".join(map(str, error.absolute_path)) or None,
            hint="report it: this is a defect of meterdp",
        )


def _in_its_own_words(manifest: Mapping) -> Product:
    words = manifest["public_parameters"]
    return Product(
        _sentence(manifest["what"])[:-1],
        "Summary statistics",
        _OPEN,
        f"Mechanism '{words['mechanism']}', version {words['mechanism_version']}: see the proofs.",
        "Clipping to public bounds, if any: see the manifest.",
    )


def _variant(manifest: Mapping) -> dict:
    words, privacy, (first, last) = manifest["public_parameters"], manifest["privacy"], manifest["period"]
    return {
        "variant_name": "Approximate DP" if privacy["adjacency"] == "replace_one" else "Custom",
        "data_domain": f"Readings every {words['export']['interval_minutes']} minutes on the local days from {first} "
        f"to {last} ({manifest['population']}); {privacy['readings']}.",
        "unprotected_quantities": _points(privacy["does_not_hide"]),
    }


def _loss(manifest: Mapping) -> dict:
    privacy, public = manifest["privacy"], manifest["public_parameters"]["public"]
    known = {"number_of_privacy_units": public["records"]} if "records" in public else {}
    return {
        "privacy_unit": f"Meter (one household): {UNIT_OF[privacy['adjacency']]}",
        "privacy_unit_details": _NEIGHBOURS[privacy["adjacency"]],
        **known,
        "privacy_parameters": {"epsilon": privacy["epsilon"], "delta": privacy["delta"]},
        "privacy_parameters_details": _points([f"what is hidden: {said}" for said in privacy["hides"]]),
    }


def _model(manifest: Mapping, product: Product) -> dict:
    privacy, budget = manifest["privacy"], manifest["budget"]
    holders = privacy.get("nodes")
    trust = "Whoever holds the readings is trusted with them and with drawing the noise; nobody else is trusted."
    return {
        "model_name": "Federated" if holders else "Central",
        "trust_assumptions": _sentence(holders) if holders else trust,
        "release_type": "Many releases" if product.repeated else "One release",
        "release_type_details": "Every release about these households is charged to a ledger before noise is drawn. "
        f"In the budget period '{manifest['budget_period']}' all of them together cost at most epsilon "
        f"{budget['limit_epsilon']:g} at delta {budget['limit_delta']:g}, by the limit when this was "
        "drawn; a new budget covers other days only.",
        "data_source_type": "Dynamic" if product.repeated else "Static",
        "access_type": "Non-interactive",
    }


def _implementation(manifest: Mapping, product: Product, about: About) -> dict:
    privacy, count = manifest["privacy"], manifest["public_parameters"]["public"].get("count", "listed")
    software = f"Made with meterdp {manifest['meterdp_version']}"
    open_ends = "Timing and other side channels of the machine are not closed; its users are trusted."
    return {
        "preprocessing_and_hyperparameter_tuning": _PREPROCESSING.format(_WITHOUT_READINGS[count]),
        "mechanisms": _points([product.mechanisms, _GAUSSIAN, open_ends, software]),
        "composition": _points([f"{privacy['accountant']} ({', '.join(privacy['proof'])})"]),
        "post_processing": product.post_processing,
        "justification": _JUSTIFICATION,
        "additional_information": _simulated(manifest)
        + "The folder holds a manifest with every public parameter and a checksum of every data file"
        + (f"; licence {about.licence}." if about.licence else "."),
    }


def _simulated(manifest: Mapping) -> str:
    return f"{_SIMULATED} " if manifest["simulated_data"] else ""


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:].rstrip('.')}."


def _points(sentences: Sequence[str]) -> str:
    return "\n".join(f"{'- ' if len(sentences) > 1 else ''}{_sentence(each)}" for each in sentences)


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, so that people can read and mend them."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
