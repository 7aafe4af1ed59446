"""What a study says of the households it leaves out: nothing, unless it leaves out all of them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from meterdp.core.config import complete, load_schema
from meterdp.core.parquet import read_table, write_table
from meterdp.errors import InputError
from meterdp.ingest.tables import METERS
from meterdp.profiles.kept import refuse_nobody
from meterdp.profiles.quality import HOUSEHOLD_RULES
from meterdp.profiles.tables import PROFILES, QUALITY, QUALITY_SUMMARY


def table(**counts: int) -> pd.DataFrame:
    reasons = [reason for reason, count in counts.items() for _ in range(count)]
    return pd.DataFrame({"reason": reasons, "kept": [reason == "kept" for reason in reasons]})


def zeros(declared, n, **columns):
    """A table of n empty rows, except for some columns."""
    empty = {c.name: pa.array([None] * n, c.type) if c.nullable else None for c in declared.columns}
    for column in declared.columns:
        if pa.types.is_list(column.type):
            empty[column.name] = [[]] * n
        elif pa.types.is_string(column.type):
            empty[column.name] = [""] * n
        elif empty[column.name] is None:
            empty[column.name] = pa.array(np.zeros(n, np.int64)).cast(column.type)
    return empty | columns


@pytest.mark.parametrize("left_out", [0, 1, 11, 50, 99])
def test_no_log_tells_how_many_are_kept_not_even_roughly(repository, tmp_path, capfd, left_out):
    """The script of the workflow: the same words whether all, most, half or hardly any of the households are kept."""
    kept = np.arange(100) >= left_out
    reason = np.where(kept, "kept", "too_few_readings").tolist()
    write_table(tmp_path / "quality", QUALITY, zeros(QUALITY, 100, kept=kept, reason=reason))
    write_table(tmp_path / "meters", METERS, zeros(METERS, 100))
    write_table(tmp_path / "profiles", PROFILES, zeros(PROFILES, 100))
    config = complete({}, load_schema(repository / "workflow/schemas/config.schema.yaml"))

    class Inputs(SimpleNamespace):
        def __iter__(self):
            return iter(())

    snakemake = SimpleNamespace(
        input=Inputs(quality=[tmp_path / "quality"], meters=tmp_path / "meters", profiles=[tmp_path / "profiles"]),
        output=SimpleNamespace(
            **{name: tmp_path / f"{name}.out" for name in ("quality", "profiles", "summary", "hours")}
        ),
        params=SimpleNamespace(policies=config["quality"]["policies"], listed=False, profiles=config["profiles"]),
        log=[tmp_path / "gather.log"],
    )
    script = repository / "workflow/scripts/gather_profiles.py"
    exec(compile(script.read_text(), script, "exec"), {"snakemake": snakemake})
    assert (tmp_path / "gather.log").read_text() == "" and capfd.readouterr() == ("", "")
    rows = read_table(tmp_path / "summary.out", QUALITY_SUMMARY).to_pandas()
    assert rows.set_index("reason").loc["kept", "item_count"] == 100 - left_out


@pytest.mark.parametrize("reason", sorted(set(HOUSEHOLD_RULES) - {"kept"}))
def test_nobody_left_is_refused_with_the_reason(reason):
    refuse_nobody(table(kept=1, **{reason: 50}))
    with pytest.raises(InputError, match=f"leaves no household to study; .*{reason.replace('_', ' ')}"):
        refuse_nobody(table(**{reason: 50}))


def test_a_study_without_any_household_is_refused():
    with pytest.raises(InputError, match="leaves no household to study; there is none; export readings of homes"):
        refuse_nobody(table())
