"""``meterdp audit leaks`` does not tell what it looks for."""

import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.__main__ import main


def test_a_secret_that_is_a_file_name_is_found_and_not_printed(tmp_path, capsys):
    (tmp_path / "list.csv").write_text("meter_id\nNMI-64071-QX\n")
    for name in ("NMI-64071-QX.txt", "more/nmi-64071-qx/a.txt", "more/clean.txt"):
        (tmp_path / "release" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "release" / name).write_text("NMI-64071-QX" if "clean" in name else "nothing")
    pq.write_table(pa.table({"nmi-64071-qx": ["NMI-64071-QX"]}), tmp_path / "release/columns.parquet")
    assert main(["audit", "leaks", str(tmp_path / "release"), "--meters", str(tmp_path / "list.csv")]) == 1
    said = capsys.readouterr().out
    assert "64071" not in said
    folder, meter = tmp_path / "release", "meter 1 of the list"
    assert f"{meter}: a file with a secret in its name, in {folder}/., name of the file\n" in said
    assert f"{meter}: a file with a secret in its name, in {folder}/more, name of the file\n" in said
    assert f"{meter}: more/clean.txt, text\n" in said and f"{meter}: columns.parquet, footer\n" in said
    assert f"{meter}: columns.parquet, a part with a secret in its name\n" in said
