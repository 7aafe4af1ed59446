"""What a released folder says of itself: an RO-Crate that keeps the musts of its specification, a registry entry."""

import hashlib
import json
from datetime import UTC, date, datetime

import numpy as np
import pytest
import yaml

from meterdp.errors import InputError
from meterdp.privacy.guarantee import STUDY_MODE
from meterdp.publish.crate import NO_LICENCE, About
from meterdp.publish.folder import described, publish
from meterdp.publish.kinds import CRATE, DESCRIPTIONS, ENTRY, KINDS, PAGE
from meterdp.publish.registry_entry import check_entry, entry_of
from meterdp.release.service import PLACES
from tests.unit.groupforecast.made_up import records_of, town
from tests.unit.release import charged
from tests.unit.release.charged import DEFAULTS, release_forecasts, release_mixture

N = 60
SAID = {
    "population": "Springfield",
    "budget_period": "2025",
    "publisher": "Springfield Power & Light",
    "region": "Springfield, Oregon",
    "licence": "https://creativecommons.org/licenses/by/4.0/",
}
ABOUT = About.from_config(DEFAULTS["release"] | SAID)
DAY = date(2025, 12, 1)


def service(folder, simulated=False, **release):
    sections = {"export": {"meters": "secret-folder/list.csv"}}
    return charged.service(folder, "11", simulated=simulated, sections=sections, **SAID | release)


@pytest.fixture(scope="module", params=["mixture", "forecasts", "label"])
def files(request, tmp_path_factory):
    """Released files of every kind, as a release service hands them over."""
    folder, generator = tmp_path_factory.mktemp(request.param), np.random.default_rng(2)
    if request.param == "mixture":
        return release_mixture(generator.normal(-1.0, 0.7, (N, 24)), service(folder))
    protects = {"forecast_protects": "label", "what": ["forecasts"]} if request.param == "label" else {}
    own = generator.normal(-2.0, 1.0, (N, DEFAULTS["forecast"]["horizon_steps"]))
    x = own if protects else records_of(town(N, 28)).x
    return release_forecasts(x, None, service(folder, **protects))[0]


def entities(files):
    return {entity["@id"]: entity for entity in json.loads(files[CRATE])["@graph"]}


def references(value):
    """Yield what an entity points to, and refuse entities within entities."""
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, dict):
            assert set(entry) == {"@id"}, "the graph is flat"
            yield entry["@id"]


def test_a_crate_keeps_the_musts_of_the_specification(files):
    """RO-Crate 1.2: structure, metadata, root data entity, data entities."""
    crate = json.loads(files[CRATE])
    assert set(crate) == {"@context", "@graph"} and crate["@context"] == "https://w3id.org/ro/crate/1.2/context"
    graph = entities(files)
    assert len(graph) == len(crate["@graph"]), "every @id once"
    assert all(entity["@id"] and entity["@type"] and entity["name"] for entity in graph.values())
    descriptor, root = graph[CRATE], graph["./"]
    assert descriptor["@type"] == "CreativeWork" and descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.2"}
    assert root["@type"] == "Dataset" and all(root[key] for key in ("name", "description", "license"))
    assert date.fromisoformat(root["datePublished"]) <= datetime.now(UTC).date()
    licence = graph[root["license"]["@id"]]
    assert licence["@id"] == SAID["licence"] and licence["description"]
    found = {to for entity in graph.values() for value in entity.values() for to in references(value)}
    assert found - {"https://w3id.org/ro/crate/1.2"} <= set(graph), "what is pointed to is described"
    assert set(graph) - {CRATE} <= found, "what is described is pointed to"
    parts = {part["@id"] for part in root["hasPart"]}
    data = {name for name, e in graph.items() if e["@type"] in ("File", "Dataset") and name != "./"}
    assert data == parts, "every data entity is part of the root"


def test_a_crate_lists_every_file_of_its_folder_with_its_digest(files):
    graph = entities(files)
    listed = {name for name, entity in graph.items() if entity["@type"] == "File"}
    forecasts = "forecasts.parquet" in files
    by_group = forecasts and json.loads(files["manifest.json"])["privacy"]["adjacency"] == "replace_one"
    beside = [*["forecasts.parquet"] * forecasts, *["shape.parquet"] * by_group]
    kind = KINDS["forecasts" if forecasts else "mixture"]
    assert listed | {CRATE} == set(files) == {*kind.files, *beside, *DESCRIPTIONS}
    assert PLACES not in files and PLACES.encode() not in files[CRATE]
    for name in listed:
        assert graph[name]["sha256"] == hashlib.sha256(files[name]).hexdigest()
        assert int(graph[name]["contentSize"]) == len(files[name])
    columns = {entity["name"] for entity in graph.values() if entity["@type"] == "PropertyValue"}
    assert columns >= (
        {"expected_kwh"} if by_group else {"released_kwh"} if forecasts else {"covariance", "energy_kwh"}
    )


def test_an_entry_has_the_fields_of_the_registry_and_the_guarantee_of_the_manifest(files):
    check_entry(files[ENTRY])
    entry, manifest = yaml.safe_load(files[ENTRY]), json.loads(files["manifest.json"])
    told, privacy = entry["deployment"], manifest["privacy"]
    assert told["privacy_loss"]["privacy_parameters"] == {key: privacy[key] for key in ("epsilon", "delta")}
    assert told["privacy_loss"]["number_of_privacy_units"] == N
    sound = privacy["adjacency"] == "replace_one"
    assert told["dp_variant"]["variant_name"] == ("Approximate DP" if sound else "Custom")
    assert told["basic"]["data_curators"] == [
        {"data_curator_name": SAID["publisher"], "data_curator_type": "Industry"}
    ]
    assert told["basic"]["data_product_region"] == SAID["region"] and "Springfield" in told["basic"]["name"]
    assert told["basic"]["publication_date"] == entities(files)["./"]["datePublished"]
    for line in privacy["does_not_hide"]:
        assert line[1:] in told["dp_variant"]["unprotected_quantities"]
    assert all(proof in told["implementation"]["composition"] for proof in privacy["proof"])


def test_a_kind_of_release_without_words_of_its_own_gets_those_of_its_manifest(files):
    manifest = json.loads(files["manifest.json"])
    manifest["public_parameters"] |= {"artefact": "totals", "public": {}}
    entry = entry_of(manifest, ABOUT, DAY)
    check_entry(entry)
    told = yaml.safe_load(entry)["deployment"]
    assert (
        manifest["what"][1:] in told["basic"]["description"] and "number_of_privacy_units" not in told["privacy_loss"]
    )


def test_neither_names_a_path_a_list_or_the_ledger(files):
    for name in DESCRIPTIONS:
        for word in (b"secret-folder", b"list.csv", b"ledger.sqlite", b"/tmp", b"sha256 of the list"):
            assert word not in files[name]


def test_simulated_households_are_said_to_be_and_nobody_named_leaves_both_files_whole(tmp_path):
    open_ = dict.fromkeys(("population", "budget_period", "publisher", "region", "licence"))
    x = np.random.default_rng(3).normal(-1.0, 0.7, (N, 24))
    files = release_mixture(x, service(tmp_path, simulated=True, **open_))
    check_entry(files[ENTRY])
    root = entities(files)["./"]
    assert root["license"] == NO_LICENCE and root["description"].startswith("The households are simulated")
    assert "publisher" not in root
    for page in ("README.md", PAGE):
        said = files[page].decode()
        assert NO_LICENCE in said and "To cite it: [publisher]. Typical load profiles: simulated households" in said
    basic = yaml.safe_load(files[ENTRY])["deployment"]["basic"]
    assert "do not submit it" in basic["description"] and basic["data_product_region"].endswith("Los_Angeles")


def test_what_the_registry_would_not_take_is_not_published(files, tmp_path):
    entry = yaml.safe_load(files[ENTRY])
    del entry["deployment"]["basic"]["publication_date"]
    entry["deployment"]["privacy_loss"]["privacy_parameters"]["delta"] = 2
    broken = dict(files) | {ENTRY: yaml.safe_dump(entry).encode()}
    with pytest.raises(InputError, match="does not fit the fields of the registry"):
        publish(broken, tmp_path / "results/release/mixture")
    assert not (tmp_path / "results").exists()


def test_what_an_earlier_version_stored_is_published_as_it_is(files, tmp_path):
    stored = {name: data for name, data in files.items() if name not in DESCRIPTIONS}
    publish(stored, tmp_path / "results/release/mixture")
    assert {p.name: p.read_bytes() for p in (tmp_path / "results/release/mixture").iterdir()} == stored


def test_what_is_said_of_a_folder_follows_from_its_files_and_a_study_is_not_described(files):
    bare = {name: data for name, data in files.items() if name not in DESCRIPTIONS}
    assert described(bare, ABOUT, DAY) == described(files, ABOUT, DAY)
    study = json.dumps({"status": STUDY_MODE}).encode()
    with pytest.raises(InputError, match="holds a file that is not for release"):
        described(files | {"0.json": study}, ABOUT, DAY)
    with pytest.raises(InputError, match="has no manifest of a release"):
        described({"0.json": b"{}"}, ABOUT, DAY)
