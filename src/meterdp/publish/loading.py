"""How to load the files of a released folder in Python, and what every column of its tables means."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.publish.kinds import kind_of

# As in pyproject.toml.
HOMEPAGE = "https://github.com/meterdp/meterdp"
_CODE = {
    "mixture": """import numpy as np
import pandas as pd

profiles = np.stack(pd.read_parquet("synthetic_profiles.parquet")["energy_kwh"])
print(profiles.mean(axis=0))  # mean kWh of each hour
mixture = pd.read_parquet("mixture.parquet")
mean_log_kwh = np.stack(mixture["mean_log_kwh"])  # a row for each component
covariance = np.stack(mixture["covariance"]).reshape(*mean_log_kwh.shape, -1)
rng = np.random.default_rng()
components = rng.choice(len(mixture), 1000, p=mixture["weight"])
y = np.array([rng.multivariate_normal(mean_log_kwh[k], covariance[k]) for k in components])
kwh = np.clip(KWH)  # 1,000 profiles of the mixture""",
    "households": """import pandas as pd

readings = pd.read_parquet("household_readings.parquet")
kwh = readings.pivot(index="interval_start_utc", columns="household", values="energy_kwh")
stratum = pd.read_parquet("household_vectors.parquet").set_index("household")["stratum"].loc[kwh.columns]
# Other households, or another year: meterdp households draw . --n 1000 --year 2027 --to ../more.parquet""",
    "forecasts": """import pandas as pd

forecasts = pd.read_parquet("forecasts.parquet")
recipients = pd.read_parquet("recipients.parquet")  # which forecast each random name has
of_first = forecasts[forecasts["forecast"] == recipients["forecast"][0]]""",
    "feeders": """import pandas as pd

totals = pd.read_parquet("feeders.parquet")
wh = totals.pivot(
    index="data_collection_log_timestamp", columns="dataset_id", values="total_consumption_active_import"
)
error_wh = pd.read_parquet("feeder_errors.parquet").set_index("dataset_id")["standard_error_wh"]""",
}


def code_of(files: Mapping[str, bytes]) -> str:
    """Return lines of Python that load the files."""
    code = _CODE[kind_of(files)]
    if "KWH" in code:
        scale = json.loads(files["mixture.json"])["log_scale"]
        of_y = scale["kwh"].removeprefix("x = ").removesuffix(", clipped after").replace("ln(", "log(")
        bounds = (f"{bound:g}" for bound in scale["clipped_to_kwh"])
        code = code.replace("KWH", ", ".join([re.sub(r"(exp|sinh|log)\(", r"np.\1(", of_y), *bounds]))
    return code


def columns_of(files: Mapping[str, bytes]) -> list[tuple[str, str, str, str]]:
    """Return file, column, unit and meaning of every column."""
    rows = []
    for name in sorted(name for name in files if name.endswith(".parquet")):
        for column in pq.read_schema(pa.BufferReader(files[name])):
            said = {key.decode(): text.decode() for key, text in (column.metadata or {}).items()}
            unit = said.get("unit", "")
            rows.append((name, column.name, "" if unit == "1" else unit, said.get("description", "")))
    return rows


def how_to_load(files: Mapping[str, bytes]) -> str:
    """Return both as a section of a README."""
    rows = (f"| `{name}` | `{column}` | {unit} | {meaning} |\n" for name, column, unit, meaning in columns_of(files))
    return (
        f"\n## How to load it\n\nIn Python, with pandas and pyarrow:\n\n```python\n{code_of(files)}\n```\n\n"
        f"Commands that begin with `meterdp` need that program: {HOMEPAGE}\n\n"
        f"| file | column | unit | meaning |\n| --- | --- | --- | --- |\n{''.join(rows)}"
    )
