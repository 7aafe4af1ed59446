"""Verdicts on the claims of Ramakrishna et al., each computed from the tables of the reproduction.

Rules are in ``claims``. What a rule does not ask for (other designs, other sides) is said in the sentence
and does not enter the verdict.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from meterdp.papers.common.scorecard import (
    FAILS,
    HOLDS,
    OPEN,
    Comparison,
    Tables,
    Verdict,
    judge,
    listed,
    number,
    rows,
    span,
)
from meterdp.papers.ramakrishna.claims import ACCURATE, CLAIMS, NEAR, PAPER, PRINTED_NMSE, SURE_OF_ONE

_SCALES = {"log_kwh": "log kWh", "kwh": "kWh"}
_READING = ["query_model", "accuracy_convention", "sides"]


def _delta(value: float) -> str:
    """Write a probability; near one by what is missing to it."""
    return f"1 - {1 - value:.1e}" if 0.999 < value < 1 else number(value)


def below_white(fig2: pd.DataFrame) -> Verdict:
    """Judge ram-1 (table ``ramakrishna_fig2``)."""
    own = fig2[(fig2["design"] == "published") & (fig2["sides"] == "two")]
    lower, shrinks, words = [], [], []
    for convention, at in own.groupby("accuracy_convention"):
        lower += [
            Comparison(f"rho {number(r.rho)}, epsilon {number(r.epsilon)}", r.excess_mean, r.excess_se, 0.0, 0.0)
            for r in at.itertuples()
        ]
        by_rho = at.groupby("rho").agg(gain=("excess_mean", lambda e: -e.mean()), se=("excess_se", "mean"))
        first, last = by_rho.iloc[0], by_rho.iloc[-1]
        shrinks.append(Comparison(convention, last.gain, last.se, first.gain, first.se))
        gains = ", ".join(f"{number(row.gain)} at ρ = {number(rho)}" for rho, row in by_rho.iterrows())
        share = at["below_white_share"]
        shown = int((at["delta_shown"] < _white_shown(fig2, at)).sum())
        words.append(
            f"{convention.replace('_', ' ')}: mean improvement over white noise, averaged over ε, {gains}; "
            f"lower than white in {span(f'{share.min():.0%}', f'{share.max():.0%}')} of the sets, depending on ρ and "
            f"ε; on the set shown lower at {shown} of {len(at)} points"
        )
    lost = sorted({c.where for c in lower if c.lost})
    verdicts = {judge(lower), judge(shrinks)}
    return Verdict(
        FAILS if FAILS in verdicts else OPEN if OPEN in verdicts else HOLDS,
        f"{'. '.join(w[0].upper() + w[1:] for w in words)}. Points where the mean is not lower: "
        f"{listed(lost) or 'none'}. {fig2['trials'].max()} sets.",
    )


def _white_shown(fig2: pd.DataFrame, at: pd.DataFrame) -> np.ndarray:
    """Delta of white noise on the set shown, in the order of ``at``."""
    keys = ["accuracy_convention", "rho", "sides", "epsilon"]
    white = fig2[fig2["design"] == "white"].set_index(keys)["delta_shown"]
    return white.loc[pd.MultiIndex.from_frame(at[keys])].to_numpy()


def certain_without_noise(fig4: pd.DataFrame) -> Verdict:
    """Judge ram-2 (table ``ramakrishna_fig4``)."""
    own = fig4[(fig4["design"] == "none") & fig4["sides"].isin(["one", "two"])]
    smallest = own.groupby(["query_model", "sides"])["delta"].min()
    words = [f"{_delta(d)} ({model}, {sides}-sided)" for (model, sides), d in smallest.items()]
    # The law of the query itself is not the paper's (defect R9): reported, not judged.
    judged = smallest.drop("stochastic", level="query_model", errors="ignore")
    return Verdict(
        HOLDS if (judged >= 1 - SURE_OF_ONE).all() else FAILS,
        f"Smallest delta of the worst pair over epsilon without noise: {', '.join(words)}.",
    )


def printed_numbers(numbers: pd.DataFrame, item: str) -> Verdict:
    """Judge ram-3 and ram-4 (table ``ramakrishna_numbers``)."""
    own = numbers[numbers["item"] == item].dropna(subset="delta")
    if own.empty:
        return Verdict(OPEN, "No household has a neighbour, so there is no pair to tell apart.")
    off = own.assign(off=(own["delta"] - own["delta_printed"]).abs()).groupby(_READING)["off"].max()
    best = off.idxmin()
    nearest = own[(own[_READING] == list(best)).all(axis=1)]
    words = [
        f"{_delta(r.delta)} against {r.delta_printed:g} ({r.design}, ρ = {r.rho:g}, ε = {r.epsilon:g})"
        for r in nearest.itertuples()
    ]
    return Verdict(
        HOLDS if off.min() <= NEAR else FAILS,
        f"The nearest of {len(off)} readings ({best[0]} query, rho {best[1].replace('_', ' ')}, {best[2]}-sided) is "
        f"off by up to {number(off.min())}: {'; '.join(words)}. Over all readings ours lie between "
        f"{_delta(own['delta'].min())} and {_delta(own['delta'].max())}.",
    )


def accurate_forecasts(errors: pd.DataFrame, forecast_errors: pd.DataFrame) -> Verdict:
    """Judge ram-5 (tables ``ramakrishna_fig3_errors`` and ``forecast_errors``)."""
    released = errors[errors["line"] == "released"]
    by_meaning = released.groupby(["scale", "reference"])["nmse"].agg(["min", "max"])
    words = [
        f"{number(row['min'])} to {number(row['max'])} in {_SCALES[scale]} against the {reference}"
        for (scale, reference), row in by_meaning.iterrows()
    ]
    arma = forecast_errors[forecast_errors["method"] == "arma"].set_index("scale")["relative_mse"]
    of_arma = [f"{number(value)} in {_SCALES[scale]}" for scale, value in arma.items()]
    small = (by_meaning["max"] <= max(PRINTED_NMSE)).any()
    accurate = (arma < ACCURATE).all()
    return Verdict(
        HOLDS if small and accurate else FAILS,
        f"NMSE of the released forecasts of three houses: {'; '.join(words)}; printed {number(min(PRINTED_NMSE))} to "
        f"{number(max(PRINTED_NMSE))}. Squared error of the ARMA forecast over the variance of the readings, all "
        f"homes and origins: {', '.join(of_arma)}.",
    )


def steps_lower(descents: pd.DataFrame) -> Verdict:
    """Judge ram-6 (table ``ramakrishna_descents``)."""
    words = []
    for source, at in descents.groupby("source"):
        steps, halved = at["iteration_count"].sum(), at["halved_step_count"].sum()
        touched = (at["halved_step_count"] > 0).mean()
        worse = (at["surrogate_released"] > at["surrogate_white"]).mean()
        words.append(
            f"{source}: {len(at)} runs, {steps:,} steps, {halved:,} halvings for J to fall, in {touched:.1%} of the "
            f"runs; after the rescaling (50) J is above that of white noise in {worse:.1%} (defect R2)"
        )
    none = not descents["halved_step_count"].any()
    rises = (descents["surrogate_descended"] > descents["surrogate_white"]).any()
    return Verdict(HOLDS if none and not rises else FAILS, f"{'. '.join(w[0].upper() + w[1:] for w in words)}.")


def scorecard(tables: Tables) -> pd.DataFrame:
    """Return the columns of the table ``scorecard`` for all claims of the paper.

    Parameters
    ----------
    tables : mapping
        Data frames by name: fig2, fig4, numbers, fig3_errors, forecast_errors and descents.
    """
    households = tuple(tables["fig3_errors"].iloc[0][["data", "substitute"]])
    synthetic = (tables["fig2"].iloc[0]["data"], None)
    verdicts = {
        "ram-1": below_white(tables["fig2"]),
        "ram-2": certain_without_noise(tables["fig4"]),
        "ram-3": printed_numbers(tables["numbers"], "ram-3"),
        "ram-4": printed_numbers(tables["numbers"], "ram-4"),
        "ram-5": accurate_forecasts(tables["fig3_errors"], tables["forecast_errors"]),
        "ram-6": steps_lower(tables["descents"]),
    }
    sources = {item: synthetic if item == "ram-1" else households for item in verdicts}
    both = (f"{synthetic[0]}; {households[0]}", households[1])
    return rows(PAPER, CLAIMS, verdicts, sources | {"ram-6": both})
