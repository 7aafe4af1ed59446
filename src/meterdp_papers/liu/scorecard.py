"""The claims of Liu et al. in our words, and a verdict on each, computed from the tables of the reproduction.

"Close" and "much lower" mean 0.1 wherever a quantity lies between 0 and 1; differences of means count when they
exceed two standard errors. Only the paper's own mechanisms (family ``published``) take part in a verdict; what a rule
does not ask for (medians, other mechanisms) is said in the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.stats import chi2, linregress, norm

from meterdp.mechanisms.reference.kl import ITERATIONS
from meterdp_papers.common.scorecard import (
    FAILS,
    HOLDS,
    OPEN,
    SURE,
    Claims,
    Comparison,
    Verdict,
    deciding,
    judge,
    listed,
    number,
    span,
)
from meterdp_papers.liu.setting import HALF_DAY, PROPOSED
from meterdp_papers.liu.tables import FLIPS, SHOWN, VARIANTS

# Which flips the noise of every mechanism covers, and what epsilon pays for.
_NEIGHBOURS = {
    "all": "label of one record flipped",
    "leaving": "label of one record flipped, as far as the class it leaves",
}
_OF_ONE = "epsilon for the class that costs most, of every mechanism"
_CHARGE = {
    "parallel": _OF_ONE,
    "common": _OF_ONE,
    "split": "proposed: epsilon for the class that costs most; baselines: for all classes together",
}
_FAVOURED = (
    "The baselines are charged for every class and the proposed mechanism for one, so a win of it shows nothing."
)

CLAIMS = Claims("Liu et al. 2025", _NEIGHBOURS["all"], _OF_ONE)
CLOSE = 0.1
MUCH_LESS = 0.5  # "much less sensitive": at most half the growth factor
ORDER = {"records": 3.5, "classes": 6.0}  # Remark 2
LARGE_CLASSES = 4
NORMALITY_LEVEL = 0.01
ELLIPSOID, ELLIPSOID_MARGIN = 0.9, 0.05
SMALL_CLASS_FACTOR = 5

_LOWEST = (
    "at every epsilon kl_published has a lower mean than every published baseline by two standard errors of the "
    "difference over trials; does not hold if one is higher by as much, else cannot be judged"
)
_LOWER = "{}: the proposed mechanism has the lower KL divergence at every epsilon (Fig. {})."
_TREND = (
    "for every published mechanism no step goes the other way, and first and last mean differ, by two standard errors"
)


STILL = 1e-9  # changes of objective and budget that are rounding


def _published(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["family"] == "published"]


_NAMES = {
    PROPOSED: "proposed",
    "iid_laplace": "i.i.d. Laplace",
    "iid_gaussian": "i.i.d. Gaussian",
    "iid_gaussian_l1": "i.i.d. Gaussian, l1 bound",
    "coloured_gaussian": "coloured Gaussian",
    "coloured_gaussian_l1": "coloured Gaussian, l1 bound",
}


def _words(name: str) -> str:
    return _NAMES.get(name, name.replace("_", " "))


def lowest(curve: pd.DataFrame) -> Verdict:
    """Judge liu-1, liu-5, liu-7 and liu-9: the proposed mechanism lowest at every epsilon (table ``liu_curve``)."""
    comparisons, best_of = [], []
    lost, unsure, medians = ({} for _ in range(3))  # epsilons by baseline
    shown = _published(curve)
    for x, at in shown.groupby("x"):
        own, others = at[at["mechanism"] == PROPOSED].iloc[0], at[at["mechanism"] != PROPOSED]
        best = others.loc[others["kl_mean"].idxmin()]
        best_of.append(
            f"{number(own.kl_mean)} against {number(best.kl_mean)} ({_words(best.mechanism)}) at ε = {number(x)}"
        )
        for other in others.itertuples():
            compared = Comparison(_words(other.mechanism), 0.0, 0.0, other.excess_mean, other.excess_se)
            comparisons.append(compared)
            worse = other.kl_median <= own.kl_median
            for found, applies in ((lost, compared.lost), (unsure, not compared.sure), (medians, worse)):
                if applies:
                    found.setdefault(compared.where, []).append(x)
    everywhere = shown["x"].nunique()
    share = shown.loc[shown["mechanism"] != PROPOSED, "below_proposed_share"]
    return Verdict(
        judge(comparisons),
        f"Mean KL of the proposed mechanism against the best baseline: {'; '.join(best_of)}. "
        f"Baselines with a lower mean: {_where(lost, everywhere)}; within two standard errors: "
        f"{_where(unsure, everywhere)}; with a lower median: {_where(medians, everywhere)}. "
        f"A baseline is below it in {span(f'{share.min():.1%}', f'{share.max():.1%}')} of trials, depending "
        "on baseline and ε.",
        deciding_trials=deciding(comparisons, curve["trials"].max()),
    )


def _where(epsilons: Mapping[str, Sequence[float]], everywhere: int) -> str:
    """Say at which epsilons something holds of which baseline."""
    return (
        listed(
            f"{name} at {'every ε' if len(xs) == everywhere else f'ε = {listed([number(x) for x in xs])}'}"
            for name, xs in epsilons.items()
        )
        or "none"
    )


def trend(curve: pd.DataFrame, rising: bool) -> Verdict:
    """Judge liu-2 (falling) and liu-4 (rising): KL divergence of every published mechanism along x."""
    steps, spans, words, medians = [], [], [], []
    for name, along in _published(curve).sort_values("x").groupby("mechanism", sort=False):
        points = list(along.itertuples()) if rising else list(along.itertuples())[::-1]
        pairs = list(pairwise(points))
        steps += [Comparison(name, a.kl_mean, a.kl_se, b.kl_mean, b.kl_se) for a, b in pairs]
        a, b = points[0], points[-1]
        spans.append(Comparison(name, a.kl_mean, a.kl_se, b.kl_mean, b.kl_se))
        first, last = along.iloc[0], along.iloc[-1]
        words.append(
            f"{_words(name)} from {number(first.kl_mean)} (median {number(first.kl_median)}) "
            f"to {number(last.kl_mean)} ({number(last.kl_median)})"
        )
        if any(not a.kl_median < b.kl_median for a, b in pairs):
            medians.append(_words(name))
    against = sorted({_words(c.where) for c in steps if c.lost and c.sure})
    unsure = sorted({_words(c.where) for c in spans if not c.sure})
    verdict = FAILS if against or any(c.lost and c.sure for c in spans) else OPEN if unsure else HOLDS
    x = curve["x"]
    return Verdict(
        verdict,
        f"Mean KL as {curve['x_name'].iloc[0]} goes from {number(x.min())} to {number(x.max())}: {'; '.join(words)}. "
        f"Against the trend by more than two standard errors in some step: {listed(against) or 'none'}; ends less "
        f"than two apart: {listed(unsure) or 'none'}; medians not monotone: {listed(medians) or 'none'}.",
        deciding_trials=deciding(spans, curve["trials"].max()),
    )


falling, rising = partial(trend, rising=False), partial(trend, rising=True)


def sensitivity(curve: pd.DataFrame) -> Verdict:
    """Judge liu-3: KL rises with K, and by a much smaller factor for the proposed mechanism (``liu_curve``)."""
    spans, factors, rises_by, words, errors = [], {}, {}, [], {}
    for name, along in _published(curve).sort_values("x").groupby("mechanism", sort=False):
        a, b = along.iloc[0], along.iloc[-1]
        spans.append(Comparison(name, a.kl_mean, a.kl_se, b.kl_mean, b.kl_se))
        factors[name], rises_by[name] = b.kl_mean / a.kl_mean, b.kl_mean - a.kl_mean
        errors[name] = np.hypot(a.kl_se / a.kl_mean, b.kl_se / b.kl_mean)  # of the logarithm of the factor
        words.append(
            f"{_words(name)} by a factor {number(factors[name])} (medians {number(b.kl_median / a.kl_median)}), "
            f"from {number(a.kl_mean)} to {number(b.kl_mean)}"
        )
    own, own_nats = factors.pop(PROPOSED), rises_by.pop(PROPOSED)
    compared = spans + [
        Comparison(name, np.log(own), errors[PROPOSED], np.log(MUCH_LESS * factor), errors[name])
        for name, factor in factors.items()
    ]
    x, redrawn = curve["x"], curve.groupby("x")["redrawn_count"].first()
    trials = curve["trials"].max()
    return Verdict(
        judge(compared),
        f"From K = {number(x.min())} to {number(x.max())} the mean KL grows: {'; '.join(words)}. "
        f"In nats the proposed mechanism's rises by {number(own_nats)}, a baseline's by at least "
        f"{number(min(rises_by.values()))}. "
        f"Data sets redrawn for {trials} trials: {', '.join(f'{r} at K = {number(k)}' for k, r in redrawn.items())}.",
        deciding_trials=deciding(compared, trials),
    )


def nearest_to_histogram(distances: pd.DataFrame) -> Verdict:
    """Judge liu-6: total variation distance of released marginals to the histogram (``liu_marginal_distances``)."""
    comparisons, words = [], []
    fit = distances[distances["curve"] == "fit"].set_index("component")["tv_histogram_mean"]
    for component, at in _published(distances).groupby("component"):
        own, others = at[at["curve"] == PROPOSED].iloc[0], at[at["curve"] != PROPOSED]
        best = others.loc[others["tv_histogram_mean"].idxmin()]
        words.append(
            f"class {component}: {number(own.tv_histogram_mean)} against {number(best.tv_histogram_mean)} "
            f"({_words(best.curve)}; the fit itself {number(fit[component])})"
        )
        for o in others.itertuples():
            where = f"{_words(o.curve)} in class {component}"
            pair = (own.tv_histogram_mean, own.tv_histogram_se, o.tv_histogram_mean, o.tv_histogram_se)
            comparisons.append(Comparison(where, *pair))
    lost = [c.where for c in comparisons if c.lost]
    return Verdict(
        judge(comparisons),
        f"Total variation distance to the histogram, proposed against the best baseline: {'; '.join(words)}. "
        f"Baselines that are closer: {listed(lost) or 'none'}.",
        deciding_trials=deciding(comparisons, distances["trials"].max()),
    )


def small_classes_diverge(distances: pd.DataFrame) -> Verdict:
    """Judge liu-8: marginals of large classes close to the fit, of small ones not (``liu_marginal_distances``)."""
    own = distances[distances["curve"] == PROPOSED]
    by_class = own.groupby("component").agg(
        records=("record_count", "first"), mean=("tv_fit_mean", "mean"), most=("tv_fit_mean", "max")
    )
    by_class = by_class.sort_values("records", ascending=False, kind="stable")
    words = [
        f"{number(row.mean)} (up to {number(row.most)}) in the class of {row.records}"
        for row in by_class.itertuples()
    ]
    measured = f"Total variation distance of the proposed release to the fit, mean over hours: {', '.join(words)}."
    if len(by_class) <= LARGE_CLASSES:
        return Verdict(OPEN, f"{measured} There are too few classes.")
    large, small = by_class.iloc[:LARGE_CLASSES], by_class.iloc[LARGE_CLASSES:]
    holds = (large["mean"] <= CLOSE).all() and (small["most"] > CLOSE).all()
    return Verdict(HOLDS if holds else FAILS, measured)


def accurate(accuracy: pd.DataFrame) -> Verdict:
    """Judge liu-10: accuracy near that of the fit, baselines' far below (``liu_accuracy``)."""
    words, near, far = [], [], []
    for x, at in accuracy.groupby("x"):
        own, fit = (at[at["mechanism"] == name].iloc[0] for name in (PROPOSED, "fit"))
        others = _published(at)[_published(at)["mechanism"] != PROPOSED]
        best, where = others.loc[others["accuracy_mean"].idxmax()], f"epsilon {number(x)}"
        near.append(Comparison(where, fit.accuracy_mean - own.accuracy_mean, own.accuracy_se, CLOSE, 0.0))
        error = np.hypot(own.accuracy_se, best.accuracy_se)
        far.append(Comparison(where, CLOSE, 0.0, own.accuracy_mean - best.accuracy_mean, error))
        words.append(
            f"{own.accuracy_mean:.3f} (best baseline {best.accuracy_mean:.3f}, {_words(best.mechanism)}) "
            f"at ε = {number(x)}"
        )
    won = [sum(not c.lost for c in compared) for compared in (near, far)]
    return Verdict(
        judge([*near, *far]),
        f"Accuracy without privacy {fit.accuracy_mean:.3f}; proposed {'; '.join(words)}. "
        f"Close to the fit at {won[0]} and far above the baselines at {won[1]} of {len(near)} values of ε.",
        deciding_trials=deciding([*near, *far], accuracy["trials"].max()),
    )


def exponent(work: pd.DataFrame, solver: str, varied: str, value: str = "work") -> tuple[float, float]:
    """Return the slope of log ``value`` over log size by least squares, and its standard error (``liu_sdp_work``)."""
    rows_of = work[(work["solver"] == solver) & (work["varied"] == varied)]
    size = rows_of["record_count" if varied == "records" else "class_count"]
    fit = linregress(np.log(size), np.log(rows_of[value]))
    return float(fit.slope), float(fit.stderr)


def converges(convergence: pd.DataFrame) -> Verdict:
    """Judge liu-11 (table ``liu_convergence``)."""
    rise = (convergence["largest_rise"] / convergence["objective_last"].abs()).max()
    stops = bool((convergence["pass_count"] < ITERATIONS).all()) and rise <= STILL
    moved = (convergence["epsilon_0_share"] - 1 / 3).abs().max()
    change = (convergence["objective_last"] - convergence["objective_first"]).abs().max()
    ending = ", so it never leaves its start" if max(change, moved) <= STILL else ""
    passes = convergence["pass_count"]
    return Verdict(
        HOLDS if stops else FAILS,
        f"It stops after {span(str(passes.min()), str(passes.max()))} passes in each of {len(convergence)} runs; its "
        f"objective moves by at most {number(change)} after the first pass and the share of the frequencies by "
        f"{number(moved)} from a third{ending}.",
    )


def work_of_order(work: pd.DataFrame) -> dict[str, Verdict]:
    """Judge liu-13 (table ``liu_sdp_work``); an exponent is on a side of another if its whole interval is."""
    found = {varied: exponent(work, "interior_point", varied) for varied in ORDER}
    above, below = (
        [side * (slope - ORDER[varied]) > SURE * se for varied, (slope, se) in found.items()] for side in (1, -1)
    )
    iterations = exponent(work, "interior_point", "records", "iteration_count")
    own, size = exponent(work, "own", "records"), work.groupby("solver")["record_count"].agg(["min", "max"])
    measured = (
        f"Counted as dense factorisations, the work of Clarabel on (23) as printed grows as "
        f"N^{_interval(found['records'])} (N = {size.loc['interior_point', 'min']} to "
        f"{size.loc['interior_point', 'max']}; its iterations as N^{_interval(iterations)}) and "
        f"K^{_interval(found['classes'])}; that of our solver as N^{_interval(own)} (N up to "
        f"{size.loc['own', 'max']:,})."
    )
    return {
        "as an upper bound": Verdict(FAILS if any(above) else HOLDS if all(below) else OPEN, measured),
        "as the order of growth": Verdict(FAILS if any(above + below) else HOLDS, measured),
    }


def _interval(slope: tuple[float, float]) -> str:
    """Write an exponent with two standard errors."""
    return f"{slope[0]:.2f} ± {SURE * slope[1]:.2f}"


def gaussian_classes(normality: pd.DataFrame, dimension: int) -> Verdict:
    """Judge liu-12 (table ``normality``)."""
    judged = normality[normality["household_count"] >= SMALL_CLASS_FACTOR * dimension].dropna()
    if judged.empty:
        return Verdict(OPEN, "No class has enough households with a regular covariance.")
    level = NORMALITY_LEVEL / (2 * len(judged))  # two tests a class
    freedom = dimension * (dimension + 1) * (dimension + 2) / 6
    skewed = chi2.sf(judged["household_count"] * judged["mardia_skewness"] / 6, freedom) < level
    tailed = 2 * norm.sf(judged["mardia_kurtosis_z"].abs()) < level
    off = (judged["share_within_90"] - ELLIPSOID).abs() > ELLIPSOID_MARGIN
    rejected = skewed | tailed
    words = [
        f"class {r.component} ({r.household_count}): {r.share_within_90:.1%}, z = {r.mardia_kurtosis_z:.1f}"
        for r in judged.itertuples()
    ]
    measured = (
        f"Per class (households) the share inside the 90 % ellipsoid and Mardia's kurtosis: {'; '.join(words)}. "
        "Mardia's tests reject in "
        f"{int(rejected.sum())} of {len(judged)} classes, the share is off in {int(off.sum())}."
    )
    return Verdict(FAILS if rejected.any() or off.any() else HOLDS, measured)


def under(
    table: pd.DataFrame, rule: Callable[[pd.DataFrame], Verdict], between_mechanisms: bool = True
) -> dict[str, Verdict]:
    """Judge a table with a column ``reading`` once for each variant, and say what its mechanisms are charged."""
    found = {}
    for name, part in table.groupby("reading", sort=False):
        variant = next(v for v in VARIANTS if name.startswith(v.name))
        of = {"adjacency": _NEIGHBOURS[variant.flips], "charge": _CHARGE[variant.over_classes]}
        verdict = replace(rule(part), **of)
        favoured = between_mechanisms and variant.over_classes == "split"
        found[name] = verdict.unless_favoured(_FAVOURED) if favoured else verdict
    return found


def under_flips(table: pd.DataFrame, rule: Callable[[pd.DataFrame], Verdict]) -> dict[str, Verdict]:
    """As :func:`under`, for a claim about the proposed mechanism alone: what baselines do is no variant of it."""
    shown = {v.name: v for v in VARIANTS if v.over_classes == SHOWN.over_classes}
    judged = under(table[table["reading"].isin(shown)], rule)
    return {FLIPS[shown[name].flips]: verdict for name, verdict in judged.items()}


for _item, _claim, _rule, _figure, _judge in (
    (
        "liu-1",
        "The proposed mechanism has the lowest KL divergence at every epsilon (Fig. 1).",
        _LOWEST,
        "fig1",
        lowest,
    ),
    ("liu-5", _LOWER.format("Iris", 5), _LOWEST, "fig5", lowest),
    ("liu-9", _LOWER.format("MNIST", 9), _LOWEST, "fig9", lowest),
):
    CLAIMS.claim(_item, _claim, _rule, _figure)(partial(under, rule=_judge))
for _item, _claim, _figure, _judge in (
    ("liu-2", "KL divergence falls as the number of records N grows (Fig. 2).", "fig2", falling),
    ("liu-4", "Every mechanism deteriorates as the dimension d grows (Fig. 4).", "fig4", rising),
):
    CLAIMS.claim(_item, _claim, _TREND, _figure)(partial(under, rule=_judge, between_mechanisms=False))
CLAIMS.claim("liu-7", _LOWER.format("On the load profiles at hand", 7), _LOWEST, "fig7", at_hand=True)(
    partial(under, rule=lowest)
)
CLAIMS.claim(
    "liu-3",
    "KL divergence rises with the number of classes K, and the proposed mechanism is much less sensitive to K "
    "than the baselines (Fig. 3).",
    "every published mechanism's mean rises from the smallest to the largest K, and that of kl_published by less "
    "than half the factor of every baseline, both by two standard errors",
    "fig3",
)(partial(under, rule=sensitivity))
CLAIMS.claim(
    "liu-6",
    "Iris: marginals of the proposed mechanism are closer to the histogram than the baselines' (Fig. 6).",
    "in every class the mean total variation distance to the histogram is below every published baseline's by "
    "two standard errors",
    "fig6_distances",
    on=("fig5",),
)(partial(under, rule=nearest_to_histogram))
CLAIMS.claim(
    "liu-8",
    "Load profiles: released marginals are close to the fit in classes 1 to 4 and diverge from it in some hours "
    "of classes 5 and 6, which are small (Fig. 8).",
    f"mean total variation distance to the fit, averaged over hours, at most {CLOSE} in each of the four largest "
    f"classes, and above {CLOSE} in some hour of every other class",
    "fig8_distances",
    on=("fig7",),
)(partial(under_flips, rule=small_classes_diverge))
CLAIMS.claim(
    "liu-10",
    "MNIST: accuracy is close to the non-private classifier's, that of the baselines much lower (Fig. 10).",
    f"at every epsilon the mean accuracy of kl_published is within {CLOSE} of the fit's and every published "
    f"baseline's more than {CLOSE} below kl_published, both by two standard errors",
    "fig10",
)(partial(under, rule=accurate))
CLAIMS.claim(
    "liu-11",
    "Algorithm 1 converges.",
    "every run stops and its objective never rises",
    "convergence",
    on=("fig1",),
)(converges)
CLAIMS.claim(
    "liu-12",
    "Logarithms of load profiles are fitted well by a Gaussian mixture.",
    f"in no class of at least {SMALL_CLASS_FACTOR} d households the share inside the fitted 90 % ellipsoid is "
    f"off by {ELLIPSOID_MARGIN}, or Mardia's tests reject at 1 % over all classes",
    "normality",
    on=("fig7",),
    at_hand=True,
)(partial(gaussian_classes, dimension=HALF_DAY["hours"]))
CLAIMS.claim(
    "liu-13",
    "Solving (23) by an interior-point method takes work of order N^3.5 K^6 (Remark 2).",
    "with two standard errors both exponents are below the stated ones (an upper bound), or hold them (the order of "
    "growth)",
    "sdp_work",
    on=("fig1",),
)(work_of_order)
