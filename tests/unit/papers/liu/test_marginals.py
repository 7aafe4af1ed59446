"""Distances between marginals against numerical integration, and the tables of Figs 6 and 8."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from meterdp.core.parquet import as_arrow
from meterdp_papers.liu import synthetic
from meterdp_papers.liu.data import iris
from meterdp_papers.liu.setting import fixed_data_releases
from meterdp_papers.liu.tables import LIU_DENSITIES, LIU_MARGINAL_DISTANCES, SHOWN, VARIANTS

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
    as_arrow(LIU_DENSITIES, densities)
    as_arrow(LIU_MARGINAL_DISTANCES, distances)
    mechanisms = {run.mechanism for run in drawn}
    assert len(distances) == 3 * 2 * len(VARIANTS) * (1 + len(mechanisms))
    fit = distances[distances["curve"] == "fit"]
    assert (fit["tv_fit_mean"] == 0).all() and (fit["kl_fit_mean"] == 0).all() and (fit["trials"] == 1).all()
    own = densities[(densities["component"] == 1) & (densities["entry"] == 0)]
    fitted = own[own["kind"] == "fit"]
    assert np.trapezoid(fitted["density"], fitted["value"]) == pytest.approx(1, abs=0.02)
    # The mean is the average of all releases: by hand for one mechanism.
    run, mixtures = next((v, m) for v, m in drawn.items() if v.of(SHOWN))
    name = run.mechanism
    shown = own[(own["curve"] == name) & (own["kind"] == "mean")]
    by_hand = [
        norm.pdf(shown["value"], m[0, 0], np.sqrt(c[0, 0, 0]))
        for m, c in zip(mixtures.means, mixtures.covariances, strict=True)
    ]
    assert shown["density"].to_numpy() == pytest.approx(np.mean(by_hand, axis=0))
