"""A Gaussian mixture under differential privacy, in scikit-learn's conventions.

The sound release of records in a public box: docs/mixtures.md for its rules, docs/proofs/sound.md, 10, for the proof.
Noise is drawn in :mod:`meterdp.release`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from meterdp.api.arguments import (
    MOST,
    Refused,
    RefusedType,
    array_of,
    is_one_of,
    is_real,
    is_whole,
    refusals,
    require,
)
from meterdp.core.noise import FreshNumbers, StudyNoise
from meterdp.mechanisms.proven.mechanism import Box, calibrate_ball
from meterdp.mechanisms.proven.noise_error import noise_errors
from meterdp.mixture.density import class_log_densities, class_shares, record_log_densities
from meterdp.mixture.draws import Mixture, sample
from meterdp.privacy.guarantee import DrawnGuarantee, Limit, PrivacyBudget
from meterdp.privacy.meter_lists import plain_name
from meterdp.privacy.noise import GRID
from meterdp.privacy.periods import PERIODS, Interval, covers, day_of, days_of, interval_of, overlap
from meterdp.privacy.policy import MOST_HOUSEHOLDS
from meterdp.release.records import LibraryBudget, release_records, study_records
from meterdp.release.settings import public_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class FitGuarantee(DrawnGuarantee):
    """What one fit claims; ``print`` it to read it as a sentence."""

    covers: str  # of what else the numbers speak: this fit alone, or the ledger that has the sum
    # What noise moves two in three entries of the mean of a component of average size by at most, in standard
    # deviations of that component, and two in three of its variances, as a share of them, whether its features are
    # correlated or not: from public numbers alone, so without the bias of clipping.
    mean_error: float
    variance_error: float

    def __str__(self) -> str:
        if not self.for_release:
            return super().__str__()
        said = f"{self._noise}, and clipping moves those of data that are not Gaussian, too"
        return f"{super().__str__()}, of {self.covers}; {said}; proof: {self.proof}"

    @property
    def _noise(self) -> str:
        mean, variance = f"{self.mean_error:.2g} standard deviations", f"{self.variance_error:.2g} of themselves"
        return f"noise moves two in three entries of a mean by at most about {mean}, and variances by {variance}"


_ADJACENCIES = ("replace_one", "add_remove")
MOST_SAMPLES = 10**9
# Of columns in a refusal.
MOST_NAMES = 5
# Each round has a tenth more of the budget than the one before: with more of them the first ones find nothing.
MOST_ROUNDS = 50
# Three standard deviations of noise leave nothing of a variance.
MOST_VARIANCE_ERROR = 1 / 3
# Parameters that only mean something with a ledger, and those of them that it cannot do without.
_NAMES = ("population", "budget_period", "days", "time_zone", "meters", "records")
# What scikit-learn and NumPy say of records, by a part of it -> what is said instead. Theirs may show a record.
_SAID = {
    "Complex data not supported": ("Complex data not supported", "use real numbers"),
    "Reshape your data": (
        "is not a table (scikit-learn: 'Reshape your data')",
        "give one row a record, also where there is only one, and one column a feature, such as X[:, None]",
    ),
    "dim 3": ("is not a table", "give one row a record"),
    "parse data": ("is sparse", "give a dense table"),
}
# What they say of the table alone, which is kept.
_OF_THE_TABLE = ("sample(s)", "feature(s)", "features, but", "feature names")


class PrivateGaussianMixture(DensityMixin, BaseEstimator):
    """Gaussian mixture under (epsilon, delta)-differential privacy for one whole record.

    Private EM from clipped records, with exact Gaussian-DP accounting. The guarantee covers what `fit` stores
    (weights, means, covariances and all other attributes). It does not cover what `score`, `score_samples`, `predict`,
    `predict_proba` and `fit_predict` return for private records: that describes those records, without noise.

    **Each fit is a separate release**, and fits of the same records add up: two fits at epsilon = 1, a grid search or
    a cross-validation spend more than the epsilon of one. `guarantee_` is about one fit only. A `ledger` keeps the
    sum, and refuses a fit that would exceed the cap before any noise is drawn.

    Parameters
    ----------
    n_components : int, default=1
        Number K of classes, public.
    epsilon : float, default=1.0
        Of one fit.
    delta : float, default=1e-5
        Of one fit; use one far below one over the number of records. With safe noise delta is at most one over the number of records.
    bounds : (low, high)
        Two numbers, or two arrays with one number for each feature, from public knowledge and **never from the data**:
        the smallest and the largest record are private. Records outside are moved to the bounds. Noise is in
        proportion to a radius around the middle of the bounds that is found under the same epsilon. **The middle must
        be near the data**: then bounds twenty times too wide cost little; otherwise classes are lost, as with energies
        from 0 to many times their mean, also at a large epsilon. Too narrow ones clip records. No warning tells: take
        bounds from public statistics, and logs of energies. Features are measured in units of their bounds, so choose
        bounds that are equally wide relative to the spread of each feature.
    adjacency : {"replace_one", "add_remove"}, default="replace_one"
        Whether neighbours differ in the values of one record, the number of records being public, or in its presence.
    n_samples_guess : int, optional
        Public guess of the number of records; needed by ``add_remove``, under which the number itself is private.
    max_iter : int, optional
        Rounds of private EM, at most 50, all of which are run. By default at most 12, by a rule of K, epsilon, delta and the
        numbers of records and features. They start from public classes around private pooled moments, so many
        classes in unusual places can need more rounds, and an epsilon that allows them.
    noise : {"safe", "study"}, default="safe"
        ``safe`` draws exact discrete noise from the entropy of the operating system, on a public grid. ``study``
        draws ordinary seeded numbers, so that a fit can be repeated; it protects nobody, and `guarantee_` says so.
    random_state : int, optional
        Seed of ``noise="study"``, 0 if none is given. Safe noise has none, also not for `sample`, and refuses one.
    ledger : path-like, optional
        SQLite file that is charged before noise is drawn; it is made, with a warning, if it does not exist. The same
        request (all public parameters here and the number of records) gets the mixture of the first time, with a
        warning, and costs nothing. The order of `meters` does not matter. It can be a ledger of the workflow: releases
        about the same meters and budget period add up.
    population : str
        Public name of the people behind the records, a label.
    budget_period : str
        How long a budget lasts: a year ("2025"), a month ("2025-03"), a first and a last day ("2025-01-06 to
        2025-06-30"), or several of them separated by commas. It must hold all `days`.
    days : (str or date, str or date)
        First and last day of the readings behind the records, such as ("2025-01-06", "2025-02-02").
    time_zone : str
        IANA name of where these days are local, such as "Europe/London".
    meters : sequence of str, optional
        The public list of meters, one for each record, whose row must be all there is of it. Without it a charge
        counts for every meter of the ledger.
    records : str
        Public name of what the records are, such as "mean kWh of weekday hours". The ledger never looks at records:
        others of the same name, days and meters get the mixture of the first.
    cap_epsilon : float, default=4.0
        What population and budget period may spend in all, at `cap_delta`.
    cap_delta : float, default=1e-5

    Attributes
    ----------
    weights_ : (K,) float64 array
        Largest first.
    means_ : (K, d) float64 array
        Within the bounds.
    covariances_ : (K, d, d) float64 array
    n_iter_ : int
        Rounds of private EM.
    guarantee_ : FitGuarantee
        What is claimed: ``status``, ``unit``, ``adjacency``, ``epsilon``, ``delta``, ``accountant``, ``proof``,
        ``family``, ``covers``, ``for_release``, and how far noise alone moves a component of average size, as runs on
        public Gaussians tell, one of independent features and one whose neighbours are alike as hours of homes are:
        ``mean_error``, in its standard deviations, is what two in three entries of its mean are off by at most, and
        ``variance_error`` the same of its variances, as a share of them, each of the Gaussian where it is larger.
        Variances of independent features can be off by much less, those of features that all vary together by up to a
        half more. They say nothing of components that are not found. Clipping adds a bias that neither more records
        nor a larger epsilon removes: it draws the means of skewed data towards their bulk. As a string it is a
        sentence. A fit with safe noise warns
        if ``variance_error`` is above a third, where covariances can be mostly noise.
    n_features_in_ : int
    feature_names_in_ : (d,) str array
        Of a DataFrame with string columns; taken to be public.

    Notes
    -----
    To cite: meterdp; Dong, Roth and Su (2022), Gaussian Differential Privacy, by which the steps add up; Balle and
    Wang (2018), Improving the Gaussian Mechanism for Differential Privacy, from which (epsilon, delta) follows.

    Nothing before the fit may have looked at the records together: a scaler, an imputer or principal components fitted
    on them, also in a Pipeline, void the guarantee. There are no sample weights, as one record of weight w would move
    the sums as w records do. Records with missing entries are refused.

    Raises
    ------
    ValueError
        From `fit`; one sentence that names the parameter and the hint.

    Examples
    --------
    >>> import meterdp, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> evening = rng.normal([[0.3, 0.9]], 0.2, (6000, 2))
    >>> night = rng.normal([[0.8, 0.2]], 0.1, (4000, 2))
    >>> kwh = np.vstack([evening, night])
    >>> mixture = meterdp.PrivateGaussianMixture(2, epsilon=1, delta=1e-5, bounds=(0, 3)).fit(kwh)
    >>> mixture.means_.shape, mixture.covariances_.shape
    ((2, 2), (2, 2, 2))
    >>> synthetic, component = mixture.sample(500)
    >>> synthetic.shape
    (500, 2)
    >>> print(mixture.guarantee_)
    (1, 1e-05)-differential privacy for one whole record (replace_one), of this fit alone; noise moves two in three entries of a mean by at most about 0.0057 standard deviations, and variances by 0.017 of themselves, and clipping moves those of data that are not Gaussian, too; proof: docs/proofs/sound.md
    >>> mixture.set_params(random_state=7).fit(kwh)
    Traceback (most recent call last):
    meterdp.api.arguments.Refused: field 'random_state': is a seed, with which the noise could be subtracted; leave it out, or set noise='study' for what is never released.
    """  # noqa: E501  an error is one line

    def __init__(
        self,
        n_components: int = 1,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        adjacency: Literal["replace_one", "add_remove"] = "replace_one",
        n_samples_guess: int | None = None,
        max_iter: int | None = None,
        noise: Literal["safe", "study"] = "safe",
        random_state: int | None = None,
        ledger: str | os.PathLike | None = None,
        population: str | None = None,
        budget_period: str | None = None,
        days: tuple[str | date, str | date] | None = None,
        time_zone: str | None = None,
        meters: Sequence[str] | None = None,
        records: str | None = None,
        cap_epsilon: float = 4.0,
        cap_delta: float = 1e-5,
    ):
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.adjacency = adjacency
        self.n_samples_guess = n_samples_guess
        self.max_iter = max_iter
        self.noise = noise
        self.random_state = random_state
        self.ledger = ledger
        self.population = population
        self.budget_period = budget_period
        self.days = days
        self.time_zone = time_zone
        self.meters = meters
        self.records = records
        self.cap_epsilon = cap_epsilon
        self.cap_delta = cap_delta

    def fit(self, X: ArrayLike, y: None = None) -> PrivateGaussianMixture:
        """Release a mixture of the records.

        Parameters
        ----------
        X : (N, d) array_like or DataFrame
            One row per record, one column per feature; texts are refused, also those that spell numbers.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_parameters()
        by_time = type(getattr(X, "index", None)).__name__ == "DatetimeIndex"
        hint = "put households in rows, as X.T does, or give X.to_numpy() if each row is a record of its own"
        require(not by_time, "X", "has a row per time stamp, but the guarantee is for single rows", hint)
        # No number of records is refused where it is private.
        x = self._validated(X, ensure_min_samples=int(self.adjacency == "replace_one"))
        box = self._box(x.shape[1])
        mechanism = self._calibrate(box, len(x))
        with refusals():
            if self.noise == "study":
                mixture = study_records(x, box, mechanism, self.random_state or 0)
            else:
                names = tuple(getattr(self, "feature_names_in_", ()))
                mixture = release_records(x, box, mechanism, self._budget(len(x)), names)
        self.weights_, self.means_, self.covariances_ = mixture.weights, mixture.means, mixture.covariances
        self.n_iter_ = len(mechanism.plan.rounds)
        covers = "this fit alone" if self.ledger is None else "this fit; the ledger has the sum with others"
        mean_error, variance_error = noise_errors(mechanism)
        self.guarantee_ = FitGuarantee.of(
            mechanism.guarantee,
            mechanism.public.sound.grid,
            covers=covers,
            mean_error=mean_error,
            variance_error=variance_error,
        )
        if variance_error > MOST_VARIANCE_ERROR and self.noise == "safe":
            warnings.warn(
                f"so few records for this epsilon that covariances can be mostly noise: {self.guarantee_._noise}; "
                "use fewer components, more records or a larger epsilon",
                UserWarning,
                stacklevel=2,
            )
        return self

    def fit_predict(self, X: ArrayLike, y: None = None) -> np.ndarray:
        """Fit, and return the likeliest class of each record as `predict` does: private, unlike the fit."""
        return self.fit(X).predict(X)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw synthetic records, which costs no privacy.

        Parameters
        ----------
        n_samples : int

        Returns
        -------
        X : (n_samples, d) float64 array
            May lie outside the bounds, as normal tails do.
        y : (n_samples,) int array
            Classes 0..K-1.
        """
        mixture = self._mixture()
        allowed = is_whole(n_samples, most=MOST_SAMPLES)
        require(allowed, "n_samples", f"is not a whole number from 1 to {MOST_SAMPLES:,}", "use for example 1000")
        safe = self.guarantee_.for_release
        numbers = FreshNumbers() if safe else StudyNoise(self.random_state or 0, "sample")
        x, label = sample(mixture, n_samples, numbers)
        return x, label - 1

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Return the log-density of each record, (N,) float64: of private records, private."""
        return record_log_densities(self._records(X), self._mixture())

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Return the mean log-density of records: a number about them that nothing protects."""
        return float(self.score_samples(X).mean())

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the likeliest class of each record, (N,) int, 0..K-1: of private records, private."""
        return class_log_densities(self._records(X), self._mixture()).argmax(axis=0)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the posterior probability of each class for each record, (N, K) float64: private like `predict`."""
        return class_shares(class_log_densities(self._records(X), self._mixture())).T

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.noise != "study"
        return tags

    def _mixture(self) -> Mixture:
        check_is_fitted(self)
        return Mixture(self.weights_, self.means_, self.covariances_)

    def _records(self, X) -> np.ndarray:
        check_is_fitted(self)
        return self._validated(X, reset=False)

    def _validated(self, X, **how) -> np.ndarray:
        """Return records as scikit-learn wants them; no refusal shows one, nor has one in its context."""
        if hasattr(X, "collect") and not hasattr(X, "shape"):
            raise RefusedType(
                "is a query that has not run, such as a LazyFrame", field="X", hint="give what its collect() returns"
            )
        if texts := _texts_in(X):
            raise Refused(
                f"holds texts{texts}, such as ids, which are not features even where they spell numbers",
                field="X",
                hint="give the columns that are features, as numbers",
            )
        require(
            not hasattr(X, "columns") or len({*X.columns}) == len(X.columns),
            "X",
            "has two columns of the same name",
            "give every feature a name of its own",
        )
        try:
            x = validate_data(self, _unmasked(X), dtype=np.float64, ensure_all_finite=False, **how)
        except Exception as error:  # of whatever X is made of
            refused = _times() if hasattr(X, "dtypes") and _has_times(X) else _refused(error)
        else:
            if _has_times(X):
                refused = _times()
            # Any NaN is the smallest, any infinity one of the two.
            elif not x.size or np.isfinite([x.min(), x.max()]).all():
                return x
            else:
                refused = Refused(
                    "has entries that are NaN or infinite",
                    field="X",
                    hint="leave out or fill in such records, by a rule that looks at one record alone",
                )
        raise refused

    def _check_parameters(self) -> None:
        """Refuse what is wrong whatever the records are."""
        whole, real = f"use a whole number from 1 to {MOST:,}", f"use a positive number, at most {MOST:,}"
        checks = {
            "n_components": (is_whole(self.n_components), whole),
            "epsilon": (is_real(self.epsilon) and 0 < self.epsilon <= MOST, real),
            "delta": (is_real(self.delta) and 0 < self.delta < 1, "use a number between 0 and 1"),
            "adjacency": (is_one_of(self.adjacency, _ADJACENCIES), f"use {' or '.join(_ADJACENCIES)}"),
            "max_iter": (
                self.max_iter is None or is_whole(self.max_iter, most=MOST_ROUNDS),
                f"use a whole number from 1 to {MOST_ROUNDS}",
            ),
            "noise": (is_one_of(self.noise, ("safe", "study")), "use safe, or study for what is never released"),
            "cap_epsilon": (
                is_real(self.cap_epsilon) and 0 < self.cap_epsilon <= 100,
                "use a positive number, at most 100",
            ),
            "cap_delta": (is_real(self.cap_delta) and 0 < self.cap_delta < 1, "use a number between 0 and 1"),
        }
        for field, (holds, hint) in checks.items():
            require(holds, field, "is outside its allowed range", hint)
        seed = self.random_state
        require(
            seed is None or self.noise != "safe",
            "random_state",
            "is a seed, with which the noise could be subtracted",
            "leave it out, or set noise='study' for what is never released",
        )
        is_seed = seed is None or is_whole(seed, 0, 2**63)
        require(is_seed, "random_state", "is not a whole number of zero or more", "use for example 1")
        counted, guess = self.adjacency == "add_remove", self.n_samples_guess
        require(
            not counted or is_whole(guess, self.n_components, MOST_HOUSEHOLDS),
            "n_samples_guess",
            f"is not a whole number from n_components to {MOST_HOUSEHOLDS:,}, and add_remove keeps the number itself "
            "private",
            "give a public guess of the number of records, not one from X",
        )
        require(
            counted or guess is None,
            "n_samples_guess",
            "has no meaning under replace_one, where the number of records is public",
            "leave it out, or set adjacency='add_remove'",
        )
        self._check_ledger()

    def _check_ledger(self) -> None:
        given = [name for name in _NAMES if getattr(self, name) is not None]
        if self.ledger is None:
            if given:
                raise Refused("has no meaning without a ledger", field=given[0], hint="give one, or leave it out")
            return
        safe, path = self.noise == "safe", self.ledger
        require(safe, "ledger", "is for fits that can be shared", "leave it out, or set noise='safe'")
        replaced = self.adjacency == "replace_one"
        require(replaced, "adjacency", "is not what a ledger adds up", "use replace_one, or no ledger")
        is_path = isinstance(path, str | os.PathLike) and str(path) and "\0" not in str(path)
        require(is_path, "ledger", "is not the path of a file", "give one such as 'ledger.sqlite'")
        require(Path(path).parent.is_dir(), "ledger", "is in a folder that does not exist", "correct the path")
        for name in ("population", "budget_period", "records"):
            value = getattr(self, name)
            is_name = isinstance(value, str) and value.strip() and _is_text(value)
            require(is_name, name, "is not a name", "give a public one, which a ledger needs")
        self._periods()

    def _days(self) -> tuple[date, date]:
        try:
            first, last = (day_of(day.date() if _is_midnight(day) else day) for day in self.days)
        except (TypeError, ValueError):
            first, last = date.max, date.min
        require(
            first <= last,
            "days",
            "are not a first and a last day",
            "give those of the readings behind the records, without times, such as ('2025-01-06', '2025-02-02')",
        )
        return first, last

    def _periods(self) -> tuple[Interval, ...]:
        """Return the budget periods that the days are in, in UTC."""
        try:
            if not isinstance(self.time_zone, str):
                raise ValueError
            days = interval_of(*self._days(), self.time_zone)
        except Refused:
            raise
        except (OverflowError, ValueError):
            raise Refused(
                "is not the name of a time zone", field="time_zone", hint="give one such as 'Europe/London'"
            ) from None
        try:
            periods = [interval_of(*span, self.time_zone) for span in days_of(self.budget_period)]
        except (OverflowError, ValueError):
            raise Refused("is not a period of time", field="budget_period", hint=f"give {PERIODS}") from None
        held = covers(periods, days)
        require(held, "budget_period", "does not cover all days", "give the period the days are in")
        return tuple(period for period in periods if overlap(period, days))

    def _listed(self, n: int) -> tuple[str, ...] | None:
        if self.meters is None:
            return None
        meters = tuple(self.meters) if isinstance(self.meters, Iterable) and not isinstance(self.meters, str) else ()
        texts = all(isinstance(meter, str) for meter in meters)
        require(texts, "meters", "are not all texts", "give ids as texts, such as [str(meter) for meter in meters]")
        names = {plain_name(meter) for meter in meters if _is_text(meter)} - {""}
        require(
            len(names) == len(meters) == n,
            "meters",
            "are not as many different names as there are records",
            "give the meter of every record, each once, or none",
        )
        return meters

    def _box(self, d: int) -> Box:
        hint = "give (low, high) from public knowledge, numbers or one for each feature, never from X"
        require(self.bounds is not None, "bounds", "are not set", hint)
        problem = f"are not two numbers, or two rows of {d}"
        try:
            sides = (array_of(side, problem, field="bounds", hint=hint) for side in self.bounds)
            low, high = (np.broadcast_to(side, d) for side in sides)
        except (TypeError, ValueError):
            raise Refused(problem, field="bounds", hint=hint) from None
        with refusals():
            return Box(tuple(low.tolist()), tuple(high.tolist()))

    def _calibrate(self, box: Box, n: int):
        """Return the mechanism; the number of records enters where it is public."""
        records = self.n_samples_guess if self.adjacency == "add_remove" else n
        enough = records >= self.n_components
        require(enough, "n_components", f"is more than n_samples = {records}", "lower it, or supply more records")
        with refusals():
            # Plain numbers, as they become parameters in the ledger.
            return calibrate_ball(
                int(self.n_components),
                box.dimension,
                int(records),
                float(self.epsilon),
                float(self.delta),
                box.ball,
                grid=GRID if self.noise == "safe" else 0.0,
                adjacency=self.adjacency,
                rounds=None if self.max_iter is None else int(self.max_iter),
            )

    def _budget(self, n: int) -> LibraryBudget | None:
        if self.ledger is None:
            return None
        budget = PrivacyBudget(
            "one whole record", self.adjacency, *map(public_name, (self.population, self.budget_period))
        )
        limit = Limit(float(self.cap_epsilon), float(self.cap_delta))
        days = tuple(day.isoformat() for day in self._days())
        return LibraryBudget(
            self.ledger, budget, limit, public_name(self.records), days, self._periods(), self._listed(n)
        )


def _refused(error: Exception) -> Refused:
    """Return what is said instead of an error about records."""
    said = str(error)
    for part, (problem, hint) in _SAID.items():
        if part in said:
            return Refused(problem, field="X", hint=hint)
    if any(part in said for part in _OF_THE_TABLE):
        return Refused(
            " ".join(said.split()).rstrip("."), field="X", hint="give one row a record, and the columns of the fit"
        )
    # scikit-learn's checks of an estimator ask for these words and this type.
    problem = "holds an object, and this argument must be a table without strings and the like: each entry a number"
    return RefusedType(problem, field="X", hint="use numbers alone")


def _times() -> Refused:
    return Refused("holds dates or durations", field="X", hint="use numbers alone: convert them to numbers first")


def _texts_in(x) -> str:
    """Say in which columns of a table texts are, nothing if there are none; names of columns are public."""
    if not hasattr(x, "columns"):
        return " among its entries" if _has_texts(x) else ""
    names = [
        str(name)
        for at, (name, dtype) in enumerate(zip(x.columns, x.dtypes, strict=True))
        if getattr(dtype, "kind", "O") not in "iufb" and _has_texts(x.iloc[:, at] if hasattr(x, "iloc") else x[name])
    ]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f" in {', '.join(names[:MOST_NAMES])}{more}" if names else ""


def _has_texts(x) -> bool:
    try:
        values = x if hasattr(x, "dtype") and x.dtype.kind in "iufb" else np.asarray(x)
    except Exception:  # of whatever it is made of: refused as what it is
        return False
    return values.dtype.kind in "US" or (
        values.dtype.kind == "O" and any(isinstance(one, str | bytes) for one in values.flat)
    )


def _has_times(x) -> bool:
    """Whether dates or durations are among the records, which scikit-learn takes for numbers of nanoseconds."""
    dtypes = list(x.dtypes) if hasattr(x, "columns") else [x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype]
    return any(getattr(dtype, "kind", "") in ("m", "M") for dtype in dtypes)


def _unmasked(x):
    """Return an array with a mask as one with NaN in its place, anything else as it is."""
    if not np.ma.isMA(x) or not np.ma.is_masked(x):
        return x
    return np.where(np.ma.getmaskarray(x), np.nan, x.data)


def _is_midnight(day) -> bool:
    """Whether a day is written as its first moment, without a zone, as pandas does."""
    return isinstance(day, datetime) and day.tzinfo is None and day.time() == time()


def _is_text(value: str) -> bool:
    """Whether a name can be written down; half a character cannot."""
    return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)
