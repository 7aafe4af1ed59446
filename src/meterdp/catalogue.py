"""Every declared table by name, for the documentation, the tests and adapters that join parts."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from meterdp.audit import tables as audit
from meterdp.class_noise import tables as classnoise
from meterdp.consumption import tables as consumption
from meterdp.core.tables import Table
from meterdp.evaluation import tables as evaluation
from meterdp.federated import tables as distributed
from meterdp.federated.node import tables as node
from meterdp.feeders import tables as feeders
from meterdp.forecasting import tables as forecasting
from meterdp.groupforecast import tables as groupforecast
from meterdp.households import tables as households
from meterdp.ingest import tables as exports
from meterdp.mechanisms import tables as mechanisms
from meterdp.mixture import tables as mixture
from meterdp.profiles import tables as profiles
from meterdp.publish import tables as release

# In the order in which data flows; a package with tables is a line here.
STUDY = (
    exports,
    profiles,
    households,
    mixture,
    consumption,
    mechanisms,
    forecasting,
    classnoise,
    groupforecast,
    feeders,
    release,
    evaluation,
)
# Of a study whose mixture is fitted over circuits, too.
FEDERATED = (distributed,)
# Of targets beside the study.
BESIDE = (node, audit)


def study_tables(federated: bool = False) -> dict[str, Table]:
    """Return every table of a study by name, those of the audit left out."""
    return tables_of((*STUDY, *FEDERATED) if federated else STUDY)


def catalogue() -> dict[str, Table]:
    """Return every declared table by name."""
    return tables_of((*STUDY, *FEDERATED, *BESIDE))


def tables_of(modules: Iterable[ModuleType]) -> dict[str, Table]:
    """Return the tables that modules declare, by name; two of one name are refused."""
    tables: dict[str, Table] = {}
    for module in modules:
        for table in vars(module).values():
            if isinstance(table, Table):
                if tables.setdefault(table.name, table) is not table:
                    raise ValueError(f"two tables are called {table.name}")
    return tables
