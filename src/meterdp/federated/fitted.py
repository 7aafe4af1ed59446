"""A mixture that circuits fitted, as the rules after it read it."""

from __future__ import annotations

from collections.abc import Sequence

from meterdp.core.parquet import read_table
from meterdp.federated.tables import FEDERATED_MIXTURE
from meterdp.mixture.draws import Mixture
from meterdp.mixture.study import mixture_of


def read_fitted(paths: str | Sequence[str]) -> tuple[Mixture | None, Mixture | None]:
    """Return the start and the fit of the table ``federated_mixture``; neither where there is no file."""
    if not paths:
        return None, None
    classes = read_table(paths if isinstance(paths, str) else paths[0], FEDERATED_MIXTURE).to_pandas()
    start, fit = (mixture_of(classes[classes["stage"] == stage]) for stage in ("start", "fit"))
    return start, fit
