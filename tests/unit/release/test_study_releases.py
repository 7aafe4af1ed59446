"""Study-mode releases: seeded, keyed, marked, and drawn here only."""

import ast

import numpy as np
import pytest

from meterdp.core.parquet import as_arrow
from meterdp.evaluation import cost as cost_study
from meterdp.evaluation.cost import cost, vary
from meterdp.evaluation.tables import COST
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ALONE, Shares
from meterdp.mechanisms.registry import mechanism
from meterdp.mechanisms.tables import VARIANT
from meterdp.mixture.study import fit_from, start_labels
from meterdp.privacy import gaussian
from meterdp.profiles.vector import Records

MIXTURE = {"classes": 2}
PROFILES = {"clip_kwh_per_hour": [0.01, 100]}
MECHANISMS = {
    "epsilons": [1, 4],
    "delta": 1e-5,
    "sound": {"level_log_kwh": -1.2},
}


@pytest.fixture(scope="module")
def records():
    generator = np.random.default_rng(4)
    x = np.repeat([[-2.0] * 3, [1.0] * 3], [60, 40], axis=0) + 0.4 * generator.standard_normal((100, 3))
    return Records(np.arange(100, dtype=np.int32), x, np.ones(100, bool))


@pytest.fixture(scope="module")
def fit(records):
    return fit_from(records, start_labels(records, 2, seed=1))


@pytest.mark.parametrize("name", ["iid_laplace", "iid_gaussian", "kl_published", "sound"])
def test_a_mechanism_over_all_epsilons_fits_its_tables_and_repeats(records, fit, name):
    first, again, other = (vary(name, records, fit, MECHANISMS, MIXTURE, PROFILES, seed) for seed in (5, 5, 6))
    variant = as_arrow(VARIANT, first[0])
    costs = as_arrow(COST, first[1]).to_pandas()
    assert variant.equals(as_arrow(VARIANT, again[0])) and not variant.equals(as_arrow(VARIANT, other[0]))
    assert costs["epsilon"].tolist() == [1, 4] and variant.num_rows == 4
    assert costs["kl_mean"][0] > costs["kl_mean"][1] > 0


def test_the_draws_of_one_epsilon_do_not_depend_on_the_others(records, fit):
    both = vary("sound", records, fit, MECHANISMS, MIXTURE, PROFILES, 5)[0]
    one = vary("sound", records, fit, {**MECHANISMS, "epsilons": [4]}, MIXTURE, PROFILES, 5)[0]
    assert both["mean_log_kwh"][2:] == one["mean_log_kwh"]


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(cost_study, "DRAWS", 8)


@pytest.mark.parametrize(("most", "draws"), [(None, 8), (3, 3), (20, 8)])
def test_a_study_averages_over_no_more_draws_than_a_mechanism_allows(records, fit, monkeypatch, most, draws):
    monkeypatch.setattr(mechanism("sound"), "most_draws", most)
    asked = []
    monkeypatch.setattr(cost_study, "cost", lambda *given: asked.append(given[-1]) or cost(*given))
    vary("sound", records, fit, {**MECHANISMS, "epsilons": [4]}, MIXTURE, PROFILES, 5)
    assert asked == [draws]


def test_random_sources_are_made_in_release_and_simulate_only(repository):
    """Noise is drawn in one place: no other package makes a generator or asks numpy or the system for numbers.

    Masks of sums over nodes come from a generator that a simulation is handed, or between real nodes from the
    system, in one place. A ledger makes its key. Beside it a public order of activations and the masks of an attack
    are made from fixed keys. Readings are drawn from released vectors by keyed streams, and a scorecard forms groups.
    Reproductions of papers make data that stand for private data sets.
    """
    allowed = {"core/noise", "privacy/noise", "privacy/ledger_file"}
    allowed |= {"audit/cases/shared_noise", "federated/node/messages"}
    allowed |= {"households/generate", "households/score"}
    allowed = {f"meterdp/{name}.py" for name in allowed}
    allowed |= {f"meterdp_papers/{name}.py" for name in ("common/datasets", "li/pdmm")}
    makers = {
        "default_rng",
        "RandomState",
        "Generator",
        "SeedSequence",
        "keyed_generator",
        "token_hex",
        "token_bytes",
        "urandom",
        "discrete_gaussian",
        "make_gaussian",
        "make_randomized_response",
    }
    found = set()
    for path in (repository / "src").rglob("*.py"):
        relative = path.relative_to(repository / "src").as_posix()
        source = path.read_text()
        if not any(name in source for name in makers):
            continue
        tree = ast.parse(source)
        told = [getattr(node, "annotation", None) for node in ast.walk(tree)]
        types = {id(part) for annotation in told if annotation for part in ast.walk(annotation)}
        for node in ast.walk(tree):
            if id(node) in types:
                continue
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
            if name in makers and not relative.startswith("meterdp/simulate/"):
                found.add(relative)
    assert found <= allowed, found - allowed


def test_a_study_over_circuits_releases_with_the_noise_they_would_make_together(records, fit):
    """What is released has h of n parts of mu^2, and only the sound mechanism is another one."""
    shares = Shares(12, 3, 9)
    public = public_settings(1.0, 1e-5, records.log_kwh.shape, MECHANISMS, MIXTURE, PROFILES, shares=shares)
    plan = Proven.calibrate(public).plan
    spent = sum((step.sensitivity / step.noise_std) ** 2 for step in plan.steps)
    assert spent == pytest.approx(gaussian.mu_for(1.0, 1e-5) ** 2 * 3 / 12)
    for name, same in (("kl_published", True), ("sound", False)):
        alone, shared = (
            vary(name, records, fit, {**MECHANISMS, "epsilons": [4]}, MIXTURE, PROFILES, 5, shares=of)
            for of in (ALONE, shares)
        )
        assert (alone[0]["mean_log_kwh"] == shared[0]["mean_log_kwh"]) == same
        assert (alone[1]["loglik_gap_mean"][0] < shared[1]["loglik_gap_mean"][0]) != same
