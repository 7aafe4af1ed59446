"""What benchmarks/years.py makes years of, beside a release: days and bins against brute force and known answers."""

import sys
from datetime import UTC, datetime

import numpy as np
import pytest

from meterdp.households.columns import Columns
from meterdp.households.score import compare, summarise
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.mixture.draws import Mixture
from meterdp.profiles.grid import Calendar


@pytest.fixture(scope="module", autouse=True)
def benchmarks_on_the_path(repository):
    sys.path.insert(0, str(repository / "benchmarks"))
    yield
    sys.path.remove(str(repository / "benchmarks"))


@pytest.fixture
def columns():
    """Sixteen days from Monday, 20 March 2023 on, by the hour; the clocks go forward on Sunday."""
    return Columns(Calendar(datetime(2023, 3, 19, 23, tzinfo=UTC), 16 * 24 - 1, 60, "Europe/Zurich"), ())


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_days_are_those_read_as_a_whole_and_make_the_same_year_again(columns, rng):
    from years_parts.days import days_of, month_and_weekday, years_of

    kwh = rng.random((3, 16 * 24 - 1))
    kwh[1, 30] = np.nan
    days, which = days_of(kwh, columns)
    short, missing = 6, 1
    assert which.tolist() == [
        *(day for day in range(16) if day != short),
        *(day for day in range(16) if day not in (missing, short)),
        *(day for day in range(16) if day != short),
    ]
    assert np.array_equal(days[0], kwh[0, :24]) and np.array_equal(days[-1], kwh[2, -24:])
    table = np.zeros((1, 16, 24))
    table[0, which[:15]] = days[:15]
    read = columns.day != short
    assert np.array_equal(years_of(table, columns)[0, read], kwh[0, read])
    assert month_and_weekday(columns)[[0, 6, 12]].tolist() == [[3, 0], [3, 6], [4, 5]]


def test_every_independent_day_has_the_distribution_of_the_mixture(columns):
    from years_parts.days import IndependentDays

    rng = np.random.default_rng(8)
    root = rng.normal(0, 0.06, (2, 24, 24))
    mixture = Mixture(np.array([0.3, 0.7]), np.log([[0.2] * 24, [1.5] * 24]), root @ root.transpose(0, 2, 1))
    kwh = np.concatenate(list(IndependentDays(mixture, columns).batches(3000, 1)))
    assert kwh.shape == (3000, 16 * 24 - 1) and kwh.min() > 0.01 and kwh.max() < 20
    logs = np.log(kwh)
    of_day = [logs[:, columns.day == day] for day in (0, 15)]
    mean = mixture.weights @ mixture.means
    about = mixture.means - mean
    covariance = np.einsum("k,kij->ij", mixture.weights, mixture.covariances + about[:, :, None] * about[:, None])
    for rows in of_day:
        # Standard errors of 0.02.
        assert rows.mean(axis=0) == pytest.approx(mean, abs=0.1)
        assert np.abs(np.cov(rows.T) - covariance).max() < 0.1
        assert (rows.mean(axis=1) > -0.6).mean() == pytest.approx(0.7, abs=0.04)
    assert abs(np.corrcoef(of_day[0].mean(axis=1), of_day[1].mean(axis=1))[0, 1]) < 0.08


def test_a_mixture_of_days_is_found_again():
    from years_parts.days import mixture_of_days

    rng = np.random.default_rng(4)
    logs = np.where(rng.random((4000, 1)) < 0.3, -2.0, 0.5) + rng.normal(0, 0.2, (4000, 3))
    found = mixture_of_days(np.exp(logs), 1.0, 1)
    assert found.weights @ found.means == pytest.approx(logs.mean(axis=0), abs=1e-6)
    assert found.weights[found.means[:, 0] < -1].sum() == pytest.approx(0.3, abs=0.03)


def test_days_of_the_calendar_come_from_their_month_and_weekday_or_from_the_month(columns):
    from years_parts.days import DaysOfTheCalendar, month_and_weekday

    labels = np.array([[month, weekday] for month in (3, 4) for weekday in range(7) if (month, weekday) != (4, 1)])
    pool = np.repeat((10.0 * labels[:, 0] + labels[:, 1])[:, None], 24, axis=1)
    kwh = np.concatenate(list(DaysOfTheCalendar(pool, labels, columns).batches(70, 1)))
    of_day = kwh[:, [np.flatnonzero(columns.day == day)[0] for day in range(16)]]
    wanted = month_and_weekday(columns)
    there = (wanted != [4, 1]).any(axis=1)
    assert there.sum() == 15 and (of_day[:, there] == (10 * wanted[:, 0] + wanted[:, 1])[there]).all()
    other = of_day[:, ~there]
    assert set(np.unique(other)) <= {40.0, 42.0, 43.0, 44.0, 45.0, 46.0} and len(np.unique(other)) > 3


def test_vectors_go_to_the_range_of_bins_and_back(columns, rng):
    from years_parts.rivals import vectors_of

    settings = VectorSettings(columns.calendar)
    low, high = settings.bounds
    vectors = rng.uniform(low, high, (50, len(low)))
    assert settings.in_half_widths(np.array([low, (low + high) / 2, high])) == pytest.approx(
        np.repeat([[-1.0], [0.0], [1.0]], len(low), axis=1), abs=1e-12
    )
    assert vectors_of(settings.in_half_widths(vectors), settings) == pytest.approx(vectors, abs=1e-12)
    assert np.array_equal(vectors_of(np.full((1, len(low)), 1.2), settings)[0], high)


def test_a_library_has_the_time_of_a_column_and_is_not_tried_with_more(columns, rng, monkeypatch):
    from years_parts import rivals

    settings = VectorSettings(columns.calendar)
    vectors = np.repeat(settings.typical[None], 5, axis=0)

    def run(environment, script, limit_s, *words, x, edges, rows, **given):
        calls.append((environment, len(x), len(edges) - 1))
        if environment == "dpmm":
            return "did not finish in 600 s"
        return {"samples": np.zeros((rows, x.shape[1]), np.float32), "seconds": np.array(250.0)}

    calls = []
    monkeypatch.setattr(rivals, "run_apart", run)
    made = rivals.Rivals(np.ones((5, 400)), vectors, settings, None, 1.0, 1e-5, 3).columns([2000, 500])
    assert not any(isinstance(made["opendp_mst_500"](release), str) for release in (0, 1))
    assert made["opendp_mst_500"](2).startswith("releases: 2, as 600 s")
    assert made["dpmm_mst_500"](0) == "did not finish in 600 s"
    assert made["dpmm_mst_2000"](0).startswith("not tried")
    assert not isinstance(made["smartnoise_mst_2000"](0), str)
    assert calls == [("opendp", 500, 8), ("opendp", 500, 8), ("dpmm", 500, 8), ("benchmark", 2000, 16)]


def test_a_library_that_is_not_installed_says_so_and_others_make_years(columns, rng, monkeypatch):
    from years_parts import rivals
    from years_parts.errors import mean_errors

    calendar = Calendar(columns.calendar.start, 28 * 24, 60, "UTC")
    settings = VectorSettings(calendar)
    kwh = np.exp(rng.normal(-1, 0.5, (12, 1)) + rng.normal(0, 0.5, (12, 28 * 24)))
    monkeypatch.setattr(rivals, "LIBRARIES", {"absent_mst": ("absent", "absent")})
    made = rivals.Rivals(kwh, household_vectors(kwh, settings), settings, None, 1.0, 1e-5, 20).columns([500])
    assert [*made] == ["one_gaussian", "independent_days", "absent_mst_500", "opensynth_faraday"]
    assert made["absent_mst_500"](0).startswith("not run: ")
    real = summarise([kwh], 12, settings)
    for name in ("one_gaussian", "independent_days"):
        summaries = [summarise(made[name](release), 20, settings) for release in (0, 1)]
        by_hand = [[abs(row.error) for row in compare(real, summary)] for summary in summaries]
        assert [*mean_errors(real, summaries).values()] == pytest.approx(np.mean(by_hand, axis=0), nan_ok=True)
        assert np.isfinite(summaries[0].homes.mean_kw).all()
