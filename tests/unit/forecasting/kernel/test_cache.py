"""Fits do not depend on what was compiled when: not on a full, an empty or a partial cache of Numba."""

import importlib
import os
import pkgutil
import subprocess
import sys

from numba.core.dispatcher import Dispatcher

import meterdp
from tests.conftest import ROOT

# The starts of a fit, which are made of many functions. The likelihood would take a quarter of a minute to compile;
# the test below holds its parts to what makes these alike.
_SCRIPT = """
import numpy as np
from meterdp.forecasting.kernel.search import start_points
walks = (np.random.default_rng(n).standard_normal((2, n)) for n in range(700, 1500, 40))
z = np.array([start_points(level.cumsum() * 0.2 + noise, 2, 1, 3, 0.9999) for level, noise in walks])
print(z.tobytes().hex())
"""


def run(cache):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.check_output([sys.executable, "-c", _SCRIPT], env=environment, cwd=ROOT)


def test_an_empty_a_full_and_a_partial_cache_count_alike(tmp_path):
    """To the last bit, or the shard whose process compiles would have other fits than the rest."""
    compiled_here, cached = run(tmp_path), run(tmp_path)
    assert compiled_here == cached
    # As after a job that was killed while it compiled, or two that compiled at once.
    lost = [
        path
        for name in ("_estimates", "_autocovariances", "_levinson")
        for path in tmp_path.rglob(f"search.{name}-*")
    ]
    assert len(lost) >= 6, "an index and a copy of each"
    for path in lost:
        path.unlink()
    assert run(tmp_path) == compiled_here


def test_what_may_be_summed_in_any_order_has_one_compiled_copy():
    """Numba keeps copies of a function in its callers, optimised anew there, and takes the one it meets first."""
    names = [m.name for m in pkgutil.walk_packages(meterdp.__path__, "meterdp.") if not m.name.endswith("__main__")]
    compiled = {
        value
        for name in names
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, Dispatcher) and value.py_func.__module__.startswith("meterdp.")
    }
    fast = {f for f in compiled if f.targetoptions.get("fastmath")}
    assert "kalman" in {f.__name__ for f in fast}
    assert [f.__name__ for f in fast if f.targetoptions.get("inline") != "always"] == []
