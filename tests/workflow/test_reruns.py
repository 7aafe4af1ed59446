"""Killed runs finish when started again."""

import pyarrow.parquet as pq
import pytest

from tests.workflow.conftest import TINY

SMALL = {**TINY, "simulate": {"households": 90, "circuits": 3, "days": 16}}


@pytest.mark.parametrize(
    "moment", ["private/logs/simulate.log", "private/logs/ingest.log", "private/profiles/part-000.parquet"]
)
def test_a_killed_run_is_finished_by_the_next(runner, moment):
    runner.kill_when(SMALL, runner.folder / "results" / moment, "--until", "gather_profiles")
    runner.run(SMALL, "--unlock")
    done = runner.run(SMALL, "--until", "gather_profiles", "--rerun-incomplete")
    assert done.returncode == 0, done.stdout[-3000:]
    table = pq.read_table(runner.folder / "results/private/profiles.parquet")
    assert table.num_rows == SMALL["simulate"]["households"]
    assert [p.name for p in (runner.folder / "results").rglob("*.part")] == [], "half-written files were left"
