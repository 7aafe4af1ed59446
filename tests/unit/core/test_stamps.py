"""Local text of stamps: the offset is there, so no two instants read the same."""

import numpy as np
import pyarrow as pa

from meterdp.core.stamps import local_text, utc_column


def test_a_repeated_local_hour_reads_differently():
    stamps = np.datetime64("2018-10-28T00:30", "us") + np.arange(3) * np.timedelta64(1, "h")
    assert local_text(stamps, "Europe/Zurich") == [
        "2018-10-28T02:30:00+02:00",
        "2018-10-28T02:30:00+01:00",
        "2018-10-28T03:30:00+01:00",
    ]


def test_a_skipped_local_hour_does_not_appear():
    stamps = np.datetime64("2019-03-31T00:45", "us") + np.arange(2) * np.timedelta64(15, "m")
    assert local_text(stamps, "Europe/Zurich") == ["2019-03-31T01:45:00+01:00", "2019-03-31T03:00:00+02:00"]


def test_utc_columns_know_their_zone():
    column = utc_column(np.array(["2019-03-31T00:45"], "datetime64[s]"))
    assert column.type == pa.timestamp("us", tz="UTC")
    assert column[0].as_py().isoformat() == "2019-03-31T00:45:00+00:00"
