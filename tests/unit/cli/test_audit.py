"""``meterdp audit show``: the table of an audit in words; the exit code says whether it came out as expected."""

import pytest

from meterdp.__main__ import main
from meterdp.audit.tables import AUDIT
from meterdp.core.parquet import write_table
from meterdp.core.tables import FLAG, TEXT


def written(folder, *rows):
    write_table(folder / "audit.parquet", AUDIT, {name: [row[name] for row in rows] for name in rows[0]})


def rows():
    """A mechanism that holds, and the same without noise."""
    found = {column.name: {TEXT: "some", FLAG: True}.get(column.type, 1) for column in AUDIT.columns}
    found |= {"mechanism": "sound", "epsilon_claimed": 4.0}
    holds = {"mutant": None, "expected": "holds", "exceeded": "none", "epsilon_lower": 3.17}
    caught = {"mutant": "no noise", "expected": "caught", "exceeded": "both", "epsilon_lower": 6.25}
    return found | holds, found | caught


@pytest.mark.parametrize("holds", [True, False])
def test_lower_bounds_stand_beside_claims(tmp_path, capsys, holds):
    good, mutant = rows()
    written(tmp_path, good, mutant | {"as_expected": holds})
    assert main(["audit", "show", str(tmp_path)]) == int(not holds)
    _, first, second, _, last = capsys.readouterr().out.splitlines()
    assert first.split() == ["sound", "4", "3.17", "holds", "none", "some", "some", "some"]
    assert second.split() == ["sound", "4", "6.25", "caught", "both", "some", "some", "no", "noise"]
    assert last == f"2 rows, {int(not holds)} not as expected."


def test_no_audit_is_one_sentence(tmp_path, capsys):
    assert main(["audit", "show", str(tmp_path)]) == 1
    assert "audit.parquet: does not exist; run `make audit` first" in capsys.readouterr().err
