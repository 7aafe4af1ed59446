"""Tables the package ``evaluation`` writes: what privacy costs."""

from __future__ import annotations

from meterdp.core.tables import COUNT, INT, REAL, TEXT, Column, Table
from meterdp.mechanisms.tables import EPSILON, FAMILY, MECHANISM


def _optional(name: str, unit: str, description: str) -> Column:
    return Column(name, REAL, unit, description, nullable=True)


# Of more households a study measures costs and fidelity on so many, see :mod:`meterdp.evaluation.sample`.
MOST_HOUSEHOLDS = 3000
_HOUSEHOLDS = Column("household_count", COUNT, "households", "households averaged over")
_ORIGINS = Column("origin_count", COUNT, "1", "rolling origins per household; 1: judged at the last origin only")

COST = Table(
    "cost",
    "study",
    "What a mechanism costs at one epsilon: KL divergence to the fit over many draws.",
    (
        MECHANISM,
        FAMILY,
        EPSILON,
        Column("delta", REAL, "1", "privacy parameter"),
        Column("unit", TEXT, "", "unit of privacy: what one neighbour changes"),
        Column("adjacency", TEXT, "", "'label_flip', 'replace_one' or 'add_remove'"),
        Column("draw_count", COUNT, "1", "draws averaged over"),
        Column(
            "kl_reference",
            TEXT,
            "",
            "'fit', or 'own_classes': the fit under the draw's own responsibilities, regularised",
        ),
        Column("kl_mean", REAL, "nats", "mean of KL(released || reference) of the joint (x, y)"),
        Column("kl_se", REAL, "nats", "standard error of kl_mean"),
        Column("kl_q05", REAL, "nats", "5 % quantile over draws"),
        Column("kl_q25", REAL, "nats", "quartile over draws"),
        Column("kl_median", REAL, "nats", "median over draws"),
        Column("kl_q75", REAL, "nats", "quartile over draws"),
        Column("kl_q95", REAL, "nats", "95 % quantile over draws"),
        Column("kl_small_classes_mean", REAL, "nats", "part of kl_mean from classes below 5 d households"),
        Column(
            "loglik_gap_mean",
            REAL,
            "nats",
            "log-likelihood per household lost against the fit, on the records of the fit",
        ),
        Column("loglik_gap_se", REAL, "nats", "standard error of loglik_gap_mean"),
        Column("classes", COUNT, "1", "classes of the released mixture"),
        Column(
            "heldout_loglik_mean",
            REAL,
            "nats",
            "log-likelihood per household the mechanism has not seen, five folds; NaN where households are too few",
        ),
        Column(
            "heldout_gap_mean", REAL, "nats", "by how much the study's mixture, fitted to the same folds, is better"
        ),
        Column("heldout_gap_se", REAL, "nats", "standard error of heldout_gap_mean over folds"),
        Column(
            "heldout_gap_same_k_mean", REAL, "nats", "the same against a mixture of as many classes as the release"
        ),
        Column("projected_share", REAL, "1", "share of draws in which a covariance or weight had to be projected"),
        Column("mean_energy_kwh", REAL, "kWh", "energy of the average household in an hour of the profile"),
    ),
)


FIDELITY = Table(
    "fidelity",
    "study",
    "How close synthetic profiles come to real ones, beside real households against other real households.",
    (
        Column("source", TEXT, "", "'real' (other real households), 'fit' (no privacy) or the name of a mechanism"),
        Column("family", TEXT, "", "'published', 'exact' or 'sound'; 'none' for real households and the fit"),
        _optional("epsilon", "1", "privacy parameter; null for real households and the fit"),
        Column("measure", TEXT, "", "what is measured"),
        Column("entry", INT, "1", "hour of the profile, from 0; null for measures of whole profiles", nullable=True),
        Column("value", REAL, "per row", "value in the unit of the row"),
        Column("unit", TEXT, "", "unit of value and se, '1' when dimensionless"),
        _optional("se", "per row", "Monte Carlo standard error or deviation over halves: see note"),
        Column("note", TEXT, "", "what the measure is, and what se is"),
    ),
)


MARGINALS = Table(
    "marginals",
    "study",
    "How energy is distributed over households in every hour of the profile, real and synthetic.",
    (
        Column("source", TEXT, "", "'real', 'fit' (no privacy) or the name of a mechanism"),
        Column("family", TEXT, "", "'published', 'exact' or 'sound'; 'none' for real households and the fit"),
        _optional("epsilon", "1", "privacy parameter; null for real households and the fit"),
        Column("entry", INT, "1", "position in the profile vector, from 0"),
        Column("log_kwh", REAL, "log kWh", "left edge of a bin; all bins of an hour are of one width"),
        Column("density", REAL, "1/(log kWh)", "share of households in the bin over its width"),
    ),
)


_SUMS = (
    _optional("sum_kwh", "kWh", "sum of readings over households, mean over origins and steps; kWh rows alone"),
    _optional("sum_bias_kwh", "kWh", "sum of mean forecasts less that of readings, mean over origins and steps"),
    _optional("sum_rmse_kwh", "kWh", "root mean squared error of the sum of mean forecasts"),
)

FORECASTER_COMPARISON = Table(
    "forecaster_comparison",
    "study",
    "The study's forecast beside other forecasters, on the same households, origins and steps, without privacy.",
    (
        Column("forecaster", TEXT, "", "key of the registry; the first is the study's own"),
        Column("label", TEXT, "", "name for readers"),
        Column("looks_at", TEXT, "", "whose readings a forecast follows from"),
        Column("scale", TEXT, "", "'log_kwh' or 'kwh'"),
        _optional("mse", "scale^2", "mean squared error, mean over households"),
        _optional("mse_ratio", "1", "mse over that of the study's forecast"),
        _optional("mse_ratio_se", "1", "its standard error, paired over households"),
        _optional("mse_ratio_median", "1", "ratio of a household's two errors, median over households"),
        _optional("won_share", "1", "share of households with a smaller mse than the study's"),
        _optional("mae", "scale", "mean absolute error, mean over households"),
        _optional("mae_ratio", "1", "mae over that of the study's forecast"),
        _optional("mae_ratio_se", "1", "its standard error, paired over households"),
        _optional("mae_ratio_median", "1", "ratio of a household's two errors, median over households"),
        _optional("mae_won_share", "1", "share of households with a smaller mae than the study's"),
        _optional("mase", "1", "mae over that of yesterday's reading in training, mean over households"),
        _optional("crps_kwh", "kWh", "continuous ranked probability score, mean over households; null without one"),
        _optional("covered_50_share", "1", "readings in the distribution's central 50 %, mean over households"),
        _optional("covered_90_share", "1", "readings in its central 90 %, mean over households"),
        _optional("rmse_mean_kwh", "kWh", "root mean squared error of the mean forecast, over households"),
        *_SUMS,
        _optional("sum_of_medians_bias_kwh", "kWh", "sum of the medians less that of readings"),
        _HOUSEHOLDS,
        Column("origin_count", COUNT, "1", "rolling origins per household"),
    ),
)

GROUP_FORECAST_ERRORS = Table(
    "group_forecast_errors",
    "study",
    "Errors of the group forecast (replace_one) on the last days, beside own forecasts and public guesses.",
    (
        Column(
            "method",
            TEXT,
            "",
            "'group' (the files), 'scaled' (own level times the released shape); without protection 'own_mean' (the "
            "household's mean of the hour), 'own_level' (its mean), 'own_level_public_shape'; 'public_shape' and "
            "'public_level', which look at nothing",
        ),
        _optional("epsilon", "1", "privacy parameter; null where nothing is released"),
        _optional("delta", "1", "privacy parameter; null where nothing is released"),
        Column("groups", TEXT, "", "'one' or 'circuit'; 'none' where nothing is released"),
        Column("group_count", COUNT, "1", "groups; null where nothing is released", nullable=True),
        Column("draw_count", COUNT, "1", "draws averaged over"),
        _optional("mae_kwh", "kWh", "mean absolute error of the expected energy of an hour, mean over households"),
        _optional("mae_median_kwh", "kWh", "the same, median over households"),
        _optional("mae_of_median_kwh", "kWh", "mean absolute error of the median; null where there is none"),
        _optional("energy_bias", "1", "sum of the forecasts over what the households used before, less one"),
        _optional("energy_error", "1", "root mean square of that over draws"),
        _optional("coverage_50", "1", "share of hours within the interval that should hold 50 %; null without one"),
        _optional("coverage_90", "1", "share of hours within the interval that should hold 90 %; null without one"),
        Column("household_count", COUNT, "households", "households of the list with usable readings, averaged over"),
        Column("hour_count", COUNT, "h", "held-out hours"),
    ),
)


# The way to hide that is no noise design.
GROUP_MEAN = "group_mean"
_FEWER = "null where a household cannot be hidden, or k is more than there are"

HIDE_AMONG = Table(
    "hide_among",
    "study",
    "What it costs to hide a household among k similar ones, per noise design: class_label, one file of one release.",
    (
        Column("size", COUNT, "households", "k: households a group has at least, of at most 2k - 1"),
        Column(
            "design", TEXT, "", f"noise design, or '{GROUP_MEAN}': everybody gets the mean log forecast of the group"
        ),
        Column("epsilon", REAL, "1", "privacy parameter asked for"),
        Column("delta", REAL, "1", "privacy parameter asked for"),
        Column("group_count", COUNT, "1", "groups, each with the least noise that is enough for it"),
        Column("smallest_group", COUNT, "households", "households of the smallest group"),
        Column("largest_group", COUNT, "households", "households of the largest group"),
        _HOUSEHOLDS,
        Column("unserved_group_count", COUNT, "1", "groups that no noise tried is enough for"),
        _optional("largest_delta", "1", "hockey-stick delta of the worst pair, numerical error added"),
        *(
            _optional(f"error_kwh_{name}", "kWh", f"{words}; {_FEWER}")
            for name, words in (
                (
                    "q25",
                    "RMS over its interval forecasts by which a household's released ones are off, lower quartile",
                ),
                ("median", "the same, median over households"),
                ("q75", "the same, upper quartile over households"),
                ("mean", "the same, mean over households"),
                ("rms", "RMS over all households and intervals"),
            )
        ),
        _optional("absolute_error_kwh_median", "kWh", f"mean absolute value, median over households; {_FEWER}"),
        _optional("absolute_error_kwh_mean", "kWh", f"the same, mean over households; {_FEWER}"),
        _optional(
            "explained_share",
            "1",
            "1 less squared error over the variance of the forecasts of all households and intervals, in kWh",
        ),
        Column("meaning", TEXT, "", "why numbers are missing, empty otherwise"),
    ),
)

HIDE_AMONG_YARDSTICKS = Table(
    "hide_among_yardsticks",
    "study",
    "What the errors of hide_among are to be held against: a household's energy and the error of its own forecast.",
    (
        Column(
            "yardstick",
            TEXT,
            "",
            "'energy' (mean per interval) or 'forecast_error' (RMS against readings, no noise), of held-out days",
        ),
        Column("median_kwh", REAL, "kWh", "per interval, median over households"),
        Column("mean_kwh", REAL, "kWh", "per interval, mean over households"),
        Column("household_count", COUNT, "households", "households with held-out readings"),
        Column("interval_minutes", INT, "min", "length of an interval"),
    ),
)
