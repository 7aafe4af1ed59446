"""Inverse questions against closed forms: equal covariances have the curve of the Gaussian mechanism."""

from datetime import UTC, datetime

import numpy as np
import pytest
import yaml

from meterdp.__main__ import main
from meterdp.class_noise import inverse
from meterdp.class_noise.designs.registry import noise_design
from meterdp.class_noise.inverse import DECADES, GRID, REFINEMENTS, Asker
from meterdp.class_noise.query_models import QUERY_MODELS, Budget, ClassQueries, Noise
from meterdp.class_noise.tables import NEIGHBOUR_GRAPH
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import write_table
from meterdp.errors import InputError
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS
from meterdp.privacy.gaussian import delta as gaussian_delta
from tests.unit.class_noise.examples import all_pairs

BOUNDS = (1e-3, 50.0)
SCALE = LogScale(*BOUNDS)
MEANS = np.log(0.2) + np.array([[0.0, 0.0], [0.3, 0.4], [0.3, 0.0]])  # the two farthest are 0.5 apart


def asker(design="white", convention="total", means=MEANS) -> Asker:
    queries = ClassQueries(means, np.zeros((len(means), 2, 2)), all_pairs(len(means)))
    return Asker(noise_design(design), queries, means, SCALE, convention)


@pytest.mark.parametrize("convention", ["total", "per_entry"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.5, 0.1), (4.0, 1e-9)])
def test_the_smallest_budget_of_white_noise_is_that_of_the_gaussian_mechanism(epsilon, delta, convention):
    """Oracle: bisection of the scalar Gaussian curve at mu = 0.5 / sigma; the search is within 2 %."""
    answer = asker(convention=convention).smallest_error(epsilon, delta)
    low, high = 1e-6, 1e6
    for _ in range(100):
        sigma = np.sqrt(low * high)
        low, high = (sigma, high) if gaussian_delta(0.5 / sigma, epsilon) > delta else (low, sigma)
    entries = 2 if convention == "total" else 1
    assert high**2 * entries <= answer.rho <= 1.02 * high**2 * entries
    assert answer.delta <= delta and answer.delta == pytest.approx(delta, rel=0.5)


def test_the_error_in_kwh_is_that_of_many_draws():
    """Oracle: 400,000 draws; relative error of the mean square within 6.5 standard errors, seeded."""
    question = asker()
    noise = question.noise(0.8)
    draws = np.random.default_rng(0).standard_normal((400_000, 3, 2)) * np.sqrt(0.4)
    squared = (np.clip(np.exp(MEANS + draws), *BOUNDS) - np.exp(MEANS)) ** 2
    mean, error = squared.mean(), squared.mean(axis=(1, 2)).std() / np.sqrt(len(draws))
    assert abs(question.error_kwh(noise) ** 2 - mean) <= 6.5 * error


def test_the_two_questions_are_inverse_to_each_other():
    question = asker()
    first = question.smallest_error(1.0, 1e-5)
    back = question.guarantee(first.error_kwh, 1e-5)
    assert back.error_kwh <= first.error_kwh
    assert back.epsilon == pytest.approx(1.0, rel=0.05) and back.rho == pytest.approx(first.rho, rel=0.05)


def test_more_error_buys_more_privacy():
    epsilons = [asker().guarantee(error, 1e-5).epsilon for error in (0.05, 0.1, 0.3, 2.0)]
    assert epsilons == sorted(epsilons, reverse=True) and epsilons[-1] < epsilons[0]


@pytest.mark.parametrize("convention", ["total", "per_entry"])
def test_an_error_below_that_of_every_budget_buys_nothing(convention):
    """A millionth of a kWh is less than the smallest budget costs: no noise that errs by more may answer."""
    question = asker(convention=convention)
    least = question.error_kwh(question.noise(question._budgets()[0]))
    answer = question.guarantee(1e-6, 1e-5)
    assert least > 1e-6 and np.isinf(answer.rho) and np.isinf(answer.epsilon) and answer.delta == 1.0
    assert question.guarantee(1.2 * least, 1e-5).error_kwh <= 1.2 * least


def test_a_larger_budget_with_a_smaller_error_is_taken():
    """Where forecasts meet, a budget beyond the least one is not spent on noise."""

    def meets(queries, budget):
        variance = 100.0 if budget.rho < 500 else 0.01
        return Noise(np.tile(variance * np.eye(2), (3, 1, 1)), shift=queries.mean_log_kwh.mean(axis=0) - MEANS)

    question = Asker(meets, asker().queries, MEANS, SCALE, "total")
    answer = question.smallest_error(1.0, 1e-5)
    assert answer.rho > 500 and answer.error_kwh == pytest.approx(question.error_kwh(question.noise(1e3)))
    assert answer.error_kwh < question.error_kwh(question.noise(1.0))


def test_a_design_that_never_protects_has_no_answer():
    means = np.zeros((2, 2))
    means[1] = 1.0

    def nothing(queries, budget):
        return Noise(np.zeros((2, 2, 2)))

    question = Asker(nothing, ClassQueries(means, np.zeros((2, 2, 2)), all_pairs(2)), means, SCALE, "total")
    answer = question.smallest_error(1.0, 0.5)
    assert np.isinf(answer.rho) and answer.delta == 1.0
    assert np.isinf(question.guarantee(0.1, 0.5).epsilon)


def test_equal_forecasts_need_the_least_budget_that_is_tried():
    answer = asker(means=np.zeros((3, 2))).smallest_error(1.0, 1e-5)
    assert answer.rho == pytest.approx(2 * 10 ** DECADES[0]) and answer.delta == 0.0


def test_a_design_that_is_not_monotone_is_answered_from_above():
    """Between two good stretches of budgets the smaller one is not offered."""

    def gap(queries, budget):
        good = budget.rho > 1e3 or 0.1 < budget.rho < 1
        return noise_design("white")(queries, Budget(1e4 if good else 1e-4))

    question = Asker(gap, asker().queries, MEANS, SCALE, "total")
    assert question.smallest_error(1.0, 1e-5).rho > 1e3


@pytest.mark.parametrize(("epsilon", "delta"), [(-1.0, 1e-5), (1.0, 0.0), (1.0, 1.0), (np.nan, 0.1), (np.inf, 0.1)])
def test_senseless_guarantees_are_refused(epsilon, delta):
    with pytest.raises(InputError, match="epsilon"):
        asker().smallest_error(epsilon, delta)


def test_no_pairs_and_senseless_errors_are_refused():
    with pytest.raises(InputError, match="positive error"):
        asker().guarantee(0.0, 1e-5)
    alone = ClassQueries(MEANS, np.zeros((3, 2, 2)), np.empty((0, 2), dtype=np.int64))
    with pytest.raises(InputError, match="no household with a neighbour"):
        Asker(noise_design("white"), alone, MEANS, SCALE, "total")


@pytest.fixture
def study(tmp_path):
    """A folder with what a finished study leaves for the questions."""
    vectors = {"mean": list(MEANS[:2]), "covariance": [np.eye(2).ravel()] * 2}
    columns = {
        c.name: vectors.get(next((v for v in vectors if v in c.name), "")) for c in FORECAST_DISTRIBUTIONS.columns
    }
    columns |= {"household": [1, 2], "origin_utc": [datetime(2025, 1, 1, tzinfo=UTC)] * 2}
    write_table(tmp_path / "private/forecast_distributions.parquet", FORECAST_DISTRIBUTIONS, columns)
    graph = {"household": [1, 2], "neighbour": [2, 1], "neighbourhood": [1, 1]}
    write_table(tmp_path / "private/neighbour_graph.parquet", NEIGHBOUR_GRAPH, graph)
    recipe = {
        "class_noise": {
            "designs": ["none", "white", "published"],
            "stochastic_designs": ["none", "white", "published"],
            "query_models": ["deterministic"],
            "accuracy_convention": "total",
        },
        "profiles": {"clip_kwh_per_hour": [0.01, 100]},
        "export": {"interval_minutes": 15},
    }
    (tmp_path / "study").mkdir()
    (tmp_path / "study/config.yaml").write_text(yaml.safe_dump(recipe))
    return tmp_path


def test_the_command_line_answers_both_questions(study, capsys):
    assert main(["ask", "--results", str(study), "--epsilon", "1", "--delta", "0.01"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["white", "published"]
    assert "one file" in lines[3], "all files of a neighbourhood together have a larger delta"
    said = dict(line.split(": ", 1) for line in lines[4:])
    assert said.keys() == set(QUERY_MODELS) and "no guarantee" in said["published"]
    assert float(lines[1].split()[3]) <= 0.01 and float(lines[1].split()[5]) > 0
    assert main(["ask", "--results", str(study), "--error-kwh", "0.05", "--design", "white"]) == 0
    assert float(capsys.readouterr().out.splitlines()[1].split()[5]) <= 0.05


def test_every_answer_is_printed_before_the_next_design_is_run(study, capsys, monkeypatch):
    """A user sees the first line, and which design is at work, while later designs have not begun."""
    monkeypatch.setattr(inverse, "EVERY_S", 0.0)
    lines = inverse.ask(study, 1.0, None, 0.01)
    assert next(lines).startswith("design") and next(lines).startswith("white")
    said = capsys.readouterr().err.splitlines()
    assert len(said) >= 2 and all(line.startswith("1/2 white, deterministic: budget ") for line in said)
    assert [line.split()[0] for line in lines] == ["published"]
    assert all(line.startswith("2/2 published") for line in capsys.readouterr().err.splitlines())


@pytest.mark.parametrize("share", [0.0, 0.013, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("bent", [lambda x: x, lambda x: np.sign(x) * abs(x) ** 7, np.sign])
def test_the_refined_budget_is_the_one_halving_finds(share, bent):
    """Oracle: plain bisection of the same bracket, to the last bit; the steep and flat ones defeat interpolation."""
    question = asker()
    low, high = question._budgets()[7:9]
    edge = low * (high / low) ** share * (1 + 1e-9)
    tried = []

    def excess(rho):
        tried.append(rho)
        return float(bent(np.log(edge / rho))) or 1e-300

    found = question._threshold(excess)
    if share < 1:
        for _ in range(REFINEMENTS):
            middle = np.sqrt(low * high)
            low, high = (low, middle) if excess(middle) <= 0 else (middle, high)
        assert found == high
    assert len(set(tried)) <= GRID + 2 * REFINEMENTS


def test_the_command_line_refuses_in_one_sentence(study, tmp_path, capsys):
    assert main(["ask", "--results", str(tmp_path / "nowhere"), "--epsilon", "1"]) == 1
    assert "run the study first" in capsys.readouterr().err
    assert main(["ask", "--results", str(study), "--epsilon", "1", "--design", "pink"]) == 1
    assert "is not a noise design" in capsys.readouterr().err
    assert main(["ask", "--results", str(study), "--epsilon", "1", "--design", "none"]) == 1
    assert "no noise design with a pair of neighbours to protect; choose" in capsys.readouterr().err
