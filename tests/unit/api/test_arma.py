"""ARMA fits of the public API: statsmodels' likelihood and forecasts, and the workflow's own fits."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from statsmodels.tsa.statespace.sarimax import SARIMAX

import meterdp
from meterdp.core.config import complete, load_schema
from meterdp.forecasting.arma import ArmaSettings, fit_households
from meterdp.forecasting.settings import studied
from tests.unit.forecasting.processes import process, simulate

ORDER = (2, 1)
SERIES = np.array([simulate(process("arma21"), 300, np.random.default_rng(seed)) for seed in range(3)])
SERIES[1, 40:47] = np.nan


@pytest.fixture(scope="module")
def fits():
    return meterdp.fit_arma(SERIES, ORDER)


def test_likelihood_and_forecasts_are_those_of_statsmodels(fits):
    """Oracle: its state space model at our parameters, and its own search, which must not end higher."""
    ahead, std = fits.forecast(5), fits.forecast_std(5)
    assert fits.status.tolist() == ["arma"] * 3 and fits.readings_used.tolist() == [300, 293, 300]
    for i, row in enumerate(SERIES):
        model = SARIMAX(row - fits.mean[i], order=(2, 0, 1))
        there = model.smooth(np.concatenate([fits.ar[i], fits.ma[i], [fits.sigma2[i]]]))
        assert fits.log_likelihood[i] == pytest.approx(there.llf, abs=1e-3)
        future = there.get_forecast(5)
        assert ahead[i] == pytest.approx(fits.mean[i] + future.predicted_mean, abs=1e-6)
        assert std[i] == pytest.approx(future.se_mean, rel=1e-6)
        assert model.fit(disp=0).llf <= fits.log_likelihood[i] + 1e-2


def test_the_mean_is_that_of_the_sample_as_documented(fits):
    """And not the one of largest likelihood."""
    assert np.array_equal(fits.mean, np.nanmean(SERIES, axis=1))


def test_fits_are_those_of_the_workflow(repository):
    """With its settings for a forecast; the season is the caller's."""
    config = studied(complete({}, load_schema(repository / "workflow/schemas/config.schema.yaml"))["forecast"])
    settings = ArmaSettings.from_config(config | {"ar_order": 2, "ma_order": 1})
    choices = {"mean": config["mean"], "fit": config["fit"], "starts": config["starts"]}
    ours = meterdp.fit_arma(SERIES, ORDER, **choices, max_iter=config["max_iterations"], threads=2)
    for i, theirs in enumerate(fit_households(SERIES, settings)):
        assert ours.status[i] == theirs.status
        assert ours.ar[i] == pytest.approx(theirs.ar, rel=1e-9) and ours.ma[i] == pytest.approx(theirs.ma, rel=1e-9)
        assert ours.log_likelihood[i] == pytest.approx(theirs.log_likelihood, rel=1e-12)


KWH = np.exp(SERIES[:, :100] - 1)


@pytest.mark.parametrize(
    ("readings", "warned"),
    [
        (KWH, "field 'unit': .* look like energies"),
        (1000 * KWH, "field 'unit': .* look like energies"),
        (pd.DataFrame(KWH.T), "field 'unit': .* look like energies"),
        (np.log(KWH).T, r"field 'readings': .* these are 100 meters with 3 readings each; transpose"),
        (np.log(KWH), None),
        (np.log(1000 * KWH), None),  # of watt-hours
        (pd.DataFrame(np.log(KWH)), None),  # 100 meters, as its columns say
        (0 * KWH, None),
    ],
)
def test_energies_as_logs_and_an_array_the_other_way_round_bring_a_warning(readings, warned):
    """Both were fitted without a word."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        meterdp.fit_arma(readings, (1, 0), starts=1)
        assert [one.filename for one in said] == [__file__] * (warned is not None)
    assert warned is None or re.match(warned, str(said[0].message))


def test_energies_in_their_unit_bring_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meterdp.fit_arma(KWH, (1, 0), unit="kwh", bounds_kwh=(0.01, 100), starts=1)


HOURS = pd.date_range("2025-03-01", periods=700, freq="h", tz="Europe/London")  # a clock change is among them
TABLE = pd.DataFrame({"north": simulate(process("arma21"), 700, np.random.default_rng(7))}, HOURS)


@pytest.mark.parametrize(
    "index",
    [HOURS, HOURS.tz_convert(None), HOURS.tz_convert(None).to_period("h"), HOURS - HOURS[0], range(700, 0, -1)],
)
def test_an_index_in_order_changes_nothing(index):
    by_number = meterdp.fit_arma(TABLE.to_numpy().T, (1, 0))
    assert np.array_equal(meterdp.fit_arma(TABLE.set_axis(index), (1, 0)).ar, by_number.ar)


@pytest.mark.parametrize(
    "disorder",
    [
        lambda table: table.sample(frac=1, random_state=0),
        lambda table: table[::-1],
        lambda table: pd.concat([table, table]).sort_index(),
        lambda table: table.drop(table.index[100:110]),
        lambda table: table.tz_localize(None),
        lambda table: table.set_axis(table.index.where(table.index != table.index[5])),
        lambda table: table.set_axis(table.index - table.index[0])[::-1],
    ],
    ids=["shuffled", "backwards", "twice", "a gap", "local times", "a missing time", "durations"],
)
def test_an_index_of_times_that_is_not_in_order_is_refused(disorder):
    """What it says of the order would be believed, and every coefficient be wrong."""
    with pytest.raises(ValueError, match=r"^field 'readings': have an index of times that does not increase"):
        meterdp.fit_arma(disorder(TABLE), (1, 0))
    # With NaN where readings are missing a gap is none.
    whole = TABLE.drop(HOURS[100:110]).asfreq("h")
    assert meterdp.fit_arma(whole, (1, 0)).readings_used.tolist() == [690]


def test_a_table_of_energies_is_its_logs_by_meter(fits):
    """kWh of a DataFrame, one column a meter, are fitted as logs and forecast as medians, within the bounds."""
    frame = pd.DataFrame(np.exp(SERIES.T), columns=["north", "south", "east"])
    bounds = (np.exp(np.nanmin(SERIES)), np.exp(np.nanmax(SERIES)))
    found = meterdp.fit_arma(frame, ORDER, unit="kwh", bounds_kwh=bounds)
    assert found.meters == ("north", "south", "east") and fits.meters == (0, 1, 2)
    assert found.ar == pytest.approx(fits.ar, abs=1e-6)
    assert found.forecast(4) == pytest.approx(np.exp(fits.forecast(4)), rel=1e-6)
    tight = meterdp.fit_arma(frame, ORDER, unit="kwh", bounds_kwh=(0.9, 1.1)).forecast(4)
    assert tight.min() >= 0.9 and tight.max() <= 1.1
    frame.iloc[3, 0] = 0.0
    assert meterdp.fit_arma(frame, ORDER, unit="kwh", bounds_kwh=bounds).readings_used[0] == 300


def test_what_has_no_process_is_a_mean_and_says_so(fits):
    rows = np.array([np.full(300, 2.5), np.full(300, np.nan)])
    found = meterdp.fit_arma(rows, ORDER)
    assert found.status.tolist() == ["white", "white"] and found.ar.shape == (2, 2) and not found.ar.any()
    assert found.forecast(2)[0] == pytest.approx([2.5, 2.5])
    in_kwh = meterdp.fit_arma(np.exp(rows), ORDER, unit="kwh", bounds_kwh=(0.01, 100))
    for one in (found, in_kwh):  # nothing is known of the second
        assert one.readings_used[1] == 0 and np.isnan(one.mean[1])
        assert np.isnan(one.forecast(2)[1]).all() and np.isnan(one.forecast_std(2)[1]).all()
    assert repr(fits) == "ArmaFits(3 series, ARMA(2, 1))"


@pytest.mark.parametrize(
    ("field", "choice"),
    [
        ("readings", {"readings": SERIES[0]}),
        ("readings", {"readings": [["a", "b"]]}),
        ("readings", {"readings": np.empty((0, 5))}),
        ("order", {"order": (0, 0)}),
        ("order", {"order": (2.5, 1)}),
        ("order", {"order": 3}),
        ("unit", {"unit": "Wh"}),
        ("bounds_kwh", {"unit": "kwh"}),
        ("bounds_kwh", {"bounds_kwh": (0.1, 1)}),
        ("bounds_kwh", {"unit": "kwh", "bounds_kwh": (0, 1)}),
        ("bounds_kwh", {"unit": "kwh", "bounds_kwh": 5}),
        ("mean", {"mean": "none"}),
        ("fit", {"fit": "best"}),
        ("starts", {"starts": 0}),
        ("max_iter", {"max_iter": 0}),
        ("threads", {"threads": 0}),
    ],
)
def test_wrong_arguments_are_refused_by_name_with_a_hint(field, choice):
    with pytest.raises(ValueError, match=rf"^field '{field}': [^;]+; (use|give) [^;]+\.$"):
        meterdp.fit_arma(**{"readings": SERIES} | choice)


def test_a_forecast_of_no_steps_is_refused(fits):
    for steps in (0, 1.5):
        with pytest.raises(ValueError, match="field 'steps'"):
            fits.forecast(steps)
