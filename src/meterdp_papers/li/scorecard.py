"""The claims of Li et al. in our words, and a verdict on each, computed from the tables of the reproduction."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meterdp.pages import numbers
from meterdp_papers.common.scorecard import FAILS, HOLDS, OPEN, Claims, Verdict, listed, number, span
from meterdp_papers.li import leakage
from meterdp_papers.li import tables as li

CLAIMS = Claims("Li et al. 2022", "none: nothing is differentially private", "nothing")
READ_OFF = 1e-6  # standard deviations; a record counts as revealed within this
AGREES = 3.0  # standard errors that an estimate may be off its closed form


_WORDS = {"federated": "federated", "secure_sum": "secure summation", "subspace": "subspace"}
_HONEST = "1, 3, 5"


@CLAIMS.claim(
    "li-1",
    "Federated EM reveals every record to the server exactly (6).",
    f"every record follows from what the server is sent in one iteration, to within {READ_OFF:g} standard "
    "deviations: as b/a where a node has one record, by solving its sums where it has several",
    "read_off",
    on=("fig3", "fig2"),
)
def federated_reveals(read_off: pd.DataFrame) -> dict[str, Verdict]:
    table = read_off[read_off["scheme"] == "federated"].set_index("reading")
    found = {}
    for variant, row in table.loc[[li.WITH_CHORD, *li.NODES]].iterrows():
        parts, revealed = [], True
        if not np.isnan(row["quotient_error"]):
            revealed &= row["quotient_error"] <= READ_OFF
            parts.append(f"b/a is at most {number(row['quotient_error'])} off the record of a node that has one.")
        if not np.isnan(row["found_share"]):
            revealed &= row["found_share"] == 1
            parts.append(
                f"Of {row['alone_count']} nodes with up to {row['most_records']} records b/a is a weighted mean; "
                f"solving the sums of one iteration gives all records, up to order, of {row['found_share']:.0%}."
            )
        name = "records of Fig. 3" if variant == li.WITH_CHORD else variant
        found[name] = Verdict(
            HOLDS if revealed else FAILS, " ".join(parts), on="fig3" if variant == li.WITH_CHORD else "fig2"
        )
    return found


@CLAIMS.claim(
    "li-2",
    "With corrupt nodes 2 and 4 secure summation exposes node 3 fully (11) and of nodes 1 and 5 their sum (12).",
    f"in every trial node 3's record follows from the transcript to within {READ_OFF:g} standard deviations, the "
    "transcript fixes the sum of nodes 1 and 5 and no other combination of honest values, and the estimated "
    f"information about node 1 in sums of records is 1/2 ln 2 within {AGREES:g} standard errors",
    "read_off",
    "fig3",
    on=("fig3",),
    defect="D5",
)
def ring_exposes(read_off: pd.DataFrame, leaks: pd.DataFrame) -> Verdict:
    row = read_off[(read_off["scheme"] == "secure_sum") & (read_off["reading"] == li.WITH_CHORD)].iloc[0]
    at = leaks[(leaks["scheme"] == "secure_sum") & (leaks["view"] == li.RECORDS)]
    other = at[at["node"] == li.OTHER_END + 1].iloc[0]
    exact = leakage.of_a_sum(2)
    exposed = row["quotient_error"] <= READ_OFF and row["nothing_more"] and row["groups"] == f"1, 5; {li.EXPOSED + 1}"
    agrees = abs(other["information"] - exact) <= AGREES * other["information_se"]
    if exposed and np.isnan(other["information_se"]):
        verdict = OPEN
    else:
        verdict = HOLDS if exposed and agrees else FAILS
    return Verdict(
        verdict,
        f"In {row['trials']:,} trials node 3's record is at most {number(row['quotient_error'])} off; known sums are "
        f"{row['groups']}{' and nothing more' if row['nothing_more'] else ' and more'}. About node 1 the sum of "
        f"records has {_pm(other)} nats, 1/2 ln 2 being {exact:.4f}. Sums of A, B and C say more than (12) suggests: "
        "they fix the two records up to their order (defect D5).",
    )


def _pm(row: pd.Series) -> str:
    return f"{row['information']:.4f} ± {row['information_se']:.2g}"


@CLAIMS.claim(
    "li-3",
    "Subspace perturbation reveals only the sums over all honest nodes (10), and has the lowest normalised "
    "mutual information about node 1 of the three (Fig. 3).",
    "the transcript fixes the sum over all honest nodes and no other combination of their values, and the "
    f"normalised information by subspace is below that by either other scheme, with {li.CONFIDENCE:.0%} intervals "
    "that do not meet, after every iteration",
    "read_off",
    "fig3",
    "recovery",
    on=("fig3",),
    defect="D5",
)
def subspace_reveals_least(read_off: pd.DataFrame, leaks: pd.DataFrame, recovery: pd.DataFrame) -> dict[str, Verdict]:
    solved = recovery[(recovery["scheme"] == "subspace") & (recovery["records"] == 1)]
    shares = span(*(f"{end:.0%}" for end in (solved["found_share"].min(), solved["found_share"].max())))
    runs = numbers.counted(int(solved["trials"].min()), "run")
    words = (
        f" With responsibilities that are functions of the records, as in EM, the sums of one iteration over three "
        f"honest nodes of one record each gave all three, up to their order, in {shares} of {runs} "
        "(defect D5)."
    )
    # The cycle alone is no variant: the text has the honest nodes connected once corrupt ones are gone (defect D8).
    known = read_off[(read_off["scheme"] == "subspace") & (read_off["reading"] == li.WITH_CHORD)].iloc[0]
    alone = known["groups"] == _HONEST and known["nothing_more"]
    sums = f"Known sums under subspace: {known['groups']}{'' if known['nothing_more'] else ', and more'}. "
    found = {}
    for view in li.VIEWS:
        at = leaks[(leaks["graph"] == li.WITH_CHORD) & (leaks["view"] == view) & (leaks["node"] == li.OTHER_END + 1)]
        for normalisation in li.NORMALISATIONS:
            verdict, measured = _order(at, normalisation)
            found[f"{view}; {normalisation}"] = Verdict(
                verdict if alone else FAILS, sums + measured + (words if alone else "")
            )
    return found


def _order(at: pd.DataFrame, normalisation: str) -> tuple[str, str]:
    """Compare the schemes after every iteration, and write down the first and the last."""
    name = li.NORMALISATIONS[normalisation]
    ends = {name: "value", f"{name}_low": "low", f"{name}_high": "high", "linfoot_exact": "exact"}
    values = at[["scheme", "iteration", *ends]].rename(columns=ends)
    wide = {scheme: of.set_index("iteration") for scheme, of in values.groupby("scheme")}
    *others, least = (wide[scheme] for scheme in li.SCHEMES)
    apart = all((more["low"] > least["high"]).all() for more in others)
    reversed_ = any((more["high"] < least["low"]).any() for more in others)
    verdict = FAILS if reversed_ else HOLDS if apart else OPEN
    words = "; ".join(
        f"after iteration {i}: " + ", ".join(f"{_WORDS[s]} {_interval(wide[s].loc[i])}" for s in li.SCHEMES)
        for i in sorted({values["iteration"].min(), values["iteration"].max()})
    )
    exact = ""
    if normalisation == li.LINFOOT:
        known = [
            f"{_WORDS[s]} {wide[s]['exact'].iloc[0]:.4f}" for s in li.SCHEMES if not wide[s]["exact"].isna().iloc[0]
        ]
        exact = f" Exact: {listed(known)}."
    if all(wide[s]["exact"].iloc[0] == 1 for s in li.SCHEMES[:2]):
        exact += (
            " By Linfoot's measure federated and secure sum exactly come to 1 alike, as what they tell is infinite; "
            "the estimator, which is finite, puts these two in an order."
        )
    if at["view"].iloc[0] == li.ALL_SO_FAR:
        exact += " Information cannot fall as the view grows; the estimates do, by their bias in many dimensions."
    return verdict, f"Node 1, {words}.{exact}"


def _interval(row: pd.Series) -> str:
    return f"{row['value']:.4f} ({row['low']:.4f} to {row['high']:.4f})"


@CLAIMS.claim(
    "li-4",
    "The log-likelihood after every iteration is that of the exact scheme (Fig. 2).",
    f"by every scheme and after every iteration it is within {li.SAME_LOG_LIKELIHOOD:g} nats of that of EM with all "
    "records in one place",
    "fig2",
)
def same_likelihood(likelihoods: pd.DataFrame) -> dict[str, Verdict]:
    found = {}
    for variant, at in likelihoods.groupby("reading", sort=False):
        schemes = at[at["scheme"] != "central"]
        largest = schemes.groupby("scheme", sort=False)["difference"].max()
        central = at[at["scheme"] == "central"].sort_values("iteration")["log_likelihood"]
        words = listed(f"{_WORDS.get(s, s)} {number(value)}" for s, value in largest.items())
        found[variant] = Verdict(
            HOLDS if largest.max() <= li.SAME_LOG_LIKELIHOOD else FAILS,
            f"Largest difference over {len(central) - 1} iterations, nats: {words}. EM goes from "
            f"{central.iloc[0]:.2f} to {central.iloc[-1]:.2f} nats; nodes' parameters differ by at most "
            f"{number(schemes['spread'].max())}.",
        )
    return found
