"""Synthetic trials of Figs 1 to 4: distributions of the mixtures, redraws, pairing, batches, the divergence.

Algorithm 1's convergence table and the printed semi-definite program.

Distances between marginals against numerical integration, and the tables of Figs 6 and 8.
"""

import math
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import as_arrow
from meterdp.solvers import ellipsoid as sdp
from meterdp_papers.common.tables import batch
from meterdp_papers.liu import synthetic
from meterdp_papers.liu import tables as liu
from meterdp_papers.liu.data import iris
from meterdp_papers.liu.setting import (
    COMPARED,
    PROPOSED,
    RUNS,
    Run,
    curve,
    fixed_data_releases,
    read,
    releases,
    share_of,
)
from meterdp_papers.liu.synthetic import SWEEPS, Setting, draw_data_set, draw_mixture, run_trials

FLOOR, SEED = 1e-3, 5


def test_the_sweeps_vary_one_thing_and_keep_the_papers_setting():
    assert Setting() == Setting(classes=5, dimension=3, records=1000, epsilon=1.0)
    varied = {figure: sweep.varied for figure, sweep in SWEEPS.items()}
    assert varied == {"fig1": "epsilon", "fig2": "records", "fig3": "classes", "fig4": "dimension"}
    assert SWEEPS["fig3"].setting(10) == Setting(classes=10)
    assert SWEEPS["fig1"].setting(0.5) == Setting(epsilon=0.5)


def test_mixtures_follow_the_papers_distributions():
    """Oracle: moments of Dirichlet(1), U[-10, 10] and Wishart(I, d + 1); bands of 7 standard errors, < 1e-11 each."""
    setting, n = Setting(), 4000
    drawn = [draw_mixture(setting, StudyNoise(SEED, "distributions", i)) for i in range(n)]
    k, d = setting.classes, setting.dimension
    weights = np.stack([m.weights for m in drawn])
    assert np.allclose(weights.sum(axis=1), 1) and (weights > 0).all()
    variance = (k - 1) / (k**2 * (k + 1))  # of one Dirichlet weight
    assert np.abs(weights.mean(axis=0) - 1 / k).max() < 7 * np.sqrt(variance / n)
    assert weights.var(axis=0) == pytest.approx(variance, rel=0.25)
    means = np.stack([m.means for m in drawn])
    assert np.abs(means).max() <= 10 and abs(means.mean()) < 7 * 10 / np.sqrt(3 * means.size)
    assert means.var() == pytest.approx(100 / 3, rel=0.05)
    wishart = np.stack([m.covariances for m in drawn]).reshape(-1, d, d)
    # E W = (d + 1) I; Var W_ii = 2 (d + 1), Var W_ij = d + 1.
    error = np.abs(wishart.mean(axis=0) - (d + 1) * np.eye(d))
    assert error.max() < 7 * np.sqrt(2 * (d + 1) / len(wishart))
    assert np.linalg.eigvalsh(wishart).min() > 0


def test_data_sets_with_a_class_of_at_most_d_records_are_drawn_again_and_counted():
    """Oracle: the same stream replayed by hand."""
    setting = Setting(classes=8, dimension=3, records=60)
    total = 0
    for i in range(10):
        private, redrawn = draw_data_set(setting, StudyNoise(SEED, "redraw", i), FLOOR)
        replay = StudyNoise(SEED, "redraw", i)
        for attempt in range(redrawn + 1):
            x, labels = synthetic.sample(draw_mixture(setting, replay), setting.records, replay)
            smallest = min((labels == k).sum() for k in range(1, 9))
            assert (smallest > 3) == (attempt == redrawn)
        assert np.array_equal(private.x, x) and np.array_equal(private.labels, labels)
        assert private.fit.counts.min() > setting.dimension
        total += redrawn
    assert total > 0


def test_trials_go_where_a_verdict_may_turn_and_every_job_has_one():
    shares = {figure: sweep.share for figure, sweep in SWEEPS.items()}
    assert max(shares, key=shares.get) == "fig3" and share_of(1000, shares["fig1"]) == 1000  # as printed
    for trials in (1, 2, 3, 4, 60):
        for share in shares.values():
            assert all(batch(n, min(4, trials), share_of(trials, share)) for n in range(min(4, trials)))


def test_batches_partition_the_trials():
    for batches, trials in ((1, 1), (4, 10), (4, 1000), (7, 20)):
        parts = [batch(i, batches, trials) for i in range(batches)]
        assert [t for part in parts for t in part] == list(range(trials))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.fixture(scope="module")
def fig1() -> pd.DataFrame:
    return run_trials("fig1", range(4), FLOOR, SEED)


def test_results_do_not_depend_on_batches_or_their_order(fig1):
    parts = [run_trials("fig1", trials, FLOOR, SEED) for trials in ([3], [1, 2], [0])]
    keys = ["x", "trial", "mechanism", "flips", "over_classes"]
    joined = pd.concat(parts).sort_values(keys, ignore_index=True)
    pd.testing.assert_frame_equal(joined, fig1.sort_values(keys, ignore_index=True), check_exact=True)


def test_fig_1_is_paired_over_epsilon_and_others_are_fresh_at_every_abscissa(fig1):
    as_arrow(liu.LIU_TRIALS, fig1)
    assert len(fig1[["trial", "redrawn_count", "smallest_class_count"]].drop_duplicates()) == 4
    assert set(fig1["mechanism"]) == set(COMPARED) and "sound" not in COMPARED
    assert len(fig1) == 4 * 5 * len(RUNS) and (fig1["kl"] > 0).all()
    fig4 = run_trials("fig4", [0], FLOOR, SEED)
    assert len(set(fig4["smallest_class_count"])) > 1


def test_another_seed_gives_other_numbers(fig1):
    other = run_trials("fig1", [0], FLOOR, SEED + 1)
    assert not set(other["kl"]) & set(fig1["kl"])


def test_the_divergence_of_a_trial_is_that_of_the_joint_by_monte_carlo(fig1):
    """Oracle: log ratio of joint densities under the released mixture, 7 standard errors: false alarm < 1e-11."""
    epsilon, trial, n = 8.0, 2, 40000
    stream = StudyNoise(SEED, "reproduce liu", "fig1", "data", "every", trial)
    private, _ = draw_data_set(Setting(), stream, FLOOR)
    noise = StudyNoise(SEED, "reproduce liu", "fig1", PROPOSED, repr(epsilon), trial)
    run = Run(PROPOSED, "all")
    released = releases(run, read(private), epsilon, FLOOR, noise, 1).draw(0)
    fit = private.fit.mixture
    generator = np.random.default_rng(8)
    labels = generator.choice(5, size=n, p=released.weights)
    ratio = np.empty(n)
    for k in range(5):
        rows = labels == k
        x = generator.multivariate_normal(released.means[k], released.covariances[k], size=rows.sum())
        ratio[rows] = (
            np.log(released.weights[k] / fit.weights[k])
            + multivariate_normal(released.means[k], released.covariances[k]).logpdf(x)
            - multivariate_normal(fit.means[k], fit.covariances[k]).logpdf(x)
        )
    row = fig1[(fig1["x"] == epsilon) & (fig1["trial"] == trial) & (fig1["mechanism"] == PROPOSED)]
    row = row[row["flips"] == "all"]
    assert row["kl"].item() == pytest.approx(ratio.mean(), abs=7 * ratio.std() / np.sqrt(n))


def test_the_curve_is_the_summary_of_the_trials():
    """Oracle: numpy on each group."""
    kl = {PROPOSED: [1.0, 2.0, 3.0, 10.0], "iid_laplace": [2.0, 1.0, 4.0, 11.0]}
    rows = [
        ("fig2", 500.0, t, n, "published", "any", "any", v, t, 9) for n, vs in kl.items() for t, v in enumerate(vs)
    ]
    trials = pd.DataFrame(rows, columns=list(liu.LIU_TRIALS.schema.names))
    every = curve(trials, "records", "data", None)
    as_arrow(liu.LIU_CURVE, every)
    assert every.groupby("reading", sort=False).size().tolist() == [2] * len(liu.VARIANTS)
    table = every[every["reading"] == liu.VARIANTS[-1].name]
    for row in table.itertuples():
        values = np.array(kl[row.mechanism])
        assert row.kl_mean == values.mean() and row.kl_median == np.median(values)
        assert row.kl_se == pytest.approx(values.std(ddof=1) / 2)
        assert (row.kl_q25, row.kl_q75) == tuple(np.quantile(values, [0.25, 0.75]))
        assert row.trials == 4 and row.redrawn_count == 6
    excess = table.set_index("mechanism")["excess_mean"]
    assert excess[PROPOSED] == 0 and excess["iid_laplace"] == np.mean([1.0, -1.0, 1.0, 1.0])
    error = table.set_index("mechanism")["excess_se"]["iid_laplace"]
    assert error == pytest.approx(np.std([1.0, -1.0, 1.0, 1.0], ddof=1) / 2)
    assert dict(zip(table["mechanism"], table["below_proposed_share"], strict=True)) == {
        PROPOSED: 0.0,
        "iid_laplace": 0.25,
    }
    as_arrow(
        liu.LIU_CURVE, curve(trials[trials["trial"] == 0], "records", "data", None)
    )  # a single trial has no error


def test_printed_constraints_are_the_changes_of_the_mean_over_all_flips():
    """Oracle: flip every label to every other class and fit again."""
    private = synthetic._data_set(40, 3, FLOOR, 1)
    x, labels = private.x, private.labels
    changes = []
    for n in range(len(x)):
        for target in {1, 2, 3} - {labels[n]}:
            flipped = labels.copy()
            flipped[n] = target
            changes.append([x[flipped == k].mean(axis=0) - x[labels == k].mean(axis=0) for k in (1, 2, 3)])
    changes = np.array(changes)
    for k in range(3):
        # A flip between two other classes changes nothing and needs no constraint; signs do not matter.
        moved = changes[:, k][np.abs(changes[:, k]).max(axis=1) > 0]
        found = synthetic.printed_constraints(private, k)
        assert found.shape == moved.shape
        key = lambda v: np.sort((v**2).sum(axis=1))  # noqa: E731
        assert key(found) == pytest.approx(key(moved))


def test_the_printed_program_and_the_precision_form_have_one_optimum():
    """Oracle: each other, two formulations of (23)."""
    private = synthetic._data_set(60, 3, FLOOR, 2)
    for k in range(3):
        covariance = private.fit.mixture.covariances[k]
        constraints = synthetic.printed_constraints(private, k)
        trace, iterations, size = synthetic.solve_printed(constraints, covariance)
        points = np.linalg.solve(np.linalg.cholesky(covariance), private.differences[k].T).T
        assert trace == pytest.approx(np.trace(sdp.solve(points).matrix), rel=1e-4)
        assert 1 < iterations < 100 and size == 6 + 10 * len(constraints)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_printed_program_is_what_cvxpy_writes_for_the_same_inequalities(d):
    generator = np.random.default_rng(d)
    points = generator.normal(size=(7, d)) * 10.0 ** generator.uniform(-3, 3, (7, 1))
    points[1] = points[0]  # a constraint twice
    covariance = np.cov(generator.normal(size=(d, 3 * d + 3))).reshape(d, d)
    matrix = cp.Variable((d, d), symmetric=True)
    scale = np.abs(points).max()
    inside = [cp.bmat([[np.ones((1, 1)), p[None]], [p[:, None], matrix]]) >> 0 for p in points / scale]
    problem = cp.Problem(cp.Minimize(cp.trace(np.linalg.inv(covariance) @ matrix)), inside)
    expected = problem.solve(solver=cp.CLARABEL) * scale**2
    assert synthetic.solve_printed(points, covariance)[0] == pytest.approx(expected, rel=1e-5)


def test_convergence_watches_the_data_sets_of_fig_1():
    table = synthetic.convergence(2, FLOOR, 4)
    as_arrow(liu.LIU_CONVERGENCE, table)
    assert len(table) == 2 * 5 and set(table["trial"]) == {0, 1}
    # Defect L9: (23) makes (20b) tight for every k, so (25) returns the start.
    assert (table["pass_count"] == 2).all() and table["epsilon_0_share"].to_numpy() == pytest.approx(1 / 3)


def test_work_is_counted_at_every_size_and_twice_gives_the_same(monkeypatch):
    monkeypatch.setattr(synthetic, "RECORD_COUNTS", (40, 60))
    monkeypatch.setattr(synthetic, "CLASS_COUNTS", (2, 3))
    monkeypatch.setattr(synthetic, "CLASS_SWEEP_RECORDS", 40)
    monkeypatch.setattr(synthetic, "OWN_RECORD_COUNTS", (100, 200))
    table, again = (synthetic.sdp_work(1, FLOOR, 1) for _ in range(2))
    assert table.equals(again)
    as_arrow(liu.LIU_SDP_WORK, table)
    assert (table["work"] > 0).all()
    # Our solver prices every point of all five classes at least once, and each price is d^2 multiplications.
    own = table[table["solver"] == "own"]
    assert (own["work"] >= 9 * 5 * own["record_count"]).all()
    assert table.groupby(["solver", "varied"]).size().to_dict() == {
        ("interior_point", "classes"): 2,
        ("interior_point", "records"): 2,
        ("own", "records"): 2,
    }
    assert (table.loc[table["varied"] == "records", "class_count"] == Setting().classes).all()


CASES = [
    (0.0, 1.0, 0.0, 1.0),
    (0.5, 1.0, 0.0, 1.0),
    (0.0, 2.0, 0.0, 1.0),
    (0.0, 0.5, 0.0, 1.0),
    (-3.0, 0.7, 1.0, 2.5),
    (1e-9, 1.0, 0.0, 1.0),
    (0.3, 1 + 1e-9, 0.0, 1.0),
    (2.0, 0.05, 1.9, 3.0),
    (40.0, 1.0, 0.0, 1.0),
]


@pytest.mark.parametrize("case", CASES)
def test_total_variation_and_divergence_of_normals_by_quadrature(case):
    """Oracle: scipy's adaptive quadrature over fine pieces, and the textbook double integral for the divergence."""
    m, s, m0, s0 = case
    ends = np.unique([m + s * np.linspace(-12, 12, 49), m0 + s0 * np.linspace(-12, 12, 49)])

    def integral(f):
        return sum(quad(f, a, b, limit=200)[0] for a, b in pairwise(ends))

    def log_density(x, mean, deviation):  # of one number; scipy's takes a hundred times as long
        return -0.5 * ((x - mean) / deviation) ** 2 - math.log(deviation * math.sqrt(2 * math.pi))

    distance = 0.5 * integral(lambda x: abs(math.exp(log_density(x, m, s)) - math.exp(log_density(x, m0, s0))))
    kl = integral(lambda x: math.exp(log_density(x, m, s)) * (log_density(x, m, s) - log_density(x, m0, s0)))
    mean, deviation = np.array([m]), np.array([s])
    assert synthetic.tv_of_normals(mean, deviation, m0, s0)[0] == pytest.approx(distance, abs=1e-8)
    assert synthetic.kl_of_normals(mean, deviation, m0, s0)[0] == pytest.approx(kl, abs=1e-7)


def test_total_variation_of_random_normals_on_a_grid():
    """Oracle: the trapezoidal rule."""
    generator = np.random.default_rng(3)
    mean, deviation = generator.normal(scale=2, size=200), np.exp(generator.normal(scale=0.7, size=200))
    grid = np.linspace(-60, 60, 400001)
    for m, s in zip(mean[:20], deviation[:20], strict=True):
        oracle = 0.5 * np.trapezoid(np.abs(norm.pdf(grid, m, s) - norm.pdf(grid, 0.3, 1.7)), grid)
        assert synthetic.tv_of_normals(np.array([m]), np.array([s]), 0.3, 1.7)[0] == pytest.approx(oracle, abs=1e-7)
    distance = synthetic.tv_of_normals(mean, deviation, 0.3, 1.7)
    assert distance.shape == (200,) and ((distance >= 0) & (distance <= 1)).all()


def test_distance_to_a_histogram_counts_what_lies_outside():
    """Oracle: bin by bin by hand; a distribution far away is at distance one."""
    heights, edges = synthetic.histogram(np.random.default_rng(4).normal(size=300))
    assert (heights * np.diff(edges)).sum() == pytest.approx(1)
    cells = np.concatenate([[-np.inf], edges, [np.inf]])
    distribution = np.diff(norm.cdf(cells, 0.2, 1.3))
    seen = np.concatenate([[0], heights * np.diff(edges), [0]])
    found = synthetic.tv_to_histogram(np.array([0.2, 99.0]), np.array([1.3, 1.0]), heights, edges)
    assert found == pytest.approx([0.5 * np.abs(distribution - seen).sum(), 1.0])


def test_tables_hold_every_class_and_curve_with_densities_of_area_one():
    private, source = iris(1e-3)
    drawn = fixed_data_releases("fig5", private, 8.0, 1e-3, 30, 1)
    densities, distances = synthetic.tabulate("fig6", private, drawn, range(2), source)
    as_arrow(liu.LIU_DENSITIES, densities)
    as_arrow(liu.LIU_MARGINAL_DISTANCES, distances)
    mechanisms = {run.mechanism for run in drawn}
    assert len(distances) == 3 * 2 * len(liu.VARIANTS) * (1 + len(mechanisms))
    fit = distances[distances["curve"] == "fit"]
    assert (fit["tv_fit_mean"] == 0).all() and (fit["kl_fit_mean"] == 0).all() and (fit["trials"] == 1).all()
    own = densities[(densities["component"] == 1) & (densities["entry"] == 0)]
    fitted = own[own["kind"] == "fit"]
    assert np.trapezoid(fitted["density"], fitted["value"]) == pytest.approx(1, abs=0.02)
    # The mean is the average of all releases: by hand for one mechanism.
    run, mixtures = next((v, m) for v, m in drawn.items() if v.of(liu.SHOWN))
    name = run.mechanism
    shown = own[(own["curve"] == name) & (own["kind"] == "mean")]
    by_hand = [
        norm.pdf(shown["value"], m[0, 0], np.sqrt(c[0, 0, 0]))
        for m, c in zip(mixtures.means, mixtures.covariances, strict=True)
    ]
    assert shown["density"].to_numpy() == pytest.approx(np.mean(by_hand, axis=0))
