"""meterdp: reproducible, differentially private smart-meter studies.

``__all__`` is what other people's code may use; docs/library.md is its guide. The rest is one package per idea
(docs/architecture.md), for the workflow.
"""

from importlib import import_module

__version__ = "0.1.0"
__all__ = ["PrivateGaussianMixture", "__version__", "epsilon_for", "fit_arma", "mu_for", "privacy_curve"]

# Loaded when first used, because Snakefiles import this package and a plan must not wait for SciPy. What editors know
# of it is in __init__.pyi.
_HOME = {
    "PrivateGaussianMixture": "mixture",
    "epsilon_for": "privacy",
    "fit_arma": "arma",
    "mu_for": "privacy",
    "privacy_curve": "privacy",
}


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.api.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
