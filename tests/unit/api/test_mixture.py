"""The private mixture of the public API: scikit-learn's conventions, no seed, no bound from data."""

import pickle
import re
import warnings
from dataclasses import asdict
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.utils import estimator_checks

from meterdp import PrivateGaussianMixture, epsilon_for
from meterdp.mechanisms.proven.domain import Ball
from meterdp.mechanisms.proven.mechanism import calibrate_ball
from meterdp.privacy.guarantee import FOR_RELEASE, STUDY_MODE
from meterdp.privacy.ledger import Ledger
from meterdp.privacy.noise import GRID
from meterdp.release import records

RNG = np.random.default_rng(1)
X = np.vstack([RNG.normal([1, 4], [0.3, 0.5], (1200, 2)), RNG.normal([3.5, 2], [0.6, 0.3], (800, 2))])
BOUNDS = (0, 6)
NAMED = {"ledger": "l", "population": "p", "budget_period": "2026", "days": ("2026-01-01", "2026-01-31")}
NAMED |= {"time_zone": "Europe/London", "records": "r"}
FITTED = {"weights_", "means_", "covariances_", "n_iter_", "guarantee_", "n_features_in_"}


def study(**choices):
    return PrivateGaussianMixture(**{"n_components": 2, "bounds": BOUNDS, "noise": "study"} | choices)


@pytest.fixture(scope="module")
def safe():
    return PrivateGaussianMixture(2, bounds=BOUNDS).fit(X)


@pytest.mark.parametrize("n_components", [1, 2])
def test_scikit_learns_checks_pass_in_study_mode(n_components):
    """All of them: none is expected to fail."""
    found = estimator_checks.check_estimator(
        PrivateGaussianMixture(n_components, bounds=(-10, 10), noise="study"), on_skip=None
    )
    assert sum(one["status"] == "passed" for one in found) >= 40


def test_scikit_learns_checks_pass_with_safe_noise(monkeypatch):
    """They seed what has a random_state, which safe noise refuses as it must; without that seed none fails."""
    monkeypatch.setattr(estimator_checks, "set_random_state", lambda *_, **__: None)
    found = estimator_checks.check_estimator(PrivateGaussianMixture(bounds=(-10, 10)), on_skip=None)
    assert sum(one["status"] == "passed" for one in found) >= 37


def test_with_little_noise_it_finds_what_scikit_learn_finds():
    """Oracle: GaussianMixture without privacy."""
    oracle = GaussianMixture(2, random_state=0).fit(X)
    order = np.argsort(-oracle.weights_)
    found = study(epsilon=50).fit(X)
    assert found.means_ == pytest.approx(oracle.means_[order], abs=0.03)
    assert found.covariances_ == pytest.approx(oracle.covariances_[order], abs=0.03)
    assert found.weights_ == pytest.approx(oracle.weights_[order], abs=0.01)
    # And what follows from a mixture: scikit-learn's own, told these parameters, says the same of records.
    oracle.weights_, oracle.means_, oracle.covariances_ = found.weights_, found.means_, found.covariances_
    oracle.precisions_cholesky_ = np.linalg.cholesky(np.linalg.inv(found.covariances_))
    assert found.score_samples(X) == pytest.approx(oracle.score_samples(X))
    assert found.score(X) == pytest.approx(oracle.score(X))
    assert found.predict_proba(X) == pytest.approx(oracle.predict_proba(X))
    assert np.array_equal(found.predict(X), oracle.predict(X))
    assert np.array_equal(study(epsilon=50).fit_predict(X), found.predict(X))


def test_safe_noise_at_the_usual_epsilon_finds_the_classes(safe):
    """Means of 1,200 and 800 records at epsilon 1, within 0.25 where classes are 3.2 apart."""
    truth = np.array([[1, 4], [3.5, 2]])
    assert safe.means_ == pytest.approx(truth, abs=0.25)
    x, y = safe.sample(4000)
    assert x.shape == (4000, 2) and set(y) == {0, 1}
    assert np.bincount(y) / 4000 == pytest.approx(safe.weights_, abs=0.06)  # 8 standard errors
    for k in range(2):
        spread = 8 * np.sqrt(np.diag(safe.covariances_[k]) / np.count_nonzero(y == k))
        assert (np.abs(x[y == k].mean(axis=0) - safe.means_[k]) < spread).all()


def test_the_guarantee_is_that_of_the_mechanism(safe):
    assert not study().fit(X).guarantee_.for_release and safe.guarantee_.for_release
    for noise, grid in (("safe", GRID), ("study", 0.0)):
        for adjacency, guess in (("replace_one", None), ("add_remove", 1500)):
            found = PrivateGaussianMixture(
                3, epsilon=0.7, delta=1e-6, bounds=BOUNDS, adjacency=adjacency, n_samples_guess=guess, noise=noise
            ).fit(X)
            plan = calibrate_ball(3, 2, guess or len(X), 0.7, 1e-6, Ball(np.sqrt(2)), grid=grid, adjacency=adjacency)
            claimed = asdict(found.guarantee_)
            assert {key: claimed[key] for key in vars(plan.guarantee)} == vars(plan.guarantee)
            status = FOR_RELEASE if noise == "safe" else STUDY_MODE
            assert next(iter(claimed.items())) == ("status", status)
            assert repr(found.guarantee_).startswith(f"FitGuarantee(status={status!r}, unit=")
            assert found.n_iter_ == len(plan.plan.rounds)
    assert str(safe.guarantee_).startswith("(1, 1e-05)-differential privacy for one whole record (replace_one)")
    assert "of this fit alone" in str(safe.guarantee_)
    assert str(study().fit(X).guarantee_).startswith(STUDY_MODE)


@pytest.mark.parametrize(
    ("records", "choices", "warns"),
    [
        (RNG.normal(1, 0.3, (500, 4)), {"n_components": 3, "epsilon": 0.3, "bounds": (-1, 4)}, True),
        (RNG.normal(1, 0.3, (500, 4)), {"n_components": 3, "epsilon": 3, "bounds": (-1, 4)}, False),
        (RNG.normal(1.5, 0.2, (200, 3)), {"bounds": (0, 3)}, True),  # a third of the variances are off by twice
        (RNG.normal(1.5, 0.2, (300, 1)), {"bounds": (0, 3)}, False),
        (RNG.gamma(4, 0.1, (5000, 3)), {"n_components": 3, "bounds": (0, 3)}, False),  # that of the README
    ],
)
def test_a_fit_warns_where_covariances_can_be_mostly_noise(records, choices, warns):
    """From public numbers alone: other records of the same number and shape get the same answer."""
    for x in (records, np.zeros_like(records)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = PrivateGaussianMixture(**choices).fit(x).guarantee_
        texts = [str(one.message) for one in said]
        assert bool(texts) == warns == (found.variance_error > 1 / 3)
        assert all(re.match(r"so few records .* mostly noise: .*; use fewer components", text) for text in texts)
        assert "clipping moves those of data that are not Gaussian, too" in str(found)


@pytest.mark.parametrize("reach_hours", [0, 8])
def test_two_in_three_variances_are_off_by_at_most_what_is_said_also_of_correlated_hours(reach_hours):
    """What runs on independent features said, 0.125, held for one in four where correlations reach eight hours."""
    hours = np.arange(24)
    correlation = np.exp(-np.abs(hours[:, None] - hours) / max(reach_hours, 1e-9))
    x = np.random.default_rng(3).multivariate_normal(np.zeros(24), correlation, 1409)
    fits = [study(n_components=1, bounds=(-4, 4), random_state=seed).fit(x) for seed in range(60)]
    off = [np.abs(fit.covariances_[0].diagonal() / x.var(axis=0) - 1) for fit in fits]
    # Of a fit's variances few are independent of one another, so a fit counts as one.
    held = np.mean(np.array(off) < fits[0].guarantee_.variance_error, axis=1)
    assert held.mean() > 2 / 3 - 3 * held.std() / np.sqrt(len(held))


def test_a_study_repeats_and_safe_noise_never_does(safe):
    one, same, other = (study(random_state=seed).fit(X) for seed in (3, 3, 4))
    assert np.array_equal(one.means_, same.means_) and not np.array_equal(one.means_, other.means_)
    assert np.array_equal(one.sample(5)[0], same.sample(5)[0])
    assert not np.array_equal(safe.means_, clone(safe).fit(X).means_)
    assert not np.array_equal(safe.sample(5)[0], safe.sample(5)[0])


def test_records_count_for_what_they_are_within_the_bounds():
    """No bound comes from a record: what lies outside is what lies on the edge."""
    wild, edge = X.copy(), X.copy()
    wild[:5], edge[:5] = (1e12, -1e12), (6, 0)
    one, two = study().fit(wild), study().fit(edge)
    for name in ("weights_", "means_", "covariances_"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    # Records in another unit with bounds in that unit are the same records.
    scaled = study(bounds=([0, -1], [12, 5])).fit(X * [2, 1] - [0, 1])
    assert scaled.means_ == pytest.approx(study().fit(X).means_ * [2, 1] - [0, 1])


def test_bounds_ten_times_too_wide_cost_little_if_the_data_lie_in_their_middle():
    """The same noise, drawn for a cube a tenth as full: a fiftieth of a nat a record at most."""
    tight, wide = (
        np.mean([study(bounds=bounds, random_state=seed).fit(X).score(X) for seed in range(3)])
        for bounds in (BOUNDS, (-27, 33))
    )
    assert abs(tight - wide) < 0.02


def test_the_examples_of_the_guide_run_and_bounds_and_clipping_cost_what_it_says(
    repository, capsys, tmp_path, monkeypatch
):
    """Its tables are what its code prints; oracle of two numbers beside them: GaussianMixture without privacy."""
    monkeypatch.chdir(tmp_path)
    guide, names = (repository / "docs/library.md").read_text(), {}
    records, bounds, logs, clipping, *others = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    exec(records, names)
    assert "(1, 1e-05)-differential privacy for one whole record" in capsys.readouterr().out
    exec(bounds, names)
    table = capsys.readouterr().out
    exec(logs, names)
    assert names["synthetic_kwh"].min() > 0.0299 and names["synthetic_kwh"].max() < 7.001
    exec(clipping, names)
    off = capsys.readouterr().out
    assert f"```\n{table}```" in guide and f"```\n{off}```" in guide
    errors = [abs(float(one)) for one in re.findall(r"mean (\S+) standard", off)]
    assert errors[0] > 3 * errors[1] > 3 * errors[2] > 0, "more components help"
    two, one = (GaussianMixture(k, random_state=0).fit(names["kwh"]).score(names["kwh"]) for k in (2, 1))
    assert f"Without privacy, two classes score {two:.2f} and one scores {one:.2f}." in guide
    cost = {high: two - float(at) for high, at in re.findall(r"\(0, ([\d.]+)\) (\S+) at ε = 1,", table)}
    assert cost["3"] < 0.01 and cost["6"] > 0.6 * (two - one), "a second class is lost"
    assert np.round(names["kwh"].mean(axis=0), 1).tolist() == [0.5, 0.6]
    for block in others:
        exec(block, names)


def test_a_number_of_records_that_is_private_shapes_no_noise_and_no_refusal():
    few = PrivateGaussianMixture(3, bounds=BOUNDS, adjacency="add_remove", n_samples_guess=1000, noise="study").fit(
        X[:2]
    )
    assert few.means_.shape == (3, 2) and few.guarantee_.unit == "one record, present or not"


def test_nothing_private_stays_behind(safe):
    assert {name for name in vars(safe) if name not in safe.get_params()} == FITTED
    frame = pd.DataFrame(X, columns=["evening", "night"])
    for fitted in (safe, clone(safe).fit(frame), study().fit(X)):
        kept = pickle.dumps(fitted)
        assert not any(value.tobytes() in kept for value in X.ravel())
        assert len(kept) < 4000
        back = pickle.loads(kept)
        assert np.array_equal(back.means_, fitted.means_) and back.guarantee_ == fitted.guarantee_
    again = clone(safe)
    assert again.get_params() == safe.get_params() and not hasattr(again, "means_")
    assert list(clone(safe).fit(frame).feature_names_in_) == ["evening", "night"]


@pytest.mark.parametrize(
    ("field", "choices"),
    [
        ("bounds", {"bounds": None}),
        ("bounds", {"bounds": "auto"}),
        ("bounds", {"bounds": 5}),
        ("bounds", {"bounds": (5, 1)}),
        ("bounds", {"bounds": (0, np.inf)}),
        ("bounds", {"bounds": (0, np.nan)}),
        ("bounds", {"bounds": ([0, 0, 0], [1, 1, 1])}),
        ("n_components", {"n_components": 0}),
        ("n_components", {"n_components": 1.5}),
        ("n_components", {"n_components": 5000}),
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": "1"}),
        ("epsilon", {"epsilon": np.inf}),
        ("epsilon", {"epsilon": 1e-7}),
        ("epsilon", {"epsilon": 1e6}),
        ("delta", {"delta": 0}),
        ("delta", {"delta": 1e-3}),
        ("adjacency", {"adjacency": "swap"}),
        ("n_samples_guess", {"adjacency": "add_remove"}),
        ("n_samples_guess", {"n_samples_guess": 2000}),
        ("n_samples_guess", {"adjacency": "add_remove", "n_samples_guess": 10**7}),
        ("max_iter", {"max_iter": 0}),
        ("max_iter", {"max_iter": 51}),
        ("noise", {"noise": "seeded"}),
        ("random_state", {"random_state": 0}),
        ("random_state", {"random_state": np.random.RandomState(0)}),
        ("random_state", {"noise": "study", "random_state": 0.5}),
        ("random_state", {"noise": "study", "random_state": -1}),
        ("cap_epsilon", {"cap_epsilon": 0}),
        ("cap_delta", {"cap_delta": 1}),
        ("population", {"population": "made-up town"}),
        ("population", {"ledger": "l"}),
        ("records", NAMED | {"records": None}),
        ("days", NAMED | {"days": None}),
        ("days", NAMED | {"days": ("b", "a")}),
        ("days", NAMED | {"days": ("2026-01-02", "2026-01-01")}),
        ("days", NAMED | {"days": ("2026-01-02", datetime(2026, 1, 3, 12))}),
        ("days", NAMED | {"days": ("2026-01-02", pd.Timestamp("2026-01-03", tz="Europe/London"))}),
        ("days", NAMED | {"days": ("2026-01-02", pd.NaT)}),
        ("time_zone", NAMED | {"time_zone": None}),
        ("time_zone", NAMED | {"time_zone": "Europe/Londn"}),
        ("budget_period", NAMED | {"budget_period": "pilot"}),
        ("budget_period", NAMED | {"budget_period": "2025"}),
        ("budget_period", NAMED | {"budget_period": "2026-01-01 to 2026-01-01"}),
        ("meters", NAMED | {"meters": "abc"}),
        ("meters", NAMED | {"meters": range(len(X))}),
        ("meters", NAMED | {"meters": ["a"] * len(X)}),
        ("meters", NAMED | {"meters": [f"m{n}" for n in range(len(X) - 1)]}),
        ("meters", NAMED | {"meters": [*(f"m{n}" for n in range(len(X) - 1)), "M 0"]}),
        ("ledger", {"ledger": "l", "noise": "study"}),
        ("adjacency", {"ledger": "l", "adjacency": "add_remove", "n_samples_guess": 2000}),
    ],
)
def test_wrong_parameters_are_refused_by_name_with_a_hint(field, choices, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hint = r"(use|give|leave|lower|supply|decrease|increase) [^;]+\.$"
    with pytest.raises(ValueError, match=rf"^field '{field}': [^;]+; {hint}"):
        PrivateGaussianMixture(**{"n_components": 2, "bounds": BOUNDS} | choices).fit(X)
    assert not list(tmp_path.iterdir()), "a refusal leaves no ledger"


def test_records_that_cannot_be_used_are_refused_and_not_shown(safe):
    for entry in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = entry
        with pytest.raises(ValueError, match=r"field 'X': .* NaN or infinite; leave out or fill in"):
            clone(safe).fit(broken)
    for n_samples in (0, 1.5):
        with pytest.raises(ValueError, match="field 'n_samples'"):
            safe.sample(n_samples)
    with pytest.raises(TypeError, match="sample_weight"):
        clone(safe).fit(X, sample_weight=np.ones(len(X)))


def test_refusals_blame_what_is_wrong_in_one_line(tmp_path):
    table = pd.DataFrame(X, columns=["night", "evening"])
    for wrong, words in (
        (lambda: study().fit(X[:, 0]), "give one row a record, .* one column a feature"),
        (lambda: study().fit(table).predict(table[["evening", "night"]]), "must be in the same order"),
        (
            lambda: study(**NAMED | {"ledger": tmp_path / "l", "noise": "safe", "meters": range(len(X))}).fit(X),
            "not all texts",
        ),
    ):
        with pytest.raises(ValueError, match=words) as refused:
            wrong()
        assert "\n" not in str(refused.value)


DAYS = pd.date_range("2026-01-01", periods=len(X))


@pytest.mark.parametrize(
    "times",
    [
        DAYS.to_numpy()[:, None],
        (DAYS - DAYS[0]).to_numpy()[:, None],
        [[day] for day in DAYS.to_numpy()],
        pd.DataFrame({"day": DAYS}),
        pd.DataFrame({"day": DAYS.tz_localize("Europe/London")}),
        pd.DataFrame({"since": DAYS - DAYS[0]}),
    ],
)
def test_dates_and_durations_are_no_records(times):
    """scikit-learn takes them for nanoseconds, every one of which lies outside the bounds."""
    fitted = study(n_components=1).fit(X[:, :1])
    for call in (study(n_components=1).fit, fitted.predict):
        with pytest.raises(ValueError, match=r"^field 'X': holds dates or durations; .* convert them to numbers"):
            call(times)


def test_a_query_that_has_not_run_is_no_table():
    """A LazyFrame of polars has columns and can be collected; scikit-learn ended in an error of polars."""

    class Lazy:
        columns, dtypes = ["a"], [np.dtype(float)]

        def collect(self):
            return X

    with pytest.raises(TypeError, match=r"^field 'X': is a query that has not run, .*; give what its collect\(\)"):
        study().fit(Lazy())


def test_rows_of_time_stamps_are_no_households():
    table = pd.DataFrame(X, index=pd.date_range("2025-01-01", periods=len(X), freq="h"))
    with pytest.raises(ValueError, match=r"^field 'X': has a row per time stamp, but the guarantee is for single"):
        study().fit(table)
    assert study().fit(table.to_numpy()).n_features_in_ == 2


def test_texts_are_no_features_even_where_they_spell_numbers():
    """An account number, as a table has it after reset_index, was cast and clipped, and spent budget."""
    table = pd.DataFrame(X, columns=["night", "evening"])
    accounts = [f"{n:010d}" for n in range(len(X))]
    spelt = (table.assign(acct=accounts), table.assign(acct=pd.Series(accounts, dtype=object)))
    for broken in (*spelt, table.assign(acct=pd.Categorical(accounts))):
        with pytest.raises(ValueError, match=r"^field 'X': holds texts in acct, such as ids, .*; give the columns"):
            study(bounds=(0, 5)).fit(broken)
    mixed = np.array(X, dtype=object)
    mixed[3, 1] = "1.5"
    for broken in (X.astype(str), X.astype(str).tolist(), mixed, table.astype(str).to_numpy()):
        with pytest.raises(ValueError, match=r"^field 'X': holds texts among its entries"):
            study(bounds=(0, 5)).fit(broken)
    assert study().fit(table.astype("Float64")).n_features_in_ == 2
    assert study().fit(X.astype(object)).n_features_in_ == 2


@pytest.mark.parametrize(
    "broken",
    [X[:, 0], X[0, 0], X + 1j, [["1.25", "empty house"]], pd.DataFrame({"a": [1.25], "b": ["empty house"]})],
    ids=["one number a record", "one number", "complex", "words", "words in a table"],
)
def test_no_refusal_shows_what_it_refuses(broken):
    """What scikit-learn says of these holds the records; neither the sentence nor what it came from does here."""
    for call in (study().fit, study().fit(X).score_samples):
        with pytest.raises(ValueError, match=r"^field 'X': ") as refused:
            call(broken)
        assert not re.search(r"\d|empty", str(refused.value)) and refused.value.__context__ is None


def test_a_table_with_two_columns_of_one_name_or_dates_says_so():
    for table, problem in (
        (pd.DataFrame(X, columns=["a", "a"]), "has two columns of the same name"),
        (pd.DataFrame({"a": X[:, 0], "b": pd.Timestamp("2025-01-01")}), "holds dates or durations"),
    ):
        with pytest.raises(ValueError, match=rf"^field 'X': {problem}"):
            PrivateGaussianMixture(2, bounds=BOUNDS).fit(table)


def test_with_a_ledger_a_rerun_is_free_and_the_cap_holds(tmp_path):
    public = {
        "ledger": tmp_path / "ledger.sqlite",
        "population": "Made-up  Town",
        "budget_period": "2026",
        "days": ("2026-01-01", "2026-01-31"),
        "time_zone": "Europe/London",
        "records": "made-up energy, kWh",
        "cap_epsilon": 2,
    }
    mixture = PrivateGaussianMixture(2, bounds=BOUNDS, **public)
    with pytest.warns(UserWarning, match=r"ledger\.sqlite does not exist yet and will be made") as warned:
        first = clone(mixture).fit(X)
    assert len(warned) == 1
    with pytest.warns(
        UserWarning, match="is returned whatever the records hold: nothing is drawn or charged"
    ) as warned:
        again = clone(mixture).fit(X)
    assert len(warned) == 1
    assert np.array_equal(first.means_, again.means_) and "ledger" in again.guarantee_.covers
    with pytest.raises(ValueError, match=r"^field 'ledger': is in a folder that does not exist"):
        clone(mixture).set_params(ledger=tmp_path / "typo" / "ledger.sqlite").fit(X)
    assert not (tmp_path / "typo").exists()
    # Numbers of NumPy, as a grid of them holds, are the same request.
    same_people = clone(mixture).set_params(
        population="made-up town", n_components=np.int64(2), epsilon=np.float32(1)
    )
    assert np.array_equal(same_people.fit(X).covariances_, first.covariances_)
    assert not np.array_equal(clone(mixture).set_params(records="other").fit(X).means_, first.means_)
    with pytest.raises(
        ValueError, match=r"^field 'epsilon': would spend more .* '2026' .*; use a smaller epsilon"
    ) as refused:
        clone(mixture).set_params(epsilon=1.5).fit(X)
    assert "raise, and cap_epsilon), or give the meters of each fit" in str(refused.value)
    with pytest.raises(ValueError, match=r"^field 'delta': .* or cap_delta = 1e-06"):
        clone(mixture).set_params(cap_delta=1e-6).fit(X)
    with pytest.raises(ValueError, match=r"^field 'budget_period': does not cover all days"):
        clone(mixture).set_params(budget_period="2027").fit(X)
    with pytest.raises(ValueError, match=r"^field 'X': has fewer than 50"):
        clone(mixture).fit(X[:40])
    events = Ledger(public["ledger"]).events()
    assert len(events) == 4, "two were charged, each is stored"
    named = ["artefact", "bounds", "days", "entries", "mechanism", "mechanism_version", "public", "records"]
    assert sorted(events[0]["words"]) == named, "without meters as ledgers have known it longest"


@pytest.mark.parametrize("meters", [None, [f"m{n}" for n in range(len(X))]])
def test_the_same_days_in_five_spellings_are_charged_once_or_add_up(tmp_path, meters):
    """Compared as text they were five budgets."""
    mixture = PrivateGaussianMixture(2, bounds=BOUNDS, **NAMED | {"ledger": tmp_path / "l", "meters": meters})
    first = clone(mixture).fit(X)
    spellings = [("2026-01-01", "2026-01-31"), ("20260101", "20260131"), ("2026-W01-4", "2026-W05-6")]
    spellings += [(date(2026, 1, 1), "2026W056"), [date(2026, 1, 1), date(2026, 1, 31)]]
    spellings += [(pd.Timestamp("2026-01-01"), datetime(2026, 1, 31))]
    for days in spellings:
        assert np.array_equal(clone(mixture).set_params(days=days).fit(X).means_, first.means_)
    for change in ({"population": "city"}, {"budget_period": "2026-01"}, {"time_zone": "Asia/Tokyo"}):
        with pytest.raises(ValueError, match=r"would spend more|shares days with '2026'"):
            for number in range(20):
                clone(mixture).set_params(records=f"r{number}", **change).fit(X)
    charged = [event["mu"] for event in Ledger(tmp_path / "l").events() if event["kind"] == "charged"]
    assert epsilon_for(float(np.linalg.norm(charged)), 1e-5) < 4.0


def test_other_meters_are_another_release_and_a_list_of_an_earlier_version_is_known(tmp_path, monkeypatch):
    """The second people got the first ones' mixture for nothing."""
    first, second = ([f"{town}{n}" for n in range(len(X))] for town in "ab")
    path = tmp_path / "l"
    mixture = PrivateGaussianMixture(2, bounds=BOUNDS, **NAMED | {"ledger": path, "cap_epsilon": 1.3})

    def fit(meters, records="r"):
        return clone(mixture).set_params(meters=meters, records=records).fit(X).means_

    def charged():
        return [event for event in Ledger(path).events() if event["kind"] == "charged"]

    with monkeypatch.context() as earlier:  # when requests named no list
        earlier.setattr(records, "DIGESTS", ())
        before = fit(first)
    assert np.array_equal(fit(first[::-1]), before) and len(charged()) == 1
    found = fit(second)
    assert not np.array_equal(found, before) and len(charged()) == 2, "within the limit: they are other people"
    assert np.array_equal(fit([f"B {n}" for n in range(len(X))]), found) and len(charged()) == 2
    for meters, asked in (([first[0], *second[1:]], "r"), (first, "more"), (second, "more")):
        with pytest.raises(ValueError, match=r"would spend more on its meters.*and cap_epsilon\)\.$"):
            fit(meters, records=asked)
