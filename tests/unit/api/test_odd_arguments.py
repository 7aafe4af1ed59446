"""Whatever is passed to the public API: an answer, or one ValueError of one sentence that names the argument."""

import datetime
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import meterdp

X = np.random.default_rng(0).uniform(0, 3, (60, 2))
SENTENCE = re.compile(r"^field '\w+': [^;]+; (use|give|leave|lower|supply|name|Reshape) [^;]+\.$")


class Rude:
    """Raises an error that is not one of meterdp."""

    def __array__(self, *_, **__):
        raise RuntimeError("1.25")

    def __len__(self):
        raise RuntimeError("1.25")


NUMBERS = [0, 1, -1, True, 1.5, -0.0, 1e-320, 1e308, 2**70, 10**400, -(10**400), np.nan, np.inf, -np.inf]
NUMBERS += [np.float32(1), np.int8(2), np.longdouble("1e4000"), Fraction(1, 3), Decimal("0.5"), Decimal("NaN"), 1j]
OBJECTS = [
    None,
    pd.NA,
    pd.NaT,
    "",
    "1",
    "a\ud800",
    b"1",
    "\0",
    object(),
    Rude(),
    int,
    {},
    {"a": 1},
    {1},
    (),
    [],
    [[]],
]
OBJECTS += [
    datetime.date(2025, 1, 1),
    datetime.datetime(2025, 1, 1),
    np.datetime64("2025-01-01"),
    range(2),
    iter([1]),
]
ARRAYS = [
    np.array(1.0), np.array([]), np.empty((0, 2)), np.empty((2, 0)), np.ones(3), np.ones((2, 2)), np.ones((2, 2, 2)),
    np.array([1, "a"], dtype=object), np.array([None, 1]), np.array([[pd.NA, 1.0], [1.0, 2.0]], dtype=object),
    np.array([[Decimal(1), 10**400]]), np.array(["1", "2"]), np.array([b"1"]), np.ones((2, 2)) + 1j,
    np.ones((2, 2), bool),
    np.array(["2025-01-01"], "M8[D]"), np.array([[1]], "m8[s]"), np.full((2, 2), np.nan), np.full((2, 2), np.inf),
    np.full((60, 2), 1e308), np.full((60, 2), 1e-320), np.full((60, 2), -1e200), np.array([1e308, -1e308]),
    np.zeros(2, dtype=[("a", float), ("b", int)]), np.ma.masked_array(X, mask=X > 2),
    np.ma.masked_array([[1.0, 2.0]]),
    sparse.csr_matrix(X), sparse.coo_array(X), pd.DataFrame(X), pd.DataFrame({"a": [1, pd.NA]}, dtype="Int64"),
    pd.DataFrame({"a": [1.5, None], "b": ["x", "y"]}), pd.DataFrame(), pd.Series([1.0, 2.0]), [[1, 2], [3]],
    [[1, [2]]],
    pd.DataFrame({"t": pd.date_range("2025-01-01", periods=3)}), memoryview(b"abc"), X.astype(np.float16),
    X[::-1, ::-1],
]  # fmt: skip
ODD = NUMBERS + OBJECTS + ARRAYS


def named(value):
    return f"{type(value).__name__} {getattr(value, 'dtype', '')} {getattr(value, 'shape', '')}"


def answered(call, *given):
    """Call something with odd arguments; return its answer, or None where it was refused as documented."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, about names of columns
        try:
            return call(*given)
        except ValueError as error:
            said = str(error)
            assert SENTENCE.match(said) and not re.search(r"1\.25|<|object at", said), (given, said)
            assert error.__cause__ is None and (error.__context__ is None or error.__suppress_context__)
        except BaseException as error:
            pytest.fail(f"{type(error).__name__} {error} from {[named(one) for one in given]}")
    return None


DISTRIBUTION = {
    "mean": [0.0, 0.0],
    "covariance": np.eye(2),
    "other_mean": [1, 0],
    "other_covariance": np.eye(2),
    "epsilon": 1,
}


@pytest.mark.parametrize("field", [*DISTRIBUTION, "direction"])
def test_a_curve_is_of_numbers_or_refused(field):
    for odd in ODD:
        delta = answered(lambda odd: meterdp.privacy_curve(**DISTRIBUTION | {field: odd}), odd)
        assert delta is None or ((np.asarray(delta) >= 0) & (np.asarray(delta) <= 1)).all(), named(odd)


@pytest.mark.parametrize("of", [meterdp.mu_for, meterdp.epsilon_for])
def test_conversions_are_of_numbers_or_refused(of):
    for odd in ODD:
        for given in ((odd, 1e-5), (1, odd), (odd, odd), (odd, [0.1, 0.2, 0.3])):
            found = answered(of, *given)
            assert found is None or not np.isnan(found).any(), [named(one) for one in given]


@pytest.mark.parametrize(
    "field", ["order", "unit", "bounds_kwh", "mean", "fit", "starts", "max_iter", "threads", "steps", "readings"]
)
def test_fits_are_of_readings_or_refused(field):
    usual = {"readings": X.T, "order": (1, 0), "starts": 1}

    def call(odd):
        if field == "steps":
            return fits.forecast(odd), fits.forecast_std(odd)
        if field == "bounds_kwh":
            return meterdp.fit_arma(**usual | {"unit": "kwh", "bounds_kwh": odd})
        return meterdp.fit_arma(**usual | {field: odd})

    fits = meterdp.fit_arma(**usual)
    large = {2**70, 1e308}
    for odd in [*ODD, (True, True), (1, None), (10**400, 1), ("1", "2"), (0, 0), (0.01, np.nan), (0.1, 10**400)]:
        if not (field in ("steps", "threads") and isinstance(odd, int) and odd in large):
            answered(call, odd)


def test_an_infinite_reading_is_refused_and_a_missing_one_is_not():
    rows = X.T.copy()
    rows[0, :5] = np.nan
    for missing in (None, pd.NA, Decimal("NaN")):
        same = rows.astype(object)
        same[0, :5] = missing
        found = meterdp.fit_arma(same, (1, 0), starts=1)
        assert found.readings_used.tolist() == [55, 60]
    masked = np.ma.masked_array(X.T, mask=np.isnan(rows))
    assert meterdp.fit_arma(masked, (1, 0), starts=1).readings_used.tolist() == [55, 60]
    table = pd.DataFrame({"a": pd.array([None, *X[1:, 0]], dtype="Float64")})
    assert meterdp.fit_arma(table, (1, 0), starts=1).readings_used.tolist() == [59]
    rows[0, 7] = np.inf
    with pytest.raises(ValueError, match=r"^field 'readings': hold infinite numbers"):
        meterdp.fit_arma(rows, (1, 0))


def study(**choices):
    return meterdp.PrivateGaussianMixture(**{"n_components": 1, "bounds": (0, 3), "noise": "study"} | choices)


PARAMETERS = [
    "n_components", "epsilon", "delta", "bounds", "adjacency", "n_samples_guess", "max_iter", "noise", "random_state",
    "ledger", "population", "budget_period", "days", "time_zone", "meters", "records", "cap_epsilon", "cap_delta",
]  # fmt: skip


@pytest.mark.parametrize("field", PARAMETERS)
def test_a_parameter_is_what_it_may_be_or_refused(field, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert set(PARAMETERS) == set(meterdp.PrivateGaussianMixture().get_params())
    books = {
        "ledger": "ledger.sqlite", "population": "p", "budget_period": "2025", "days": ("2025-01-01", "2025-01-02"),
        "time_zone": "UTC", "meters": [f"m{number}" for number in range(60)], "records": "r", "noise": "safe",
        "adjacency": "swap",  # the last to be looked at without a ledger, so that none is written
    }  # fmt: skip
    for odd in [*ODD, (0, odd_bound()), ([0, 0], [1, "2"]), (pd.NA, 1), (1j, 2), (0, 10**400), ("a",) * 60]:
        if field == "n_samples_guess":
            fitted = answered(study(adjacency="add_remove", **{field: odd}).fit, X)
        elif field in books and field not in ("noise", "adjacency"):
            without_charge = study(**books | {field: odd, "adjacency": "replace_one", "n_components": 61})
            fitted = answered(without_charge.fit, X)
        else:
            fitted = answered(study(**{field: odd}).fit, X)
        assert fitted is None or np.isfinite(fitted.means_).all(), named(odd)
    assert not list(tmp_path.iterdir()), "a refusal leaves no ledger"


def odd_bound():
    return np.ma.masked_array([3.0, 3.0], mask=[True, False])


def test_records_are_a_table_of_numbers_or_refused():
    fitted = study().fit(X)
    for odd in [*ODD, X.tolist(), [[1.0, None]] * 60, [[1.25, "a"]] * 60, [[1.25, {"a": 1}]] * 60]:
        for call in (study().fit, study(adjacency="add_remove", n_samples_guess=50).fit):
            found = answered(call, odd)
            assert found is None or np.isfinite(found.means_).all(), named(odd)
        for call in (fitted.predict, fitted.score_samples, fitted.score, fitted.predict_proba, fitted.sample):
            if call != fitted.sample or not isinstance(odd, int) or odd < 10**6:
                answered(call, odd)


def test_no_records_are_a_number_of_records_that_add_remove_hides():
    none = study(adjacency="add_remove", n_samples_guess=50).fit(np.empty((0, 2)))
    assert none.means_.shape == (1, 2) and np.isfinite(none.covariances_).all()
    safe = meterdp.PrivateGaussianMixture(bounds=(0, 3), adjacency="add_remove", n_samples_guess=50)
    assert np.isfinite(safe.fit(np.empty((0, 2))).means_).all()
    with pytest.raises(ValueError, match=r"^field 'X': .* 0 sample\(s\)"):
        study().fit(np.empty((0, 2)))


def test_a_masked_record_is_a_missing_one():
    with pytest.raises(ValueError, match=r"^field 'X': has entries that are NaN"):
        study().fit(np.ma.masked_array(X, mask=X > 2.9))
    whole = study().fit(np.ma.masked_array(X, mask=False))
    np.testing.assert_array_equal(whole.means_, study().fit(X).means_)
