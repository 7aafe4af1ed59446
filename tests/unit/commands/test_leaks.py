"""``meterdp audit leaks`` does not tell what it looks for."""

from meterdp.__main__ import main


def test_a_secret_that_is_a_file_name_is_found_and_not_printed(tmp_path, capsys):
    (tmp_path / "list.csv").write_text("meter_id\nNMI-64071-QX\n")
    (tmp_path / "release").mkdir()
    (tmp_path / "release/NMI-64071-QX.txt").write_text("nothing")
    assert main(["audit", "leaks", str(tmp_path / "release"), "--meters", str(tmp_path / "list.csv")]) == 1
    said = capsys.readouterr().out
    assert "[secret].txt" in said and "NMI-64071-QX" not in said
