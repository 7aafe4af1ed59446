"""The public API: what is there, how it is called, that examples run, and that it costs nothing until it is used."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import meterdp

SIGNATURES = {
    "PrivateGaussianMixture": "(n_components=1, *, epsilon=1.0, delta=1e-05, bounds=None, adjacency='replace_one', "
    "n_samples_guess=None, max_iter=None, noise='safe', random_state=None, ledger=None, population=None, "
    "budget_period=None, days=None, time_zone=None, meters=None, records=None, cap_epsilon=4.0, cap_delta=1e-05)",
    "epsilon_for": "(mu, delta)",
    "fit_arma": "(readings, order=(6, 5), *, unit='log_kwh', bounds_kwh=None, mean='estimated', fit='likelihood', "
    "starts=9, max_iter=1000, threads=1)",
    "mu_for": "(epsilon, delta)",
    "privacy_curve": "(mean, covariance, other_mean, other_covariance, epsilon, *, direction='both')",
}
MEMBERS = {
    "PrivateGaussianMixture": {"fit", "fit_predict", "sample", "score_samples", "score", "predict", "predict_proba"},
    "ArmaFits": {"forecast", "forecast_std"},
    "DrawnGuarantee": {"for_release"},
    "FitGuarantee": set(),
}
MODULES = ("arma", "mixture", "privacy")


def signature(of) -> str:
    found = inspect.signature(of)
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


def test_nothing_else_is_public_and_signatures_stay():
    assert set(meterdp.__all__) == {*SIGNATURES, "__version__"} <= set(dir(meterdp))
    assert {name: signature(getattr(meterdp, name)) for name in SIGNATURES} == SIGNATURES
    assert re.fullmatch(r"\d+\.\d+\.\d+", meterdp.__version__)
    with pytest.raises(AttributeError, match="no attribute 'fit_ball'"):
        meterdp.fit_ball  # noqa: B018


def test_objects_offer_what_is_documented_and_no_more():
    from meterdp.api.arma import ArmaFits
    from meterdp.api.mixture import DrawnGuarantee, FitGuarantee

    for kind in (meterdp.PrivateGaussianMixture, ArmaFits, DrawnGuarantee, FitGuarantee):
        own = {name for name, value in vars(kind).items() if callable(value) or isinstance(value, property)}
        assert {name for name in own if not name.startswith("_")} == MEMBERS[kind.__name__], kind


def test_editors_see_the_same_names(repository):
    stub = ast.parse((repository / "src/meterdp/__init__.pyi").read_text())
    imported = {
        alias.asname: (node.module, alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {name: (getattr(meterdp, name).__module__, name) for name in SIGNATURES}
    assigned = {node.targets[0].id: node.value for node in stub.body if isinstance(node, ast.Assign)}
    assert ast.literal_eval(assigned["__all__"]) == meterdp.__all__
    assert (repository / "src/meterdp/py.typed").exists()


def test_importing_meterdp_loads_no_other_package():
    program = "import sys; before = set(sys.modules); import meterdp; meterdp.__version__, dir(meterdp)\n"
    program += "print(*{m.split('.')[0] for m in set(sys.modules) - before})"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    assert set(done.stdout.split()) - sys.stdlib_module_names == {"meterdp"}


def runtime() -> set[str]:
    """Distributions that `pip install meterdp` brings, as their metadata say."""
    found, left = set(), ["meterdp"]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            for needed in map(Requirement, requires(name) or ()):
                if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                    left.append(canonicalize_name(needed.name))
    return found


# Finds no package that `pip install meterdp` does not bring.
ALONE = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""


def without_extras(program, *words, cwd=None):
    """Run a program where the extras are not installed."""
    own = runtime()
    missing = {top for top, names in packages_distributions().items() if not own & {*map(canonicalize_name, names)}}
    assert {"numba", "yaml", "zmq", "pytest"} <= missing and not missing & {"numpy", "sklearn", "threadpoolctl"}
    words = [sys.executable, "-c", ALONE.format(missing=missing) + program, *words]
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd)


def test_what_is_private_loads_no_package_of_an_extra():
    """What the packages load that it stands on, such as psutil where it is there, is not of our making."""
    program = (
        "import sys, numpy, scipy, sklearn.base, pandas, pyarrow.parquet, opendp\n"
        "before = set(sys.modules); import meterdp\n"
        "meterdp.PrivateGaussianMixture, meterdp.mu_for, meterdp.epsilon_for, meterdp.privacy_curve\n"
        "print(*{m.split('.')[0] for m in set(sys.modules) - before})"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    foreign = set(done.stdout.split()) - sys.stdlib_module_names
    installed_by, own = packages_distributions(), runtime()
    assert "meterdp" in foreign
    assert {top for top in foreign if not own & {*map(canonicalize_name, installed_by.get(top, [top]))}} == set()


def test_the_library_works_without_the_extras(tmp_path):
    """Oracle of the curve, which numba compiles where it is there: the same call here."""
    done = without_extras(
        "import meterdp, numpy as np, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "kwh = np.random.default_rng(0).gamma(4, 0.1, (2000, 2))\n"
        "one = dict(population='a', budget_period='2025', days=('2025-01-06', '2025-02-02'), time_zone='UTC')\n"
        "for more in ({}, dict(ledger='ledger.sqlite', records='profiles', **one)):\n"
        "    fit = meterdp.PrivateGaussianMixture(2, epsilon=1, bounds=(0, 3), **more).fit(kwh)\n"
        "    print(fit.sample(10)[0].shape, fit.guarantee_.for_release)\n"
        "print(repr(meterdp.mu_for(meterdp.epsilon_for(0.5, 1e-5), 1e-5)))\n"
        "print(repr(meterdp.privacy_curve([0, 0], np.eye(2), [0.3, 1], np.diag([0.8, 0.9]), 1.0)))",
        cwd=tmp_path,
    )
    *fits, mu, delta = done.stdout.splitlines()
    assert done.returncode == 0 and fits == ["(10, 2) True"] * 2, done.stdout
    assert float(mu) == pytest.approx(0.5)
    compiled = meterdp.privacy_curve([0, 0], [[1, 0], [0, 1]], [0.3, 1], [[0.8, 0], [0, 0.9]], 1.0)
    assert float(delta) == pytest.approx(compiled, rel=1e-9)


@pytest.mark.parametrize(
    "program, package, extra",
    [
        ("import meterdp; meterdp.fit_arma([[0.1, 0.2]])", "numba", "study"),
        ("from meterdp.__main__ import main; sys.exit(main(['check', 'readings.csv']))", "yaml", "study"),
        ("from meterdp.__main__ import main; sys.exit(main(['node', '--new-keys', 'k', 'n']))", "zmq", "federated"),
    ],
)
def test_what_needs_an_extra_says_which(program, package, extra):
    done = without_extras(program)
    assert "cannot go on. t" not in done.stdout
    says = f"needs the package {package}, which is not installed; pip install 'meterdp[{extra}]'.\n"
    assert done.returncode == 1 and done.stdout.endswith(says), done.stdout


def test_every_name_can_be_looked_at_without_the_extras():
    done = without_extras(
        "import inspect, pydoc, meterdp\n"
        "from meterdp import *\n"
        "shown = pydoc.render_doc(meterdp, renderer=pydoc.plaintext)\n"
        "names = {name for name, _ in inspect.getmembers(meterdp)}\n"
        "print({*meterdp.__all__} <= names, hasattr(meterdp, 'fit_arma'), 'ARMA(p, q) to every meter' in shown)\n"
        "print(fit_arma.__name__, inspect.signature(fit_arma).parameters['order'].default)"
    )
    assert done.stdout.splitlines() == ["True True True", "fit_arma (6, 5)"], done.stdout


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings_run(module):
    result = doctest.testmod(import_module(f"meterdp.api.{module}"))
    assert result.attempted > 0 and result.failed == 0


def test_the_example_of_the_readme_runs(repository, capsys):
    """Those of the guide run in test_mixture.py."""
    readme = (repository / "README.md").read_text().split("## In Python")[1].split("\n## ")[0]
    (short,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert sum(map(bool, short.splitlines())) <= 5
    exec(compile(short, "README.md", "exec"), {})
    assert "(1, 1e-05)-differential privacy for one whole record" in capsys.readouterr().out


def test_the_library_draws_no_noise_and_makes_no_generator(repository):
    """Noise is drawn in meterdp.release; what is made here is post-processing of a release, or of a study's."""
    made = set()
    for path in (repository / "src/meterdp/api").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                made.add(ast.unparse(node.func).split(".")[-1])
    assert not made & {"SafeNoise", "default_rng", "RandomState", "add_gaussian", "release", "check_random_state"}
    assert {"FreshNumbers", "StudyNoise"} <= made, "the two of sample, so that the names are still those"
