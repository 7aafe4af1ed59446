"""Synthetic trials of Figs 1 to 4: distributions of the mixtures, redraws, pairing, batches, the divergence."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import as_arrow
from meterdp_papers.common.tables import batch
from meterdp_papers.liu import synthetic
from meterdp_papers.liu.setting import COMPARED, PROPOSED, RUNS, Run, curve, read, releases
from meterdp_papers.liu.synthetic import SWEEPS, Setting, draw_data_set, draw_mixture, run_trials
from meterdp_papers.liu.tables import LIU_CURVE, LIU_TRIALS, VARIANTS

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
    as_arrow(LIU_TRIALS, fig1)
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
    trials = pd.DataFrame(rows, columns=list(LIU_TRIALS.schema.names))
    every = curve(trials, "records", "data", None)
    as_arrow(LIU_CURVE, every)
    assert every.groupby("reading", sort=False).size().tolist() == [2] * len(VARIANTS)
    table = every[every["reading"] == VARIANTS[-1].name]
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
    as_arrow(LIU_CURVE, curve(trials[trials["trial"] == 0], "records", "data", None))  # a single trial has no error
