"""Synthetic profiles of a study: keyed, clipped, truthful columns; fidelity rows beside the real yardstick."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import as_arrow, read_table, write_table
from meterdp.errors import InputError
from meterdp.evaluation import fidelity as fidelity_study
from meterdp.evaluation.fidelity import (
    MEASURES,
    matched_agreement,
    most_probable_class,
    prediction_r2,
    study_fidelity,
)
from meterdp.evaluation.tables import FIDELITY
from meterdp.mechanisms.proven.marginals import statistics_of
from meterdp.mechanisms.tables import VARIANT
from meterdp.mixture.draws import Mixture, sample
from meterdp.mixture.study import fit_from, mixture_rows, start_labels
from meterdp.mixture.tables import MIXTURE
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records
from meterdp.publish.tables import SYNTHETIC_PROFILES
from meterdp.release.synthetic import (
    Source,
    fit_source,
    guarantee_sentence,
    released_source,
    synthetic_columns,
    synthetic_log_kwh,
)

SCALE = LogScale(0.01, 100)
SETTINGS = {"classes": 2}
DISTRIBUTION = Mixture(
    np.array([0.6, 0.4]),
    np.array([[-2.0, -1.5, -1.0, -1.2], [0.5, 0.0, 0.5, 1.0]]),
    np.array([0.3 * np.eye(4) + 0.2, 0.2 * np.eye(4) + 0.1]),
)
# Energies of the upper half are made rarer; 4 hours.
TILT = [0.0] * 16 + [0.8] + [0.0] * (statistics_of(4) - 17)
SAMPLE_MEASURES = {m for m in MEASURES if m not in ("class_agreement", "density_tv", "density_kl", "pinsker_bound")}


def made_up_records(n=401, seed=1) -> Records:
    x, _ = sample(DISTRIBUTION, n, StudyNoise(seed, "made-up records"))
    valid = np.arange(n) % 20 != 3
    return Records(np.arange(n, dtype=np.int32), np.where(valid[:, None], x, np.log(0.5)), valid)


@pytest.fixture(scope="module")
def records():
    return made_up_records()


@pytest.fixture(scope="module")
def sources(records):
    fit = fit_from(records, start_labels(records, 2, seed=1))
    far = Mixture(DISTRIBUTION.weights, DISTRIBUTION.means + 1.5, DISTRIBUTION.covariances)
    listed = [
        fit_source(as_arrow(MIXTURE, mixture_rows(fit))),
        Source("close", "sound", 2.0, DISTRIBUTION),
        Source("far", "published", 2.0, far),
    ]
    return [(s, synthetic_log_kwh(s, int(records.valid.sum()), SCALE, 7)) for s in listed]


@pytest.fixture(scope="module")
def table(records, sources):
    return as_arrow(FIDELITY, pd.DataFrame(study_fidelity(records, sources, SCALE, SETTINGS, 7))).to_pandas()


def value(table, source, measure):
    return table[(table["source"] == source) & (table["measure"] == measure)]["value"].item()


# --- synthetic profiles ---------------------------------------------------------------------------------------------


def variant_table():
    rows = [
        (
            "sound",
            "sound",
            epsilon,
            1e-5,
            k + 1,
            DISTRIBUTION.weights[k],
            DISTRIBUTION.means[k] + epsilon,
            DISTRIBUTION.covariances[k].ravel(),
            TILT,
        )
        for epsilon in (1.0, 2.0)
        for k in (1, 0)
    ]
    return as_arrow(VARIANT, dict(zip([c.name for c in VARIANT.columns], zip(*rows, strict=True), strict=True)))


def test_the_mixture_of_a_variant_is_the_one_at_the_asked_epsilon_in_order_of_components():
    source = released_source(variant_table(), 2)
    assert (source.name, source.family, source.epsilon) == ("sound", "sound", 2.0)
    np.testing.assert_array_equal(source.mixture.weights, DISTRIBUTION.weights)
    np.testing.assert_array_equal(source.mixture.means, DISTRIBUTION.means + 2)
    np.testing.assert_array_equal(source.mixture.covariances, DISTRIBUTION.covariances)
    assert source.marginal_exponents == tuple(TILT)
    with pytest.raises(InputError, match="has no draw at epsilon 3"):
        released_source(variant_table(), 3)


def test_synthetic_profiles_are_a_table_of_profiles_that_stand_for_nobody(tmp_path):
    path = tmp_path / "sound.parquet"
    x = synthetic_log_kwh(released_source(variant_table(), 2), 50, SCALE, 7)
    write_table(path, SYNTHETIC_PROFILES, synthetic_columns(x))
    records = Records.from_table(read_table(path, PROFILES))  # whatever reads profiles reads these
    np.testing.assert_array_equal(records.household, np.arange(1, 51))
    np.testing.assert_array_equal(records.log_kwh, x)
    assert records.valid.all()


def test_synthetic_profiles_repeat_and_every_stream_has_its_own_name():
    source = Source("sound", "sound", 2.0, DISTRIBUTION)
    first = synthetic_log_kwh(source, 50, SCALE, 7)
    assert np.array_equal(first, synthetic_log_kwh(source, 50, SCALE, 7))
    others = [
        Source("other", "sound", 2.0, DISTRIBUTION),
        Source("sound", "sound", 4.0, DISTRIBUTION),
        Source("fit", "none", None, DISTRIBUTION),
    ]
    drawn = [synthetic_log_kwh(other, 50, SCALE, 7) for other in others] + [synthetic_log_kwh(source, 50, SCALE, 8)]
    assert all(not np.array_equal(first, x) for x in drawn)


def test_synthetic_profiles_follow_the_mixture_and_are_clipped_like_real_ones():
    """Oracle: the Kolmogorov-Smirnov test of scipy against the distribution of the first hour; false alarm 1e-9."""
    x = synthetic_log_kwh(Source("close", "sound", 2.0, DISTRIBUTION), 5000, SCALE, 7)

    def distribution(t):
        deviations = np.sqrt(DISTRIBUTION.covariances[:, 0, 0])
        return sum(
            w * stats.norm.cdf(t, m, s)
            for w, m, s in zip(DISTRIBUTION.weights, DISTRIBUTION.means[:, 0], deviations, strict=True)
        )

    assert stats.kstest(x[:, 0], distribution).pvalue > 1e-9
    wild = synthetic_log_kwh(Source("wild", "published", 2.0, Mixture(*_wild())), 500, SCALE, 7)
    assert wild.min() == np.log(0.01) and wild.max() == np.log(100)


def _wild():
    return DISTRIBUTION.weights, DISTRIBUTION.means, 1e6 * DISTRIBUTION.covariances


def test_a_file_says_that_it_is_not_for_release_and_what_it_is():
    words = guarantee_sentence(Source("sound", "sound", 2.0, DISTRIBUTION))
    assert words.startswith("not for release") and "'sound'" in words and "epsilon 2," in words


# --- fidelity -------------------------------------------------------------------------------------------------------


def test_every_source_has_every_measure_that_means_something_for_it(table):
    found = table.groupby("source")["measure"].agg(set)
    assert found["real"] == (SAMPLE_MEASURES - {"augmented_r2"}) | {"class_agreement", "density_tv"}
    assert found["fit"] == SAMPLE_MEASURES
    assert found["close"] == found["far"] == set(MEASURES)
    hourly = table[table["measure"].isin(["ks_hour", "wasserstein_hour"])]
    assert hourly.groupby(["source", "measure"])["entry"].agg(list).map(lambda e: e == [0, 1, 2, 3]).all()
    assert table.loc[~table["measure"].isin(["ks_hour", "wasserstein_hour"]), "entry"].isna().all()
    assert np.isfinite(table["value"]).all()
    assert table.loc[table["source"].isin(["real", "fit"]), "epsilon"].isna().all()
    mean = table[(table["source"] == "far") & (table["measure"] == "ks_hour")]["value"].mean()
    assert value(table, "far", "ks_mean") == pytest.approx(mean)


def test_profiles_of_the_right_distribution_are_like_other_real_households_and_of_a_wrong_one_are_not(table):
    for measure in ("ks_mean", "sliced_wasserstein", "peak_wasserstein", "energy_wasserstein"):
        assert value(table, "close", measure) < 2 * value(table, "real", measure), measure
        assert value(table, "far", measure) > 5 * value(table, "real", measure), measure
    assert value(table, "far", "wasserstein_mean") == pytest.approx(1.5, abs=0.2)
    assert value(table, "far", "energy_mean_relative") == pytest.approx(np.exp(1.5) - 1, rel=0.3)
    assert value(table, "real", "prediction_r2") == pytest.approx(value(table, "close", "prediction_r2"), abs=0.05)
    assert value(table, "far", "density_tv") > value(table, "close", "density_tv")


def test_each_measure_is_taken_between_a_half_and_as_many_others(records, sources, table):
    """Oracle: the halves drawn again here and scikit-learn's score averaged over them."""
    real = records.log_kwh[records.valid]
    synthetic, scores, augmented = sources[1][1], [], []
    for split in range(fidelity_study.SPLITS):
        order = np.argsort(StudyNoise(7, "fidelity halves", split).uniform((len(real),)))
        test, other = order[: len(real) // 2], order[len(real) // 2 : 2 * (len(real) // 2)]
        assert not set(test) & set(other) and len(test) == len(other)
        scores.append(prediction_r2(synthetic[other], real[test]))
        augmented.append(prediction_r2(np.vstack([real[other], synthetic[other]]), real[test]))
    row = table[(table["source"] == "close") & (table["measure"] == "prediction_r2")].iloc[0]
    assert row["value"] == pytest.approx(np.mean(scores)) and row["se"] == pytest.approx(np.std(scores, ddof=1))
    assert value(table, "close", "augmented_r2") == pytest.approx(np.mean(augmented))


def test_classes_are_compared_with_those_of_the_fit_on_all_valid_households(records, sources, table):
    real, (fit, close) = records.log_kwh[records.valid], (sources[0][0], sources[1][0])
    expected = matched_agreement(most_probable_class(real, close.mixture), most_probable_class(real, fit.mixture))
    assert value(table, "close", "class_agreement") == expected > 0.9


def test_rows_of_one_source_do_not_depend_on_the_others(records, sources, table):
    alone = pd.DataFrame(study_fidelity(records, [sources[2], sources[0]], SCALE, SETTINGS, 7))
    for measure in ("ks_mean", "density_tv", "prediction_r2"):
        assert value(alone, "far", measure) == value(table, "far", measure)
        assert value(alone, "far", measure) != value(table, "close", measure)


@pytest.mark.parametrize("hours", [1, 2])
def test_short_profiles_and_few_households_leave_out_what_cannot_be_measured(records, hours):
    few = Records(records.household[:9], records.log_kwh[:9, :hours], records.valid[:9])
    distribution = Mixture(
        DISTRIBUTION.weights, DISTRIBUTION.means[:, :hours], DISTRIBUTION.covariances[:, :hours, :hours]
    )
    source = Source("fit", "none", None, distribution)
    drawn = [(source, synthetic_log_kwh(source, int(few.valid.sum()), SCALE, 7))]
    found = pd.DataFrame(study_fidelity(few, drawn, SCALE, SETTINGS | {"classes": 5}, 7))
    as_arrow(FIDELITY, found)
    assert not set(found["measure"]) & {"class_agreement", "density_tv"}, "four profiles a half for five classes"
    assert ("prediction_r2" in set(found["measure"])) == (hours > 1)
    assert ("correlation_rms" in set(found["measure"])) == (hours > 1)


def test_too_few_households_are_refused(records):
    few = Records(records.household[:3], records.log_kwh[:3], np.ones(3, bool))
    source = Source("fit", "none", None, DISTRIBUTION)
    with pytest.raises(InputError, match="too few households"):
        study_fidelity(few, [(source, few.log_kwh)], SCALE, SETTINGS, 7)
