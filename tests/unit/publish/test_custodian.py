"""The page for whoever signs, and metadata for catalogues: filled from the manifest, and nothing private in them."""

import hashlib
import json
import re
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from scipy.special import ndtr

from meterdp.core.config import load_schema, looked_through
from meterdp.core.parquet import table_bytes
from meterdp.errors import InputError
from meterdp.pages.numbers import bound
from meterdp.privacy import gaussian
from meterdp.privacy.charge import Charge, epsilon_of, epsilon_text
from meterdp.privacy.guarantee import Limit
from meterdp.privacy.ledger import Ledger
from meterdp.privacy.periods import days_read
from meterdp.publish import kinds
from meterdp.publish.crate import About, covered_days, file_entity
from meterdp.publish.custodian import custodian_page
from meterdp.publish.folder import described
from meterdp.publish.kinds import CRATE, CROISSANT, CUSTODIAN, DCAT, DESCRIPTIONS, ENTRY, PAGE, README
from meterdp.publish.odds import FOLDER, INFORMED, Bounds, tried
from meterdp.publish.received import verify
from meterdp.publish.registry_entry import check_entry
from meterdp.publish.tables import RELEASED_SHAPE
from meterdp.release.asked import MODULES, run
from meterdp.release.mixture import ReleasedMixture
from meterdp.release.show import sentence
from tests import chromium
from tests.conftest import ROOT
from tests.unit.publish.test_about import ABOUT, DAY, SAID, N, service
from tests.unit.publish.test_page import KINDS, released, words_of
from tests.unit.release.charged import DEFAULTS, release_mixture
from tests.unit.release.charged import service as town

SCHEMA = load_schema(ROOT / "workflow/schemas/config.schema.yaml")


@pytest.fixture(scope="module", params=KINDS)
def files(request, tmp_path_factory):
    return released(request.param, tmp_path_factory.mktemp(request.param))


def manifest_of(files):
    return json.loads(files["manifest.json"])


def test_fields_are_filled_from_the_manifest_and_blanks_are_left_for_the_custodian(files):
    words, manifest = words_of(files[CUSTODIAN]), manifest_of(files)
    first, last = manifest["period"]
    assert f"Controller {SAID['publisher']}" in words and "Legal basis to be filled in" in words
    for field in ("For whom", "Recipients"):
        assert f"{field} anyone, for any use the licence allows; or only: to be filled in" in words
    assert f"electricity readings of the days {first} to {last}, every 15 minutes" in words
    assert f"Readings {first} to {last} Files with data" in words
    assert f"whoever uses the electricity of {N} listed meters ({SAID['population']})" in words
    assert "Who is on the list: homes, businesses, others to be filled in" in words
    assert f"Unit of protection {manifest['privacy']['unit']}." in words
    for said in (*manifest["privacy"]["hides"], *manifest["privacy"]["does_not_hide"]):
        assert said in words
    for one in manifest.get("expected_error", {"quantities": []})["quantities"]:
        assert f"{one['of']} {100 * one['error']:.0f} %" in words


def test_whether_the_files_are_anonymous_is_asked_by_the_tests_of_the_guidance_and_left_open(files):
    words = words_of(files[CUSTODIAN]).split("Draft of a data-protection impact assessment")[1]
    _, _, asked = words.partition("Whether the files are personal data, too Recital 26 of the GDPR")
    asked, _, _ = asked.partition("Unit of protection")
    assert "Opinion 05/2014" in asked and "singling out, linkability and inference" in asked
    assert asked.strip().endswith("Conclusion of the officer: to be filled in")
    hides = manifest_of(files)["privacy"]["adjacency"] == "replace_one"
    assert ("membership for linkability" in asked, "About singling out and inference it says nothing" in asked) == (
        hides,
        not hides,
    )
    assert not re.search("(is|are) (not personal|anonymous)", asked)


@pytest.mark.parametrize("prior_mixture", ["auto", None])
def test_readers_and_signers_learn_of_a_prior_mixture_that_the_fit_started_from(tmp_path, prior_mixture):
    x = np.random.default_rng(1).normal(-1.0, 0.7, (N, 24))
    made_by = service(tmp_path, allow=["poor"])
    made_by.config["mechanisms"]["sound"]["prior_mixture"] = prior_mixture
    files = release_mixture(x, made_by)
    used = prior_mixture is not None
    assert ("started from a public mixture of simulated households" in files["README.md"].decode()) == used
    assert ("started from a public mixture of simulated households" in files[PAGE].decode()) == used
    assert ("Fit started from a public mixture (its digest is" in words_of(files[CUSTODIAN])) == used


def test_odds_are_those_of_the_guarantee_and_of_the_nearest_attacks(files):
    words, manifest = words_of(files[CUSTODIAN]), manifest_of(files)
    privacy = manifest["privacy"]
    right = Bounds.stated(privacy).naming(2)
    assert f"at most {bound(right)} of the time" in words
    if privacy["adjacency"] != "replace_one":
        assert "It does not protect the readings" in words and "measured," not in words
        return
    sharp = Bounds.exact(privacy).naming(2)
    assert 0.5 < sharp < right and bound(sharp) in words
    assert f"For the board: {bound(right)}. It follows from ε and δ" in words
    assert f"The {bound(sharp)} does, too, and is closer" in words
    of_three = Bounds.stated(privacy).of_meters(3).naming(2), Bounds.exact(privacy, 3).naming(2)
    assert "all three at most {} of the time, and by the exact noise {}.".format(*map(bound, of_three)) in words
    assert of_three[0] > right, "less than one meter"
    assert "so far" not in words.split("Retention")[0], "the first release of these meters"
    guessed = map(float, re.findall(r"([0-9.]+) times(?: in 1,000 with it|\.)", words))
    for said, bounds in zip(guessed, (Bounds.stated(privacy), Bounds.exact(privacy)), strict=True):
        assert 0 <= said - 1000 * bounds.hitting(0.001) < 0.1, "rounded up"
    assert "risk measure remaining risk" in words and "are those by ε and δ, as for the board" in words
    kind = "mixture" if "mixture.json" in files else "forecasts"
    found = tried(kind, privacy["epsilon"], N)
    assert (
        f"{found.meters} simulated meters with default settings. Of several such tests it is the one closest to"
        in words
    )
    assert f"right on simulated households, at ε = {found.epsilon:g} and δ = 10⁻⁵ attack" in words
    assert "The bounds of this release itself" not in words, "they are the same"
    share, low, high = (100 * number for number in found.right[FOLDER, "reconstruction"])
    assert f"{share:.0f} % ({low:.0f} to {high:.0f})" in words


@pytest.mark.parametrize(
    ("epsilon", "which", "quoted"),
    [
        (0.5, "the one closest to this release that had less noise (a larger ε)", 1),
        (2, "the one closest to this release that had less noise (a larger ε)", 4),
        (8, "the one with the least noise, which is still more than this release has (a smaller ε)", 4),
    ],
)
def test_attacks_at_a_smaller_epsilon_are_quoted_only_where_there_is_no_larger_and_it_is_said(
    tmp_path, epsilon, which, quoted
):
    x = np.random.default_rng(1).normal(-1.0, 0.7, (N, 24))
    made_by = service(tmp_path, epsilon=epsilon, cap_epsilon=12, allow=["poor"])
    words = words_of(release_mixture(x, made_by)[CUSTODIAN])
    own = "smaller" if epsilon < quoted else "larger"
    assert f"simulated meters with default settings. Of several such tests it is {which}. The bounds" in words
    assert f"The bounds of this release itself, in the table above, are {own}." in words
    assert f"Of the tests made before, quoted here is {which} (200 releases of 100 " in words
    assert f" simulated meters at ε = {quoted}, a program" in words
    assert "a program as the intruder): there the test was passed: membership" in words
    assert ("the custodian has to run the test" in words) == (epsilon > quoted)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1, 2])
@pytest.mark.parametrize("meters", [60, 400])
def test_measured_shares_stand_beside_the_bound_of_their_own_epsilon(tmp_path, epsilon, meters):
    """Oracle: of mu-GDP noise, Phi(mu / 2) of two. No share is called chance that is not above that bound."""
    x = np.random.default_rng(1).normal(-1.0, 0.7, (meters, 24))
    words = words_of(release_mixture(x, service(tmp_path, epsilon=epsilon, allow=["poor"]))[CUSTODIAN])
    found = tried("mixture", epsilon, meters)
    most = bound(ndtr(gaussian.mu_for(found.epsilon, 1e-5) / 2))
    for attack in ("membership", "attribute"):
        shares = [found.right[attacker, attack] for attacker in (INFORMED, FOLDER)]
        said = " ".join(f"{100 * a:.0f} % ({100 * b:.0f} to {100 * c:.0f})" for a, b, c in shares)
        assert f"{attack} 50 % {most} {said}" in words
    above = any(
        share > found.bounds.naming(10 if attack == "reconstruction" else 2)
        for (_, attack), (share, _, _) in found.right.items()
    )
    assert ("may be chance" in words) == above


def test_the_calendar_says_what_the_ledger_has_and_when_a_new_budget_begins(files):
    words, budget = words_of(files[CUSTODIAN]), manifest_of(files)["budget"]
    limit = f"from readings of this budget period ε = {budget['limit_epsilon']:g} at δ = 10⁻⁵"
    assert f"limit for all releases about a meter {limit}" in words
    assert budget["spent_epsilon"] == pytest.approx(1, abs=1e-3) and 3.5 < budget["left_epsilon"] < 4
    assert f"at most ε = {budget['left_epsilon']:g}, on any day, if nothing has been released since" in words
    assert "readings of 2026-01-01 or later the full limit, less what was released from them before" in words
    alone = "the numbers here are for this period alone"
    assert f"spent in other budget periods nothing, according to this ledger, when this was drawn; {alone}" in words
    assert ("crosswalk.parquet" in words) == ("mixture.json" not in files)


def test_the_budget_counts_stored_releases_once_and_no_lost_attempt(tmp_path):
    """Oracle: Gaussian losses add up by their squares, and the ledger itself, which has lost attempts as well."""
    x = np.random.default_rng(1).normal(-1.0, 0.7, (N, 24))
    first = manifest_of(release_mixture(x, service(tmp_path)))
    second = service(tmp_path, epsilon=2)
    ledger, limit = Ledger(second.config["release"]["ledger"]), Limit(4, 1e-5)
    request = second.request(ReleasedMixture.configured(N, second, None))
    (attempt,) = ledger.charge([request], limit).values()
    ledger.drawn(request.key, attempt).remove()  # the run died, and nobody knows what it drew
    manifest = manifest_of(release_mixture(x, second))
    mu = np.hypot(*(one["privacy"]["loss"]["mu"] for one in (first, manifest)))
    spent, (left, _), _ = ledger.reported([request], limit)
    assert [one.mu for one in spent] == pytest.approx([mu])
    assert manifest["budget"]["left_epsilon"] == left > ledger.after([request], limit)[1][0]
    assert first["budget"]["spent_epsilon"] < manifest["budget"]["spent_epsilon"] < 4


def test_signers_learn_what_all_releases_together_let_an_attacker_find_out(tmp_path):
    """Oracle: (epsilon, delta) and two sets of readings; Gaussian losses add up by their squares."""
    x = np.random.default_rng(1).normal(-1.0, 0.7, (N, 24))
    made = [release_mixture(x, service(tmp_path, epsilon=epsilon)) for epsilon in (1, 2)]
    mu = np.hypot(*(manifest_of(files)["privacy"]["loss"]["mu"] for files in made))
    epsilon = float(epsilon_text(epsilon_of(Charge(mu), 1e-5)))
    words, right = words_of(made[1][CUSTODIAN]), bound((np.exp(epsilon) + 1e-5) / (np.exp(epsilon) + 1))
    assert f"With all that was released from readings of the period so far: {right}." in words
    assert f"with all so far at most {right}; at the limit" in words


def test_a_limit_stated_earlier_is_the_one_on_the_pages(tmp_path):
    """A higher one in a configuration does not raise it."""
    x = np.random.default_rng(1).normal(-1.0, 0.7, (N, 24))
    release_mixture(x, service(tmp_path, cap_epsilon=3))
    files = release_mixture(x, service(tmp_path, epsilon=2, cap_epsilon=8))
    budget = manifest_of(files)["budget"]
    assert budget["limit_epsilon"] == 3 and budget["spent_epsilon"] + budget["left_epsilon"] > 2.9
    words = words_of(files[CUSTODIAN])
    assert "from readings of this budget period ε = 3 at δ = 10⁻⁵" in words
    assert f"at the limit, an attacker is right at most {bound((np.exp(3) + 1e-5) / (np.exp(3) + 1))} of" in words
    assert "cost at most epsilon 3 at delta 1e-05" in files[ENTRY].decode()


def test_what_other_budget_periods_spent_is_on_the_page(tmp_path):
    """Oracle: Gaussian losses add up by their squares, whatever days they are of."""
    x = np.random.default_rng(1).normal(-1.0, 0.7, (N, 24))

    def made(year, epsilon):
        settings = SAID | {"budget_period": str(year), "epsilon": epsilon, "cap_epsilon": 8}
        made_by = town(tmp_path, year=year, simulated=False, sections={"export": {"meters": "list.csv"}}, **settings)
        return release_mixture(x, made_by)

    losses = [manifest_of(files := made(*one))["privacy"]["loss"]["mu"] for one in ((2024, 2), (2025, 1))]
    in_all = epsilon_of(Charge(np.hypot(*losses)), 1e-5)
    budget = manifest_of(files)["budget"]
    assert budget["spent_epsilon"] == pytest.approx(1, abs=1e-3)
    assert budget["spent_in_all_periods_epsilon"] == float(epsilon_text(in_all))
    said = f"with them, some meter had spent ε = {budget['spent_in_all_periods_epsilon']:g} in all, according to this"
    assert f"spent in other budget periods {said}" in words_of(files[CUSTODIAN])


def test_strata_and_what_totals_cut_off_are_on_the_page_of_who_signs():
    """A lawyer once signed a release by heating, and one of feeders with workshops, without reading either."""
    privacy = {"adjacency": "replace_one", "epsilon": 1, "delta": 1e-5, "unit": "u", "hides": [], "does_not_hide": []}
    manifest = {
        **{"budget": {"limit_epsilon": 4, "limit_delta": 1e-5}},
        **{"what": "totals", "population": "Town", "simulated_data": False, "meterdp_version": "1", "sha256": {}},
        **{"period": ["2025-01-01", "2025-12-31"], "budget_period": "2025", "privacy": privacy | {"proof": ["p"]}},
        "public_parameters": {"export": {"interval_minutes": 60}, "artefact": "feeders", "mechanism": "m"},
        "expected_error": {"quantities": [], "usable_share": 0.95},
    }
    manifest["public_parameters"]["mechanism_version"] = 1

    def page(**more):
        return words_of(custodian_page({README: b"# Totals: Town"}, manifest | more, ABOUT, DAY))

    said = "by heating: gas (576), other (384). 'other' joins heat pump (339) and stove (45)"
    assert f"Groups of homes (strata) {said}" in page(strata=said)
    cut_off = "the total of a feeder with large users is too low"
    assert f"{cut_off}." in page(feeder_totals={"cut_off": cut_off})
    assert "strata" not in page()
    assert "spent in other budget periods the numbers here are for this period alone" in page()
    assert "chosen without using what the readings, or a study of them, show" in page()


def test_the_budget_counts_all_that_is_asked_for_together_whichever_is_made_first(tmp_path):
    """Oracle: Gaussian losses add up by their squares. What was stored before counts as well, everything once."""
    listed = "meter_id,lv_feeder_id,circuit\n" + "".join(f"m{i:03d},f{i % 3},c\n" for i in range(N))
    (tmp_path / "list.csv").write_text(listed)
    x = {"mixture": np.random.default_rng(1).normal(-1.0, 0.7, (N, 24)), "feeders": np.full((N, 48), 0.2)}

    def budgets(*order, before=()):
        """Return what every folder states, made in an order."""
        folder = tmp_path / "-".join((*order, *before))
        settings = {"what": ["mixture", "feeders"], "feeder_window": "average_day", "feeder_days": 7}
        settings |= {"feeder_typical_daily_kwh": 8, "cap_epsilon": 8}
        stated = {}
        for what in (*before, *order):
            release = settings | ({"what": [what], "epsilon": 2} if what in before and what not in stated else {})
            config = town(folder, meters=listed.encode(), **release).config
            config["export"]["interval_minutes"] = 30
            module = SimpleNamespace(mechanisms=MODULES[what].mechanisms, records=lambda *_, what=what: x[what])
            run(module, {"meters": tmp_path / "list.csv"}, config, True, folder / what)
            stated[what] = json.loads((folder / what / "manifest.json").read_text())
        assert "what was requested with it" in words_of((folder / what / CUSTODIAN).read_bytes())
        return stated

    mixture_first, feeders_first = budgets("mixture", "feeders"), budgets("feeders", "mixture")
    stated = [one[what]["budget"] for one in (mixture_first, feeders_first) for what in one]
    assert all(budget == stated[0] for budget in stated)
    losses = [Charge.of_event(one["privacy"]["loss"]) for one in mixture_first.values()]
    assert stated[0]["spent_epsilon"] == float(epsilon_text(epsilon_of(losses[0] + losses[1], 1e-5)))
    after = budgets("feeders", "mixture", before=("mixture",))
    earlier = Charge(gaussian.mu_for(2, 1e-5))
    in_all = epsilon_of(losses[0] + losses[1] + earlier, 1e-5)
    assert after["feeders"]["budget"]["spent_epsilon"] == float(epsilon_text(in_all))
    assert after["mixture"]["budget"] == after["feeders"]["budget"]


def test_nothing_is_said_that_is_not_in_the_folder_or_public(files, tmp_path):
    """Oracle: the other files alone give the same, whoever makes it and wherever."""
    bare = {name: data for name, data in files.items() if name not in DESCRIPTIONS}
    again = described(bare, ABOUT, DAY)
    for name in (CUSTODIAN, DCAT, CROISSANT):
        text = files[name].decode()
        today = json.loads(files[DCAT])["dct:issued"]["@value"]
        later, year = (type(DAY).fromisoformat(today) + timedelta(days=365)).isoformat(), timedelta(days=365)
        days = {today: DAY.isoformat(), later: (DAY + year).isoformat()}
        pieces = re.split(f"({today}|{later})", text)
        assert again[name].decode() == "".join(days.get(piece, piece) for piece in pieces)
        assert str(tmp_path.parent) not in text and "list.csv" not in text and "ledger.sqlite" not in text
        assert not re.search(r"\b[0-9a-f]{16}\b", text), "no name of a household's file"


NAMES = [
    "Val d'Isarco",
    "L’Aquila",
    "Brighton & Hove, Frankfurt (Oder) / Słubice",
    "'/../&amp-_x_' - ,.",
    "Ísafjörður",
    "जयपुर ज़िला",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_place_has_its_name_everywhere(tmp_path, name):
    """Every file is still what its form demands, and whoever reads it gets the name back."""
    given, problems = looked_through({"release": {"population": name}}, SCHEMA, "config")
    assert given["release"]["population"] == name and not problems
    made_by, folder = service(tmp_path, population=name), tmp_path / "results/release/mixture"
    files = release_mixture(np.random.default_rng(2).normal(-1.0, 0.7, (N, 24)), made_by, folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(files)
    verify(folder)
    check_entry(files[ENTRY])
    entry = yaml.safe_load(files[ENTRY])
    assert entry["deployment"]["basic"]["name"].endswith(name) and re.fullmatch("[a-z0-9-]+", entry["url_slug"])
    for page in (PAGE, CUSTODIAN):
        assert name in words_of(files[page])
    for data in (CRATE, DCAT, CROISSANT, "manifest.json"):
        assert name in json.dumps(json.loads(files[data]), ensure_ascii=False)
    assert files["README.md"].decode().split("\n")[0] == f"# Typical load profiles: {name}", "of a place or of people"
    assert name in sentence(Ledger(made_by.config["release"]["ledger"]))


@pytest.mark.parametrize(
    "sign", ["<", ">", "`", "[", "]", "\n", '"', "\\", ";", ":", "|", "#", "*", "$", "{", "\u202e"]
)
@pytest.mark.parametrize("name", ["{}b", "a{}b", "a{}"])
def test_what_could_be_markup_is_in_no_name(sign, name):
    _, (problem,) = looked_through({"release": {"population": name.format(sign)}}, SCHEMA, "config")
    assert problem.field == "release.population"


def test_a_changed_guarantee_on_any_of_them_is_found(files, tmp_path):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    assert {CUSTODIAN, DCAT, CROISSANT}.isdisjoint(verify(tmp_path).files)
    for name in (CUSTODIAN, DCAT, CROISSANT):
        changed = files[name].replace(b"epsilon 1 and delta", b"epsilon 0.1 and delta")
        assert changed != files[name]
        (tmp_path / name).write_bytes(changed)
        with pytest.raises(InputError, match="states a different guarantee"):
            verify(tmp_path)
        (tmp_path / name).write_bytes(files[name])


def test_a_folder_covers_the_days_of_its_files():
    period = ["2023-09-18", "2023-11-26"]
    for window, days in (
        (None, period),
        ({"kind": "days", "first_day": "2023-11-20", "days": 7}, ["2023-11-20", "2023-11-26"]),
        ({"kind": "average_day", "first_day": "2023-11-20", "days": 7}, ["2023-11-20", "2023-11-26"]),
        ({"days": 7}, period),  # forecasts look at the last days and are of those that follow
    ):
        said = {} if window is None else {"window": window}
        manifest = {"period": period, "public_parameters": said}
        assert covered_days(manifest) == days
        assert days_read(period, manifest["public_parameters"]) == (
            period if window is None else ["2023-11-20", "2023-11-26"]
        )
    assert days_read([None, None], {"window": {"days": 28}}) == [None, None]


def described_files(files):
    """Names of the files with data, the manifest and the README, those of single households left out."""
    return {name for name in files if name not in DESCRIPTIONS}


def test_dcat_has_what_its_application_profile_demands_and_a_digest_of_every_file(files):
    """DCAT-AP 3.0: title and description of a dataset, an access address of each distribution; spdx for checksums."""
    dataset = json.loads(files[DCAT])
    assert dataset["@type"] == "dcat:Dataset" and dataset["dct:title"]["@value"] and dataset["dct:description"]
    assert all(dataset["@context"][p].startswith("http") for p in ("dcat", "dct", "foaf", "spdx", "skos", "xsd"))
    assert dataset["dct:temporal"]["dcat:startDate"]["@value"] == manifest_of(files)["period"][0]
    assert dataset["dct:publisher"]["foaf:name"] == SAID["publisher"]
    digests = {}
    for one in dataset["dcat:distribution"]:
        assert one["@type"] == "dcat:Distribution" and one["dcat:accessURL"]["@id"]
        assert one["dct:license"]["@id"] == SAID["licence"]
        if "spdx:checksum" in one:
            name = one["dcat:downloadURL"]["@id"]
            digests[name] = one["spdx:checksum"]["spdx:checksumValue"]["@value"]
            assert int(one["dcat:byteSize"]["@value"]) == len(files[name])
    assert digests == {name: hashlib.sha256(files[name]).hexdigest() for name in described_files(files)}


def test_croissant_has_what_its_specification_demands_and_every_column(files):
    """Croissant 1.0: required properties of a dataset, of file objects and sets, of record sets and fields."""
    dataset = json.loads(files[CROISSANT])
    assert dataset["@type"] == "sc:Dataset" and dataset["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    for key in ("@context", "name", "description", "license", "url", "creator", "datePublished"):
        assert dataset[key]
    assert dataset["url"] == PAGE and dataset["license"] == SAID["licence"]
    objects = {one["@id"]: one for one in dataset["distribution"] if one["@type"] == "cr:FileObject"}
    assert set(objects) == described_files(files)
    for name, one in objects.items():
        assert one["sha256"] == hashlib.sha256(files[name]).hexdigest() and one["contentUrl"] == name
        assert one["encodingFormat"] and one["name"] == name
        assert (one["encodingFormat"] == "application/x-parquet") == name.endswith(".parquet"), (
            "as mlcroissant has it"
        )
    first, last = manifest_of(files)["period"]
    released, days = f"released {dataset['datePublished']}", f"Readings of {first} to {last}"
    named = f"SHA-256 of manifest.json: {hashlib.sha256(files['manifest.json']).hexdigest()}"
    assert dataset["citeAs"] == f"{SAID['publisher']}. {dataset['name']}. {days}, {released}. {named}."
    readme = files[README].decode()
    assert f" To cite it: {dataset['citeAs']}\n" in readme and readme.startswith(f"# {dataset['name']}\n")
    for page in (PAGE, CUSTODIAN):
        assert dataset["name"] in words_of(files[page])
    assert dataset["description"].lower().startswith(manifest_of(files)["what"].lower())
    ids = [field["@id"] for table in dataset["recordSet"] for field in table["field"]]
    assert ids and len(ids) == len(set(ids))
    for table in dataset["recordSet"]:
        for field in table["field"]:
            assert field["source"]["fileObject"]["@id"] in objects
            assert field["dataType"].startswith("sc:") and field["source"]["extract"]["column"] == field["name"]
            assert not field["description"].endswith(", 1"), "a unit that is none"


def test_every_file_of_a_folder_is_described_and_parquet_has_its_registered_name():
    for kind in kinds.KINDS.values():
        for name in kind.other_files:
            assert file_entity(name, b"")["description"]
    parquet = file_entity("shape.parquet", table_bytes(RELEASED_SHAPE, RELEASED_SHAPE.schema.empty_table()))
    assert parquet["encodingFormat"] == "application/vnd.apache.parquet"


def test_what_is_not_known_is_not_cited():
    files, manifest = (
        {README: b"# Totals: Town\n", "manifest.json": b""},
        {"period": [None, None], "public_parameters": {}},
    )
    cited = About.from_config(DEFAULTS["release"]).citation(files, manifest, DAY)
    assert cited.startswith(f"[publisher]. Totals: Town. Released {DAY}. SHA-256 of manifest.json: e3b0c442")


def test_a_browser_shows_the_page_without_an_error_or_a_request(files, tmp_path):
    (tmp_path / CUSTODIAN).write_bytes(files[CUSTODIAN])
    (facts,) = chromium.inspect_pages([tmp_path / CUSTODIAN], width=400)
    assert facts.errors == [] and not facts.scrolls_sideways
    assert facts.requests == [(tmp_path / CUSTODIAN).resolve().as_uri()]
