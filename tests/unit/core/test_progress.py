"""Progress is told, and never a number that is private."""

import re

import numpy as np
import pytest

from meterdp.core.job import progress
from meterdp.forecasting import bulk
from meterdp.forecasting.arma import ArmaSettings


def test_numbers_are_told_where_they_are_public(capsys):
    assert list(progress(range(3), "trials", every_s=0.0)) == [0, 1, 2]
    assert re.findall(r"trials: (\d)/3 \(0 s\)", capsys.readouterr().err) == ["0", "1", "2"]


def test_tens_of_per_cent_are_told_where_they_are_not(capsys):
    assert list(progress(range(37), "fits", every_s=0.0, private=True)) == list(range(37))
    told = re.findall(r"fits: (.*) \(0 s\)", capsys.readouterr().err)
    assert told[0] == "0 %" and told[-1] == "90 %" and {int(t.split()[0]) % 10 for t in told} == {0}


@pytest.mark.parametrize("threads", [1, 2])
def test_fits_do_not_tell_how_many_households_are_kept(monkeypatch, capsys, threads):
    monkeypatch.setattr(bulk, "progress", lambda *given, **more: progress(*given, **more, every_s=0.0))
    rows = np.random.default_rng(1).normal(size=(23, 200))
    assert len(bulk.fit_households(rows, ArmaSettings(order=(1, 0), starts=1), threads)) == 23
    said = capsys.readouterr().err
    assert "ARMA fits: 90 %" in said and "23" not in re.sub(r"\(\d+ s\)", "", said)
