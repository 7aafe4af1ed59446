"""The order of a release: policy, charge, noise, files."""

from dataclasses import replace

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.privacy import release as module
from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import Adjacency, Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.mechanism import NoisyQuery, grouped_sums
from meterdp.privacy.noise import SafeNoise
from meterdp.privacy.policy import FEWEST_HOUSEHOLDS, MOST_HOUSEHOLDS
from meterdp.privacy.release import Part, release
from meterdp.privacy.spent import CHARGED, STORED
from tests.unit.release.charged import SOUND, Made, fails, kinds, never

LIMIT, LOSS = Limit(2.0, 1e-5), Charge(0.1)
QUERY = NoisyQuery("sum", 0.2, 2.0)


def part(name="mixture", answer=None, render=None, **changed):
    request = Request(PrivacyBudget("", "replace_one", "town", "2026"), {"artefact": name}, LOSS)
    return Part(request, Made(**{"loss": LOSS, "answer": answer or draw, "render": render or written} | changed))


def draw(records, noise, earlier):
    return noise.measure(QUERY, records.sum(axis=0))


def written(answers, earlier):
    return {"sum": answers.tobytes(), "parts before": str(len(earlier)).encode()}


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


@pytest.mark.parametrize(
    "changed",
    [
        {"guarantee": replace(SOUND, family="published")},
        {"guarantee": replace(SOUND, family="exact")},
        {"guarantee": replace(SOUND, delta=1e-4)},
        {"households": FEWEST_HOUSEHOLDS - 1},
        {"households": MOST_HOUSEHOLDS + 1},
    ],
)
def test_what_the_policy_refuses_is_neither_charged_nor_drawn(ledger, changed):
    with pytest.raises(InputError):
        release([part("first", never), part("second", never, **changed)], np.zeros((50, 2)), ledger, LIMIT)
    assert ledger.events() == []


def test_a_guarantee_names_an_adjacency_that_there_is():
    assert replace(SOUND, adjacency="add_remove").adjacency is Adjacency.ADD_REMOVE
    with pytest.raises(ValueError, match="not a valid Adjacency"):
        replace(SOUND, adjacency="nearby")


def test_a_mechanism_is_charged_its_loss_and_nothing_else():
    with pytest.raises(ValueError, match="does not charge what the mechanism costs"):
        part(loss=Charge(0.2))


def test_records_are_added_up_before_the_charge_and_only_for_what_is_charged(ledger):
    seen = []

    def added_up(records):
        seen.append(kinds(ledger) if ledger.path.exists() else [])
        return records.sum(axis=0)

    summed = part(prepared=added_up, answer=lambda sums, noise, earlier: noise.measure(QUERY, sums))
    with pytest.raises(MemoryError):
        release([part(prepared=lambda _: fails(MemoryError()))], np.zeros((50, 2)), ledger, LIMIT)
    with pytest.raises(InputError, match="epsilon"):
        release([summed], np.zeros((50, 2)), ledger, Limit(0.01, 1e-5))
    assert kinds(ledger) == seen == [], "nothing was charged by a run that failed before, nor added up in vain"
    first, again = (release([summed], np.zeros((50, 2)), ledger, LIMIT) for _ in range(2))
    assert first == again and seen == [[]] and kinds(ledger) == [CHARGED, STORED]


@pytest.mark.parametrize(
    "answer",
    [
        lambda records, noise, earlier: [
            noise.measure(QUERY, records),
            noise.measure(replace(QUERY, name="2"), records),
        ],
        lambda records, noise, earlier: noise.measure(replace(QUERY, noise_std=1.999), records),
        lambda records, noise, earlier: noise.measure(replace(QUERY, sensitivity=0.2001), records),
        lambda records, noise, earlier: noise.measure(replace(QUERY, sensitivity=float("nan")), records),
        lambda records, noise, earlier: noise.add_gaussian(records, 2.0),
    ],
)
def test_a_mechanism_gets_no_more_out_of_its_noise_than_was_charged(ledger, answer):
    with pytest.raises((RuntimeError, AttributeError)):
        release([part(answer=answer)], np.zeros((50, 2)), ledger, LIMIT)
    assert kinds(ledger) == [CHARGED], "charged, and nothing stored"


def test_a_mechanism_gets_all_that_was_charged(ledger):
    def answer(records, noise, earlier):
        return np.concatenate([noise.measure(replace(QUERY, noise_std=2.0 * np.sqrt(3)), records) for _ in range(3)])

    release([part(answer=answer)], np.zeros((50, 2)), ledger, LIMIT)
    assert kinds(ledger) == [CHARGED, STORED]


def test_disjoint_parts_of_the_records_may_each_spend_what_was_charged_and_no_more(ledger):
    def spent(records, noise, earlier):
        sources = noise.apart(2)
        answers = [source.measure(QUERY, half.sum(axis=0)) for source, half in zip(sources, records, strict=True)]
        for source in (noise, *sources):
            with pytest.raises(RuntimeError, match="less noise than it was charged for"):
                source.measure(QUERY, records[0].sum(axis=0))
        return np.concatenate(answers)

    (files,) = release([part(answer=spent)], np.ones((2, 50, 2)), ledger, LIMIT)
    assert np.frombuffer(files["sum"]).shape == (4,)


def test_answers_see_records_and_noise_and_files_are_made_of_answers_alone(ledger):
    """The noise is on the grid and is that of the source; what was drawn comes back without records."""
    records = np.ones((50, 2))
    first, second = release([part("first"), part("second")], records, ledger, LIMIT)
    assert (first["parts before"], second["parts before"]) == (b"0", b"1")
    noisy = np.frombuffer(first["sum"])
    assert np.array_equal(noisy / SafeNoise.grid, np.rint(noisy / SafeNoise.grid))
    assert 0 < np.abs(noisy - 50).max() < 2 * 40
    again = release([part("first", never, never), part("second", never, never)], None, ledger, LIMIT)
    assert again == [first, second]
    assert kinds(ledger) == [CHARGED, CHARGED, STORED, STORED]


def test_every_release_gets_a_source_after_its_charge(ledger, monkeypatch):
    made = []

    class Noted(SafeNoise):
        def add_gaussian(self, exact, std):
            made.append(kinds(ledger))
            return super().add_gaussian(exact, std)

    monkeypatch.setattr(module, "SafeNoise", Noted)
    release([part()], np.zeros((50, 2)), ledger, LIMIT)
    assert made == [[CHARGED]]


@pytest.mark.parametrize("grid", [0.0, 2.0**-20])
@pytest.mark.parametrize(("records", "width", "groups"), [(0, 3, 2), (7, 1, 3), (400, 30, 1), (400, 30, 5)])
def test_sums_of_groups_are_added_up_record_by_record(records, width, groups, grid):
    """Oracle: a loop over the records, to the bit."""
    generator = np.random.default_rng(records)
    y, group = generator.normal(size=(records, width)), generator.integers(0, groups, records)
    expected = np.zeros((groups, width))
    for row, at in zip(np.rint(y / grid) if grid else y, group, strict=True):
        expected[at] += row
    assert np.array_equal(grouped_sums(y, group, groups, grid), expected * grid if grid else expected)
