"""What the report says about the cost of mechanisms: the sentence of the key results, and the tables.

The measure is the log-likelihood of households a mechanism has not seen, against the mixture of the study; where none
could be held out it is that of the households of the fit, and the words say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meterdp.evaluation.tables import COST
from meterdp.figures.numbers import count, differs, percent, plain, plus_minus, significant
from meterdp.figures.report.grid import Grid, Tables, count_range
from meterdp.figures.style import in_order, look
from meterdp.mixture.support import too_many_classes

if TYPE_CHECKING:
    import pandas as pd

REFERENCES = {"fit": "the fit", "own_classes": "a fit to its own classes"}
FAMILIES = {
    "published": "as printed in the paper",
    "exact": "same constraint, true optimum",
    "sound": "with a proof",
}
MOST_NATS_AS_FACTOR = 10.0  # beyond, "more than 22,000 times less likely" says as much to a reader
GUARANTEES = {"published": "invalid", "exact": "invalid", "sound": "proven"}


def was_held_out(cost: pd.DataFrame) -> bool:
    """Whether the study had enough households to hold some out."""
    return bool(cost["heldout_gap_mean"].notna().any())


def classes_in_words(number: int) -> str:
    """Write a number of classes."""
    return f"{count(number)} class{'' if number == 1 else 'es'}"


def cost_sentences(tables: Tables, preferred: float | None) -> list[str]:
    """Say how well the release with a proof, then the other families, describe households at ``preferred`` epsilon.

    Without that epsilon in the table the middle one is taken.
    """
    cost = tables.get("cost")
    if cost is None:
        return []
    epsilons = np.sort(cost["epsilon"].unique())
    epsilon = preferred if preferred in epsilons else epsilons[len(epsilons) // 2]
    held_out = was_held_out(cost)
    mean, error = _gap_columns(held_out)
    rows = cost[cost["epsilon"] == epsilon].copy()
    rows[mean] = rows[mean].fillna(np.inf)
    best = rows.loc[rows.groupby("family")[mean].idxmin()].set_index("family")
    who = "new households" if held_out else "the households of the fit (too few to hold any out)"
    study = f"the study’s own mixture ({_study(tables)})"
    sentences = []
    if "sound" in best.index:
        row = best.loc["sound"]
        sentences.append(
            f"At ε = {plain(epsilon)}, {_compared('the release with a proof', who, study, row[mean], row[error])}"
            f"{_same_classes(row, tables)} This is the {look(row['mechanism']).label}, with "
            f"{classes_in_words(row['classes'])}; neighbouring data sets differ in {row['unit']}."
        )
    others = [
        f"{_by(best.loc[family, mean], best.loc[family, error])} "
        f"({look(best.loc[family, 'mechanism']).label}, the best of the family ‘{family}’)"
        for family in ("exact", "published")
        if family in best.index
    ]
    if others:
        lead = "By the same measure" if sentences else f"At ε = {plain(epsilon)} and against {study}"
        sentences.append(f"{lead}, mechanisms whose guarantee does not hold describe {who} {' and '.join(others)}.")
    if sentences and "class_table" in tables and "profile_hours" in tables:
        sizes = tables["class_table"]["household_count"].to_numpy()
        if too_many_classes(sizes, len(tables["profile_hours"])):
            sentences.append(
                "The study’s own mixture has too many classes for so few households: that something describes "
                "households better than it does says little."
            )
    return sentences


def _gap_columns(held_out: bool) -> tuple[str, str]:
    return ("heldout_gap_mean", "heldout_gap_se") if held_out else ("loglik_gap_mean", "loglik_gap_se")


def _verdict(gap: float) -> str:
    return "worse" if gap >= 0 else "better"


def _compared(release: str, who: str, study: str, gap: float, error: float) -> str:
    """Say how well a release describes households against the mixture of the study."""
    if not differs(gap, error):
        return (
            f"no difference is found between {release} and {study} in how well they describe {who} "
            f"({plus_minus(gap, error)} nats each)."
        )
    by = f"{plus_minus(abs(gap), error)} nats each{_likely(gap)}"
    return f"{release} describes {who} {_verdict(gap)} than {study}, by {by}."


def _by(gap: float, error: float) -> str:
    if not differs(gap, error):
        return f"no differently, by {plus_minus(gap, error)} nats each"
    return f"{_verdict(gap)} by {plus_minus(abs(gap), error)} nats each"


def _likely(gap: float) -> str:
    """Say what a gap in nats means for the likelihood of a household; beyond a point only that it is more."""
    if not np.isfinite(gap):
        return ""
    less = "less" if gap >= 0 else "more"
    if abs(gap) > MOST_NATS_AS_FACTOR:
        return f" (more than {significant(np.exp(MOST_NATS_AS_FACTOR), 2)} times {less} likely)"
    return f" (e^{significant(abs(gap))} = {significant(np.exp(abs(gap)), 2)} times {less} likely)"


def _study(tables: Tables) -> str:
    classes = f"{classes_in_words(len(tables['class_table']))}, " if "class_table" in tables else ""
    return f"{classes}no privacy"


def _same_classes(row: pd.Series, tables: Tables) -> str:
    gap = row["heldout_gap_same_k_mean"]
    same = "class_table" in tables and len(tables["class_table"]) == row["classes"]
    if same or not np.isfinite(gap):
        return ""
    without = f"a mixture of {classes_in_words(row['classes'])} without privacy"
    return f" Against {without} it describes them {_verdict(gap)} by {significant(abs(gap))} nats."


def mechanism_grid(tables: Tables) -> Grid | None:
    """What each mechanism promises, or would promise if its proof held."""
    data = tables.get("cost")
    if data is None:
        return None
    rows = []
    for mechanism in in_order(data["mechanism"]):
        part = data[data["mechanism"] == mechanism]
        first = part.iloc[0]
        delta = ", ".join(plain(value) for value in sorted(part["delta"].unique()))
        family = first["family"]
        words = (look(mechanism).label, f"{family}: {FAMILIES[family]}", GUARANTEES[family], first["unit"])
        ends = (delta, count_range(part["classes"]), count_range(part["draw_count"]))
        rows.append((*words, first["adjacency"], REFERENCES[first["kl_reference"]], *ends))
    words = ("mechanism", "family", "guarantee", "what one neighbour changes", "adjacency", "KL compares with")
    return Grid("Mechanisms compared", (*words, "δ", "classes", "draws"), rows, words=len(words))


def gap_grid(tables: Tables) -> Grid | None:
    """Log-likelihood lost per household, a row a mechanism and a column an epsilon."""
    data = tables.get("cost")
    if data is None:
        return None
    held_out = was_held_out(data)
    mean, error = _gap_columns(held_out)
    epsilons = np.sort(data["epsilon"].unique())
    rows = []
    for mechanism in in_order(data["mechanism"]):
        part = data[data["mechanism"] == mechanism].set_index("epsilon").reindex(epsilons)
        label, guarantee = look(mechanism).label, GUARANTEES[part["family"].dropna().iloc[0]]
        cells = [plus_minus(a, b) for a, b in zip(part[mean], part[error], strict=True)]
        rows.append((label, guarantee, *cells))
        same = part["heldout_gap_same_k_mean"]
        if held_out and (same.notna() & (same != part[mean])).any():
            classes = count_range(part["classes"].dropna().astype(int))
            rows.append((f"{label}, against {classes} classes", guarantee, *map(significant, same)))
    whose = "households held out, mean ± SE over five folds" if held_out else "households of the fit, mean ± SE"
    caption = (
        f"Log-likelihood lost per household against the study’s mixture ({_study(tables)}), in nats: {whose}; within "
        "two SE of 0 there is no difference"
    )
    return Grid(caption, ("mechanism", "guarantee", *(f"ε = {plain(e)}" for e in epsilons)), rows, words=2)


def cost_grid(tables: Tables) -> Grid | None:
    """Every other measure of each mechanism at each epsilon."""
    data = tables.get("cost")
    if data is None:
        return None
    rows = []
    for mechanism in in_order(data["mechanism"]):
        for r in data[data["mechanism"] == mechanism].sort_values("epsilon").itertuples():
            cells = (
                count(r.classes),
                significant(r.heldout_loglik_mean),
                plus_minus(r.loglik_gap_mean, r.loglik_gap_se),
                plus_minus(r.kl_mean, r.kl_se),
                significant(r.kl_median),
                significant(r.kl_small_classes_mean),
                percent(r.projected_share),
            )
            rows.append((look(mechanism).label, plain(r.epsilon), *cells))
    header = ("mechanism", "ε", "classes", "held-out log-likelihood", "lost on the households of the fit")
    header = (*header, "KL, mean ± SE", "KL, median", "KL mean, small classes", "draws projected")
    return Grid("Further measures of each mechanism, in nats per household", header, rows)


def cost_families(tables: Tables) -> list[str]:
    """Families the study compared, in the order of the house."""
    data = tables.get("cost")
    return [] if data is None else [family for family in FAMILIES if family in set(data["family"])]


READS = (COST,)
GRIDS = {"mechanisms": mechanism_grid, "gap": gap_grid, "cost": cost_grid}
