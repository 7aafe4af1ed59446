"""The records of feeder totals, read from the log load of shards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.feeders.window import Window
from meterdp.profiles.dense import read_log_load


def listed_records(paths: Iterable, households: int, window: Window, config: Mapping) -> np.ndarray:
    """Return the records of all listed meters, (N, T) float64 kWh, NaN where there is no usable reading.

    Whether a meter's readings are usable is what the public rules of section ``quality`` say of that meter.

    Parameters
    ----------
    paths : iterable of path
        Parts of the table ``log_load``.
    households : int
        N.
    window : Window
    config : mapping
        The whole configuration.
    """
    minutes, zone = config["export"]["interval_minutes"], config["export"]["time_zone"]
    scale = LogScale.of_interval(config["profiles"], minutes)
    out = np.full((households, window.record_days * window.intervals_per_day), np.nan)
    for path in paths:
        load = read_log_load([path], np.arange(households), minutes, zone)
        out[load.household] = window.records(load, minutes, scale)
    return out
