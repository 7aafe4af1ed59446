"""Fig. 5 of Park et al. on small pictures: preparation, noise levels, what is left of the loadings."""

import numpy as np
import pytest

from meterdp.core.parquet import as_arrow
from meterdp.mechanisms.dpem.kmeans import Factors
from meterdp_papers.park import clusters
from meterdp_papers.park.data import Records
from meterdp_papers.park.tables import AS_THEY_ARE, BY_PIXEL, CENTRED, PARK_FACE_NUMBERS, PARK_FACES, PICTURES

SOURCE = {"data": "synthetic pictures", "substitute": None}
SIDE = 8


@pytest.fixture(scope="module")
def records() -> Records:
    generator = np.random.default_rng(6)
    smooth = generator.normal(size=(5, SIDE**2))
    x = 0.5 + 0.1 * generator.normal(size=(300, 5)) @ smooth + 0.01 * generator.normal(size=(300, SIDE**2))
    return Records(x, float(SIDE), SOURCE)


@pytest.fixture(scope="module")
def tables(records):
    return clusters.tabulate(records, seed=2)


@pytest.mark.parametrize("pictures", PICTURES)
def test_pictures_are_in_the_unit_ball_and_the_scale_says_what_is_not(records, pictures):
    x, scale = clusters.prepared(records, pictures)
    assert np.linalg.norm(x, axis=1).max() == pytest.approx(1)
    assert (scale != 1) == (pictures == BY_PIXEL)
    if pictures != AS_THEY_ARE:
        assert x.mean(axis=1) == pytest.approx(np.zeros(len(x)), abs=1e-12)
    if pictures == BY_PIXEL:
        assert np.linalg.norm(np.sqrt(scale) * x, axis=0).max() == pytest.approx(1)


def test_captured_is_one_for_the_same_span_and_none_for_an_orthogonal_one():
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(30, 6)))[0]
    psi = np.ones(30)
    one = Factors(basis[:, :3], psi)
    same = Factors(basis[:, :3] @ np.random.default_rng(2).normal(size=(3, 3)), psi)
    assert clusters.captured(one, same) == pytest.approx(1)
    assert clusters.captured(one, Factors(basis[:, 3:], psi)) == pytest.approx(0, abs=1e-12)
    assert clusters.captured(one, Factors(basis[:, 2:5], psi)) == pytest.approx(1 / 3)


def test_spectral_norms_are_those_of_all_eigenvalues(records, tables):
    """Oracle: numpy's eigenvalues of the second moment."""
    numbers = tables[1]
    for pictures in PICTURES:
        x, scale = clusters.prepared(records, pictures)
        top = np.linalg.eigvalsh(scale * x.T @ x / len(x)).max()
        assert numbers.loc[numbers["pictures"] == pictures, "top_eigenvalue"].to_numpy() == pytest.approx(top)
    ratio = numbers["noise_spectral_norm"] / numbers["noise_std"]
    assert ratio.nunique() == 1 or ratio.std() < 1e-9 * ratio.mean()
    assert ratio.mean() == pytest.approx(2 * SIDE, rel=0.3)  # semicircle distribution


def test_the_misread_noise_is_the_square_of_the_stated_one(tables):
    numbers = tables[1]
    as_arrow(PARK_FACE_NUMBERS, numbers)
    at = numbers[(numbers["pictures"] == CENTRED) & (numbers["sensitivity"] == "2/N") & (numbers["epsilon"] == 0.3)]
    std = at.set_index("noise")["noise_std"]
    assert std["stated"] == pytest.approx(np.sqrt(2 * np.log(1.25e4)) * 2 / 300 / 0.3)
    assert std["variance for deviation"] == pytest.approx(std["stated"] ** 2)
    assert set(numbers[numbers["pictures"] == BY_PIXEL]["noise"]) == {"variance for deviation"}


def test_columns_are_orthogonal_and_in_order(tables):
    columns = tables[0]
    as_arrow(PARK_FACES, columns)
    for _, rows in columns.groupby(["pictures", "sensitivity", "noise", "epsilon"], dropna=False):
        w = np.stack(rows["loading"]).T
        gram = w.T @ w
        assert w.shape == (SIDE**2, 10) and np.all(np.diff(np.diag(gram)) <= 1e-12 * gram.trace())
        assert gram - np.diag(np.diag(gram)) == pytest.approx(np.zeros((10, 10)), abs=1e-9 * gram.trace())
        assert (w.sum(axis=0) >= 0).all()
