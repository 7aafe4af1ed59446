"""What every forecaster of the comparison is given and has to give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from meterdp.core.log_scale import PLAIN, LogScale

if TYPE_CHECKING:  # figures read the words below, and a plan of the workflow must not load compiled code for them
    from meterdp.forecasting.rolling import Rolling
    from meterdp.profiles.dense import LogLoad

OWN = "household's own readings"
POOLED = "trained across homes, its privacy is not accounted for"


@dataclass(frozen=True)
class Task:
    """What to forecast.

    Parameters
    ----------
    load : LogLoad
        H households, T slots.
    rolling : Rolling
        Origins, steps and training windows.
    settings : mapping
        Section ``forecast`` of the configuration.
    threads : int
        Cores to use.
    scale : LogScale
        Of the load.
    """

    load: LogLoad
    rolling: Rolling
    settings: Mapping
    threads: int = 1
    scale: LogScale = PLAIN


class Forecaster(Protocol):
    """A kind of forecast.

    Attributes
    ----------
    label : str
        In figures and tables.
    looks_at : str
        :data:`OWN` if a forecast follows from the household's own readings and public settings, else :data:`POOLED`.
    """

    label: ClassVar[str]
    looks_at: ClassVar[str]

    def forecast(self, task: Task) -> np.ndarray:
        """Return (H, n, h) float64 in log kWh; NaN where there is none. Nothing at or after an origin may enter.

        Raises
        ------
        NotInstalled
            If an optional package is missing.
        """
        ...
