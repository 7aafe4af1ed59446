"""The reference of ``import meterdp``: every public name with its docstring."""

from __future__ import annotations

import inspect
import re

import meterdp

_REQUESTS = re.compile(r"set_\w+_request")  # written by scikit-learn into every estimator, for its metadata routing


def public_api() -> str:
    """Return Markdown that documents every name in ``meterdp.__all__``."""
    names = [name for name in getattr(meterdp, "__all__", ()) if not name.startswith("__")]
    if not names:
        return "This version has no public names; what can be imported may change from one version to the next."
    return "\n".join(_entry(name) for name in names)


def _entry(name: str) -> str:
    is_class = inspect.isclass(getattr(meterdp, name))
    directive = f".. autoclass:: meterdp.{name}\n   :members:" if is_class else f".. autofunction:: meterdp.{name}"
    return f"## {name}\n\n```{{eval-rst}}\n{directive}\n```\n"


def skipped(app, what, name, member, skip, options) -> bool | None:
    """Leave out what scikit-learn adds to a class (Sphinx's event ``autodoc-skip-member``)."""
    return True if _REQUESTS.fullmatch(name) else None
