"""The tools whose files can be written, by the name ``--as`` takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from meterdp.release.convert import gridlabd, opendss, pandapower, pypsa
from meterdp.release.convert.profiles import LoadProfiles


@dataclass(frozen=True)
class Tool:
    """One tool.

    Parameters
    ----------
    title : str
    files : callable
        Profiles -> contents by file name.
    how : str
        How to load them, in Markdown.
    """

    title: str
    files: Callable[[LoadProfiles], dict[str, bytes]]
    how: str


TOOLS = {
    "opendss": Tool("OpenDSS", opendss.files, opendss.HOW),
    "pypsa": Tool("PyPSA", pypsa.files, pypsa.HOW),
    "pandapower": Tool("pandapower", pandapower.files, pandapower.HOW),
    "gridlabd": Tool("GridLAB-D", gridlabd.files, gridlabd.HOW),
}
