"""What is audited: pairs that are hard for the mechanism, no bound above a proven claim, every mutant caught."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import wishart

from meterdp.audit.cases import dpem, feeder_totals, forecasts, primitives, published, shared_noise, sound
from meterdp.audit.cases.interface import OUTPUT, TRANSCRIPT, Spy, gaussian_log_ratio, replayed
from meterdp.audit.study import PARTS, case_rows
from meterdp.core.noise import StudyNoise
from meterdp.feeders.mechanism import FeederRecords
from meterdp.publish.kinds import KINDS as RELEASED
from meterdp.release.asked import asked
from meterdp.release.service import ReleaseService
from tests.conftest import config_of

# Of each row; a dozen rows are judged here.
ERROR = 1e-3


@pytest.fixture(autouse=True)
def small_pool(monkeypatch):
    """Fewer profiles for the distribution of energies, a public constant, make many runs with marginals quick."""
    monkeypatch.setattr("meterdp.mechanisms.proven.marginals.POOL", 2000)


def rows(case, trials):
    return list(case_rows(case, trials, ERROR, seed=7))


def test_seven_tenths_of_the_claim_are_found_on_a_scalar_gaussian():
    """The bound on epsilon itself, not only the one by way of mu."""
    (row,) = rows(primitives.gaussian_noise(1.0), 4_000_000)
    assert 0.7 < row["epsilon_power"] <= 1 and 0.9 < row["mu_power"] <= 1
    assert row["exceeded"] == "none" and row["as_expected"]


def test_too_little_noise_on_one_number_is_caught():
    half, tenth = [case for case in primitives.cases([4.0]) if case.mutant]
    assert rows(half, 20_000)[0]["mu_power"] > 1.5
    assert rows(tenth, 1_000_000)[0]["exceeded"] == "mu", "a tenth less noise needs a million runs"


def pair(kind, epsilon, adjacency):
    return sound.labelled_pair(epsilon) if kind == "labels" else sound.pair_of(kind, epsilon, adjacency)


@pytest.mark.parametrize(
    ("kind", "epsilon", "adjacency", "draws", "least"),
    [
        ("labels", 4.0, "label_flip", 200, 0.9),
        *(("loads", 4.0, adjacency, 200, 0.9) for adjacency in ("replace_one", "add_remove")),
        *(("ball", 4.0, adjacency, 200, 0.9) for adjacency in ("replace_one", "add_remove")),
        *(("ball_prior", 4.0, adjacency, 200, 0.9) for adjacency in ("replace_one", "add_remove")),
        *(("marginals", 4.0, adjacency, 40, 0.9) for adjacency in ("replace_one", "add_remove")),
        *(("prior_mixture", 8.0, adjacency, 200, 0.85) for adjacency in ("replace_one", "add_remove")),
        *(("prior_mixture", 1.0, adjacency, 200, 0.85) for adjacency in ("replace_one", "add_remove")),
    ],
)
def test_the_pairs_for_the_sound_releases_spend_nearly_all_of_mu_and_no_more(kind, epsilon, adjacency, draws, least):
    """Exact: along recorded answers every step is Gaussian, with a mu that can be written down."""
    audited = pair(kind, epsilon, adjacency)
    mechanism = audited.mechanism
    if kind == "prior_mixture":  # at the smaller epsilon the rule has no rounds of EM
        assert bool(mechanism.plan.rounds) == (epsilon == 8.0)
    for own, other in ((audited.d, audited.neighbour), (audited.neighbour, audited.d)):
        spy = Spy(StudyNoise(1, "pair", kind, adjacency))
        audited.numbers(own, spy, draws)
        there = audited.replayed(other, spy.answers, draws)
        assert kind == "labels" or len(there) == len(mechanism.plan.steps)
        moved = [(a - b).reshape(draws, -1) / s for a, b, s in zip(spy.exact, there, spy.std, strict=True)]
        mu = np.linalg.norm(np.concatenate(moved, axis=1), axis=1)
        assert mu.max() <= mechanism.mu * (1 + 1e-9) and mu.mean() > least * mechanism.mu


def test_what_colluding_nodes_see_stays_within_the_claim_and_mutants_are_caught():
    unbroken, for_nobody, silent = shared_noise.cases([4.0])
    for row in rows(unbroken, 4_000):
        assert row["as_expected"] and row["mu_power"] <= 1
    assert row["seen"] == TRANSCRIPT and row["mu_power"] > 0.55
    assert rows(for_nobody, 6_000)[0]["mu_power"] > 1.1  # sqrt(5/2) in truth
    assert rows(silent, 6_000)[0]["mu_power"] > 1.05  # sqrt(2)


@pytest.mark.parametrize(
    ("mutant", "trials"),
    [
        ("noise of half the scale", 5000),
        ("the last round with a third of its noise", 5000),
        ("counts of the last round exact", 5000),
        ("marginals with half their noise", 1500),
        ("invalid records dropped", 7500),
        ("noise used again for a second release", 5000),
        ("replacing accounted for as adding", 5000),
    ],
)
def test_broken_sound_releases_are_caught(mutant, trials):
    broken = [case for case in sound.mutants([4.0]) if case.mutant == mutant]
    assert broken and all(row["as_expected"] for case in broken for row in rows(case, trials))


def test_a_broken_release_for_labels_is_caught_and_the_unbroken_one_is_not():
    unbroken, broken = sound.label_cases([4.0])
    assert [row["exceeded"] for row in rows(unbroken, 1000)] == ["none", "none"]
    assert rows(broken, 4000)[0]["exceeded"] in ("mu", "both")


def test_the_release_of_records_in_a_ball_holds_and_its_mutants_are_caught():
    *unbroken, half, accounted = sound.ball_cases([4.0])
    assert [case.adjacency for case in unbroken] == ["replace_one", "replace_one", "add_remove", "add_remove"]
    for case in unbroken:
        (row,) = rows(replace(case, views=(TRANSCRIPT,)), 3000)
        assert row["as_expected"] and row["mu_power"] > 0.3
    assert rows(half, 3000)[0]["mu_power"] > 1.2  # 1.9 in truth
    assert rows(accounted, 5000)[0]["exceeded"] in ("mu", "both")  # 1.3


def test_dp_em_as_printed_spends_more_than_it_claims_and_as_mended_less():
    """Exact, as for sound, but of zCDP: n answers may spend mu^2 = n/c^2, c the noise multiplier."""
    spent = {}
    for divisor in ("own", "noisy"):
        mechanism = dpem.calibrated(divisor)
        answers = mechanism.settings.sequence(dpem.CLASSES)
        claimed = answers.gaussian / answers.noise_multiplier(mechanism.settings.step_epsilon) ** 2
        losses, mu_squared = dpem.losses(mechanism, StudyNoise(3, "dpem", divisor), True, 30)
        spent[divisor] = mu_squared / claimed
        assert losses.shape == mu_squared.shape == (30,)
    assert spent["noisy"].max() < 1 and np.median(spent["own"]) > 5
    printed, mended = dpem.cases([4.0])
    (row,) = rows(printed, 6000)
    assert row["expected"] == "hole" and row["exceeded"] == "epsilon"
    assert mended.expected == "holds" and mended.claim == printed.claim


def test_group_forecasts_hold_and_their_mutants_are_caught():
    for case in forecasts.group_cases([4.0]):
        if case.mutant is None:
            assert all(row["as_expected"] for row in rows(case, 800)), case.key
        else:
            assert rows(case, 2000)[0]["as_expected"], case.key


@pytest.mark.parametrize("count", ["listed", "measured"])
def test_the_pair_for_feeder_totals_spends_most_of_mu_and_no_more(count):
    """Exact, as below."""
    mechanism = feeder_totals.calibrated(4.0, count)
    spy, sides = Spy(StudyNoise(1, "feeders")), [feeder_totals.records(side, count) for side in (True, False)]
    mechanism.release(FeederRecords(sides[0]), spy)
    sums = mechanism.sums(FeederRecords(sides[1]))
    there = replayed(lambda take: mechanism.run(sums, lambda _, exact: take(exact)), spy.answers)
    moved = sum(((a - b) ** 2).sum() / s**2 for a, b, s in zip(spy.exact, there, spy.std, strict=True))
    assert 0.9 * mechanism.mu < np.sqrt(moved) <= mechanism.mu


def test_feeder_totals_hold_and_their_mutants_are_caught():
    for case in feeder_totals.cases([4.0]):
        trials = 3000 if case.mutant else 1500
        assert all(row["as_expected"] for row in rows(case, trials)), case.key


def test_an_order_of_files_holds_reaches_most_of_its_claim_and_mutants_are_caught():
    whole, *broken = forecasts.order_cases([4.0])
    (row,) = rows(whole, 20_000)
    assert row["as_expected"] and row["mu_lower"] > 0.9 * whole.claim.mu
    assert len(broken) == 2 and all(rows(case, 20_000)[0]["exceeded"] in ("mu", "both") for case in broken)


def test_the_holes_of_the_published_release_show_in_frequencies_and_in_covariances():
    for case in published.cases([1.0]):
        found = {row["seen"]: row for row in rows(case, 3000)}
        assert set(found) >= {published.COVARIANCES}
        for row in found.values():
            assert row["epsilon_lower"] > 2 and row["other_hits"] <= 3, (case.mechanism, row["seen"])


def test_shares_of_impossible_outputs_are_those_of_the_closed_forms():
    """L1: 1 - exp(-epsilon / 3) in Lemma 2's own setting. L5: 13 of 21 outputs, K = 5 and F' uniform."""
    lemma = published.lemma_2_case(1.0).observe(StudyNoise(2, "lemma"), True, 20_000)[published.COVARIANCES]
    assert np.isinf(lemma.ratio).mean() == pytest.approx(1 - np.exp(-1 / 3), abs=0.02)
    _, case, _ = published.cases([1.0])
    share = np.isinf(case.observe(StudyNoise(2, "flip"), True, 20_000)[published.FREQUENCIES].ratio).mean()
    assert share == pytest.approx(13 / 21, abs=0.02)


def test_the_density_of_wishart_noise_is_that_of_scipy():
    """Oracle: SciPy, up to the constant that does not depend on gamma."""
    generator, d = np.random.default_rng(3), 3
    factor = generator.normal(size=(2, d, d + 1))
    w = factor @ factor.swapaxes(1, 2)
    for gamma in (0.5, 4.0):
        distribution = wishart(d + 1, np.eye(d) / gamma)
        own = published.wishart_log_density(w, np.full(2, gamma))
        one = published.wishart_log_density(w[:1], np.array([1.0]))[0]
        assert own[0] - own[1] == pytest.approx(distribution.logpdf(w[0]) - distribution.logpdf(w[1]))
        assert own[0] - one == pytest.approx(distribution.logpdf(w[0]) - wishart(d + 1, np.eye(d)).logpdf(w[0]))
    assert published.wishart_log_density(-w, np.ones(2)).tolist() == [-np.inf, -np.inf]


def test_the_likelihood_ratio_of_gaussian_answers_is_that_of_their_densities():
    answer, own, other = np.array([[1.0, 2.0]]), np.array([[0.5, 2.0]]), np.array([[0.0, 1.0]])
    expected = (((answer - other) ** 2).sum() - ((answer - own) ** 2).sum()) / (2 * 0.25)
    assert gaussian_log_ratio(answer, own, other, 0.5)[0] == pytest.approx(expected)
    exact = np.array([1.0, 0.0])
    assert gaussian_log_ratio(own, own, other, exact)[0] == np.inf
    assert gaussian_log_ratio(other, own, other, exact)[0] == -np.inf


def test_a_replay_takes_every_recorded_step_and_ends_at_the_last():
    answers = [np.array([1.0]), np.array([2.0])]
    exact = replayed(lambda take: [take(take(np.zeros(1)) + 4), pytest.fail("went on")], answers)
    assert [float(e[0]) for e in exact] == [0.0, 5.0]
    with pytest.raises(ValueError, match="fewer steps"):
        replayed(lambda take: take(np.zeros(1)), answers)


def test_what_is_claimed_of_a_mutant_is_the_claim_of_the_unbroken_mechanism():
    unbroken = {case.mechanism: case.claim for case in sound.cases([4.0]) if case.adjacency == "replace_one"}
    for case in sound.mutants([4.0]):
        twice = "second release" in case.mutant
        assert (case.claim == unbroken["sound"]) != twice
        assert not twice or case.claim.mu == pytest.approx(unbroken["sound"].mu * 2**0.5)
    assert sound.release_case("loads", 4.0, "replace_one").views == (OUTPUT, TRANSCRIPT)


def test_whatever_can_be_released_has_a_proof_and_a_place_in_the_audit(repository):
    """Its proof note exists, the note's page and that of guarantees name it, and a pair of data sets attacks it."""
    attacked = {case.mechanism.split(" (")[0] for make in PARTS.values() for case in make([1.0]) if not case.mutant}
    pages = [(repository / page).read_text() for page in ("docs/proofs/README.md", "docs/guarantees.md")]
    released = [
        (what, mechanism)
        for what in RELEASED
        for protects in (["readings", "label"] if what == "forecasts" else ["readings"])
        for mechanism in released_of(what, protects)
    ]
    assert {what for what, _ in released} == set(RELEASED)
    for what, mechanism in released:
        note = repository / mechanism.guarantee.proof
        assert note.is_file() and all(note.name in page for page in pages), what
        assert mechanism.guarantee.family in ("sound", "model") and mechanism.parameters["mechanism"] in attacked, (
            what
        )


def released_of(what, protects):
    release = {"what": [what], "forecast_protects": protects, "allow": ["poor"]}
    period = {"first_day": "2025-01-06", "last_day": "2025-03-30", "time_zone": "UTC", "interval_minutes": 30}
    rows = "".join(f"m{i:02d},c{i % 3},s,f{i % 3}\n" for i in range(60))
    listed = f"meter_id,circuit,secondary_substation_id,lv_feeder_id\n{rows}".encode()
    found, refused = asked(ReleaseService(config_of({"export": period, "release": release}), listed, True))
    assert not refused
    return found[0]
