"""The two questions a user of class-based noise has: the smallest error for (epsilon, delta), and the reverse.

Delta is the hockey-stick divergence of the worst ordered pair of the graph at the design's actual noise, so an answer
is (epsilon, delta)-DP for `class_label` under the query model it names, for one file of one release. Error is what
the noise does to the forecast of a household, in kWh, clipped to the public bounds as in the forecast files (the
accuracy that section V-B of Ramakrishna et al. leaves out). Designs need not be monotone in rho: a search takes the
smallest budget of a grid from which on every larger one is good enough, refines it, and states what it reached.
``meterdp ask`` puts them to a finished study, whose private tables it reads on this machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import yaml

from meterdp.accounting.exact_curve import worst_pair
from meterdp.accounting.gaussian_loss import PairLosses, pair_losses
from meterdp.class_noise.designs.barycentre import wasserstein_limit
from meterdp.class_noise.designs.registry import noise_design, runnable
from meterdp.class_noise.designs.simple import NOISE_FLOOR
from meterdp.class_noise.query_models import AccuracyConvention, Budget, ClassQueries, Noise, NoiseDesign
from meterdp.class_noise.study import queries_of, stack, studied
from meterdp.class_noise.tables import NEIGHBOUR_GRAPH
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.errors import InputError
from meterdp.forecasting.energy import censored_absolute_error, censored_moment
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS
from meterdp.privacy.gaussian import mu_for

# Budgets that are tried, (log kWh)^2 per entry: from a per cent of a reading to noise that hides everything.
DECADES = (-4.0, 6.0)
GRID = 21
REFINEMENTS = 7  # the budget is then known to a factor of 10^(1/2 / 2^7), 1 %
# Guesses of a refinement before it halves the bracket if that has shrunk less than halving would have.
GUESSES = 2
LARGEST_EPSILON = 1e3
# Ratio of the budgets tried near the Wasserstein limit: an error that is known to 2.5 %.
NEAR = 1.05


@dataclass(frozen=True)
class Answer:
    """A budget of one design and what it gives.

    ``rho`` is in the convention asked for, (log kWh)^2, infinite if no budget of the grid will do; epsilon and delta
    are the guarantee there, numerical error included; ``error_kwh`` is the root mean square of released less
    unreleased forecast over households and steps, kWh per interval.
    """

    rho: float
    epsilon: float
    delta: float
    error_kwh: float


@dataclass(frozen=True)
class Asker:
    """Answers for one design on one set of queries with at least one pair.

    ``forecast_log_kwh`` (H, k) are the forecasts that are released, whatever the query model takes as their mean;
    ``scale`` is that of the energy in an interval, ``accuracy_convention`` what rho counts.
    """

    design: NoiseDesign
    queries: ClassQueries
    forecast_log_kwh: np.ndarray
    scale: LogScale
    accuracy_convention: str
    _designed: dict[float, Noise] = field(default_factory=dict, repr=False)
    _deltas: dict[tuple[float, float], float] = field(default_factory=dict, repr=False)
    _errors: dict[float, float] = field(default_factory=dict, repr=False)

    def __post_init__(self):
        if len(self.queries.pairs) == 0:
            raise InputError(
                "have no household with a neighbour, so there is nothing to protect",
                field="neighbourhoods",
                hint="use fewer, larger neighbourhoods",
            )

    def noise(self, rho: float) -> Noise:
        """Return the design's noise at a budget; designed once."""
        if rho not in self._designed:
            self._designed[rho] = self.design(self.queries, Budget(rho, self.accuracy_convention))
        return self._designed[rho]

    def delta(self, noise: Noise, epsilon: float) -> float:
        """Return the hockey-stick delta of the worst pair, its numerical error added."""
        worst = worst_pair(self._losses(noise), epsilon, "hockey_stick")
        return min(worst.delta + worst.error, 1.0)

    def _losses(self, noise: Noise) -> PairLosses:
        distributions = noise.released(self.queries)
        return pair_losses(distributions.mean_log_kwh, distributions.covariance, distributions.pairs)

    def _delta_at(self, rho: float, epsilon: float) -> float:
        if (rho, epsilon) not in self._deltas:
            self._deltas[rho, epsilon] = self.delta(self.noise(rho), epsilon)
        return self._deltas[rho, epsilon]

    def _error_at(self, rho: float) -> float:
        if rho not in self._errors:
            self._errors[rho] = self.error_kwh(self.noise(rho))
        return self._errors[rho]

    def error_kwh(self, noise: Noise) -> float:
        """Return the root mean square of released less unreleased forecast, kWh per interval."""
        return float(np.sqrt(np.mean(self.squared_error_kwh2(noise))))

    def squared_error_kwh2(self, noise: Noise) -> np.ndarray:
        """Return the expected square of released less unreleased forecast, (H, k) kWh^2."""
        median = self._unreleased()
        first, second = (censored_moment(*self._distribution(noise), self.scale, order) for order in (1, 2))
        return np.maximum(second - 2 * median * first + median**2, 0.0)

    def absolute_error_kwh(self, noise: Noise) -> np.ndarray:
        """Return the expected absolute value of released less unreleased forecast, (H, k) kWh."""
        return censored_absolute_error(*self._distribution(noise), self._unreleased(), self.scale)

    def _unreleased(self) -> np.ndarray:
        return self.scale.clipped_kwh(self.forecast_log_kwh)

    def _distribution(self, noise: Noise) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the released log forecast, (H, k) each."""
        return noise.apply(self.forecast_log_kwh), np.sqrt(np.diagonal(noise.covariance, axis1=1, axis2=2))

    def smallest_error(self, epsilon: float, delta: float, budgets: np.ndarray | None = None) -> Answer:
        """Return the budget with the smallest error at which the design is (epsilon, delta)-DP for the class label.

        ``budgets`` (B,), ascending, are tried in place of the common grid and its refinements.
        """
        if not (np.isfinite(epsilon) and epsilon >= 0 and 0 < delta < 1):
            raise InputError(
                "is not a pair of a non-negative epsilon and a delta between 0 and 1",
                field="guarantee",
                hint="use for example epsilon 1, delta 1e-5",
            )
        # ln(-ln delta) and ln error are all but linear in ln rho where noise is Gaussian.
        rho = self._threshold(
            lambda rho: _signed(
                self._delta_at(rho, epsilon) <= delta, _log_log(delta) - _log_log(self._delta_at(rho, epsilon))
            ),
            budgets,
        )
        if not np.isfinite(rho):
            return Answer(rho, epsilon, 1.0, np.nan)
        # A larger budget may come with a smaller error: where all forecasts meet, little noise is left to add.
        tried = self._budgets() if budgets is None else budgets
        rho = min([rho, *(larger for larger in tried if larger > rho)], key=self._error_at)
        return Answer(rho, epsilon, self._delta_at(rho, epsilon), self._error_at(rho))

    def guarantee(self, error_kwh: float, delta: float) -> Answer:
        """Return the largest budget whose error is at most ``error_kwh``, and its epsilon at ``delta``.

        Where every budget of the grid errs by more, the answer is no budget and no epsilon, both infinite.
        """
        if not (np.isfinite(error_kwh) and error_kwh > 0 and 0 < delta < 1):
            raise InputError(
                "is not a positive error in kWh with a delta between 0 and 1",
                field="error_kwh",
                hint="use for example 0.05 and 1e-5",
            )
        above = self._threshold(
            lambda rho: _signed(
                self._error_at(rho) > error_kwh, np.log(error_kwh) - np.log(max(self._error_at(rho), 1e-300))
            )
        )
        if above <= self._budgets()[0]:
            return Answer(np.inf, np.inf, 1.0, np.nan)
        # The refined budget is just too large; one refinement below it is not.
        rho = min(above, self._budgets()[-1]) / self._resolution()
        epsilon = self._epsilon(self._losses(self.noise(rho)), delta)
        return Answer(rho, epsilon, self._delta_at(rho, min(epsilon, LARGEST_EPSILON)), self._error_at(rho))

    @staticmethod
    def _epsilon(losses: PairLosses, delta: float) -> float:
        """Smallest epsilon at which the design is (epsilon, delta)-DP, infinity beyond LARGEST_EPSILON."""

        def enough(epsilon: float) -> bool:
            worst = worst_pair(losses, epsilon, "hockey_stick")
            return worst.delta + worst.error <= delta

        if losses.singular.any() or not enough(LARGEST_EPSILON):
            return np.inf
        if enough(0.0):
            return 0.0
        low, high = 0.0, LARGEST_EPSILON
        while high - low > 1e-3 * max(high, 1e-3):
            middle = np.sqrt(low * high) if low > 0 else min(0.5 * high, 1.0)
            middle = middle if low < middle < high else 0.5 * (low + high)
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    def _budgets(self) -> np.ndarray:
        """Grid of budgets in the convention asked for."""
        entries = self.queries.entries if self.accuracy_convention == "total" else 1
        return entries * np.logspace(*DECADES, GRID)

    @staticmethod
    def _resolution() -> float:
        """Ratio of neighbouring budgets after all refinements."""
        return 10 ** ((DECADES[1] - DECADES[0]) / (GRID - 1) / 2**REFINEMENTS)

    def _threshold(self, excess: Callable[[float], float], budgets: np.ndarray | None = None) -> float:
        """Return the smallest budget from which on every larger one of the grid is enough; infinity if none is.

        ``excess`` of a budget is not positive where it is enough; ``budgets`` (B,) stand in place of the grid,
        without refinement. Between two budgets of the grid the budgets are those that ``REFINEMENTS`` halvings of the
        bracket in the logarithm can meet. Interpolation finds the place with fewer of the costly designs than
        halving.
        """
        grid = self._budgets() if budgets is None else budgets
        high, at_high = np.inf, -np.inf
        for low in grid[::-1]:
            at_low = excess(low)
            if at_low > 0:
                break
            high, at_high = low, at_low
        else:
            return high
        if budgets is not None or not np.isfinite(high):
            return high
        ends, (first, last) = (low, high), (0, 2**REFINEMENTS)
        tried = 0
        while last - first > 1:
            slow = tried >= GUESSES and last - first > 2 ** (REFINEMENTS - tried)
            share = 0.5 if slow or not np.isfinite(at_low - at_high) else at_low / (at_low - at_high)
            middle = min(max(first + int(np.ceil(share * (last - first))), first + 1), last - 1)
            budget = _between(*ends, middle)
            value, tried = excess(budget), tried + 1
            if value > 0:
                first, at_low = middle, value
            else:
                last, high, at_high = middle, budget, value
        return high


def budgets_near_limit(
    queries: ClassQueries, accuracy_convention: AccuracyConvention, epsilon: float, delta: float
) -> np.ndarray:
    """Return the budgets among which is the least one of a design that moves certain queries together, ascending.

    From the Wasserstein limit R^2 on all distributions are the same. Below R^2 / (1 + mu^2 / 2), mu that of (epsilon,
    delta) in Gaussian DP, no common covariance is enough where all labels are neighbours (docs/proofs/joint.md).
    Budgets are ``NEAR`` apart; for a small epsilon the limit is the only one.
    """
    limit = wasserstein_limit(queries, accuracy_convention)
    # The noise floor is spent before the moves; the rest is for rounding.
    high = max(limit / (1 - NOISE_FLOOR) * (1 + 1e-9), 10.0 ** DECADES[0])
    count = int(np.log1p(0.5 * mu_for(epsilon, delta) ** 2) / np.log(NEAR))
    return high * NEAR ** np.arange(-count, 1.0)


def _signed(enough: bool, excess: float) -> float:
    """Return the excess with the sign of the exact comparison, which rounding of logarithms may miss."""
    return min(excess, 0.0) if enough else max(excess, 1e-300)


def _log_log(delta: float) -> float:
    """Return ln(-ln delta), plus infinity for zero and minus infinity for one; falls as delta rises."""
    return float(np.log(-np.log(delta))) if 0 < delta < 1 else np.inf if delta <= 0 else -np.inf


def _between(low: float, high: float, position: int) -> float:
    """Return the budget at a position of 0 .. 2^REFINEMENTS between two, by the square roots halvings would take."""
    first, last = 0, 2**REFINEMENTS
    while True:
        middle, budget = (first + last) // 2, np.sqrt(low * high)
        if position == middle:
            return budget
        if position < middle:
            last, high = middle, budget
        else:
            first, low = middle, budget


def askers(
    distributions: pa.Table, graph: pa.Table, settings: Mapping, scale: LogScale
) -> dict[tuple[str, str], Asker]:
    """Return an asker per design and query model of the section ``class_noise``; none for no noise or no pairs."""
    if graph.num_rows == 0:
        return {}
    forecast = stack(distributions["mean_log_kwh"], -1)
    convention = settings["accuracy_convention"]
    return {
        (design, model): Asker(
            noise_design(design), queries_of(distributions, graph, model), forecast, scale, convention
        )
        for design, model in runnable(settings)
        if design != "none"
    }


# Seconds between two lines of progress.
EVERY_S = 5.0


def ask(
    results, epsilon: float | None, error_kwh: float | None, delta: float, design: str | None = None
) -> Iterator[str]:
    """Yield the answers as lines of text, each as soon as it is found, after a header; progress to standard error.

    ``results`` is the folder of a finished study; one of ``epsilon`` and ``error_kwh`` is asked for, ``design`` is
    one instead of all of the study. Raises :class:`InputError` if the folder holds no study, or what is asked for
    makes no sense.
    """
    private, recipe = Path(results) / "private", Path(results) / "study/config.yaml"
    for needed in (recipe, private / "forecast_distributions.parquet", private / "neighbour_graph.parquet"):
        if not needed.is_file():
            raise InputError("does not exist", file=needed, hint="run the study first, or give its folder: --results")
    config = yaml.safe_load(recipe.read_text())
    settings = studied(config["class_noise"]) | (
        {} if design is None else {"designs": [design], "stochastic_designs": [design]}
    )
    distributions = read_table(private / "forecast_distributions.parquet", FORECAST_DISTRIBUTIONS)
    graph = read_table(private / "neighbour_graph.parquet", NEIGHBOUR_GRAPH)
    scale = LogScale.of_interval(config["profiles"], config["export"]["interval_minutes"])
    found = askers(distributions, graph, settings, scale)
    if not found:
        raise InputError(
            "names no noise design with a pair of neighbours to protect",
            file=recipe,
            field="class_noise.designs",
            hint="choose a design other than 'none', and neighbourhoods of more than one household",
        )
    yield f"{'design':<12}{'query model':<15}{'epsilon':>10}{'delta':>11}{'rho':>11}{'error, kWh':>12}"
    for number, ((name, model), asker) in enumerate(found.items(), start=1):
        reporting = replace(asker, design=_telling(asker.design, f"{number}/{len(found)} {name}, {model}"))
        answer = (
            reporting.guarantee(error_kwh, delta) if epsilon is None else reporting.smallest_error(epsilon, delta)
        )
        yield f"{name:<12}{model:<15}{_words(answer)}"


def _telling(design: NoiseDesign, label: str) -> NoiseDesign:
    """Return the design, saying on standard error every few seconds how many budgets it has been run at."""
    start = last = time.monotonic()
    count = 0

    def counted(queries: ClassQueries, budget: Budget) -> Noise:
        nonlocal last, count
        count += 1
        if time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            print(f"{label}: budget {count} ({last - start:.0f} s)", file=sys.stderr, flush=True)
        return design(queries, budget)

    return counted


def _words(answer: Answer) -> str:
    if not np.isfinite(answer.rho):
        return f"{answer.epsilon:>10.3g}  no budget that was tried will do"
    epsilon = f"{answer.epsilon:.3g}" if np.isfinite(answer.epsilon) else "none"
    return f"{epsilon:>10}{answer.delta:>11.2g}{answer.rho:>11.4g}{answer.error_kwh:>12.3g}"
