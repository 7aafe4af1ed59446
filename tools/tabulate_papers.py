"""Write docs/measured: the numbers of the errata, and those on which the variants of the papers turn.

``python tools/tabulate_papers.py errata``, and ``python tools/tabulate_papers.py variants results/reproduce`` after
``snakemake reproduce``: of what has no table there, the numbers of before stay, and it is said. The errata are put on
their page, too.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from meterdp.core.noise import StudyNoise
from meterdp_papers.common.tables import Finding
from meterdp_papers.errata import measure

DOCS = Path(__file__).resolve().parents[1] / "docs"
MEASURED = DOCS / "measured"
SEED = 20261121

PROPOSED = "kl_published"
PARK_EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
CLUSTERINGS = ("kmeans", "dplloyd_linear", "dplloyd_zcdp", "dp_kmeans")


def rounded(value: float, digits: int) -> str:
    """Write a number with so many significant digits, never with an exponent of ten that words do not need."""
    short = float(f"{value:.{digits}g}")
    return f"{short:,.0f}" if abs(short) >= 100 else f"{short:g}"


def pm(value: float, error: float) -> str:
    """Write a value with its standard error."""
    return rounded(value, 3) if np.isnan(error) else f"{rounded(value, 3)} ± {rounded(error, 1)}"


VERDICTS = {"holds": "yes", "does not hold": "no", "cannot be judged": "open"}


def stream(defect: str) -> StudyNoise:
    """Return the stream of one defect."""
    return StudyNoise(SEED, "errata", defect)


def errata(findings: dict[str, tuple[Finding, ...]]) -> list[list[str]]:
    """Return one row per finding: three significant digits, or a dash; whole numbers from 100 on."""
    rows = [["defect", "statement", "quantity", "setting", "measured", "check", "text"]]
    for found in findings.values():
        for f in found:
            error = f" ± {f.standard_error:.1g}" if f.standard_error else ""
            unit = "" if f.unit == "1" else f" {f.unit}"
            numbers = (f"{_number(f.value)}{error}{unit}", _number(f.closed_form), _number(f.claimed))
            rows.append([f.id, f.statement, f.quantity, f.settings, *numbers])
    return rows


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def verdicts(folder: Path) -> list[list[str]]:
    """Return whether the claims hold under each of their variants, on which data, for which neighbours and charge."""
    card = table(folder / "scorecard.parquet")
    rows = []
    for row in card.itertuples():
        more = "–" if pd.isna(row.deciding_trials) else f"{row.deciding_trials:,.0f}"
        data = row.data if pd.isna(row.substitute) else f"{row.data} (a stand-in)"
        rows.append([row.item, row.reading, row.adjacency, row.charge, data, VERDICTS[row.holds], more])
    return [["claim", "variant", "neighbours", "charged", "data", "holds", "trials that would decide"], *rows]


def divergences(folder: Path) -> list[list[str]]:
    """Figs 1, 5, 7 and 9 of Liu et al.: the proposed mechanism and the best baseline at every epsilon."""
    rows = []
    for figure in ("fig1", "fig5", "fig7", "fig9"):
        curve = table(folder / f"liu/{figure}.parquet")
        curve = curve[curve["family"] == "published"]
        for reading, of_reading in curve.groupby("reading", sort=False):
            for x, at in of_reading.groupby("x"):
                own = at[at["mechanism"] == PROPOSED].iloc[0]
                best = at[at["mechanism"] != PROPOSED].nsmallest(1, "kl_mean").iloc[0]
                cells = [pm(r.kl_mean, r.kl_se) for r in (own, best)]
                medians = [rounded(r.kl_median, 3) for r in (own, best)]
                rows.append([figure, reading, f"{x:g}", cells[0], medians[0], best.mechanism, cells[1], medians[1]])
    header = ["figure", "variant", "ε", "proposed, mean", "median", "best baseline", "its mean", "its median"]
    return [header, *rows]


def growths(folder: Path) -> list[list[str]]:
    """Fig. 3 of Liu et al.: factor by which the mean grows from the smallest to the largest K."""
    curve, rows = table(folder / "liu/fig3.parquet"), []
    curve = curve[curve["family"] == "published"].sort_values("x", kind="stable")
    for (reading, name), along in curve.groupby(["reading", "mechanism"], sort=False):
        first, last = along.iloc[0], along.iloc[-1]
        factor = last.kl_mean / first.kl_mean
        error = factor * np.hypot(first.kl_se / first.kl_mean, last.kl_se / last.kl_mean)
        rows.append([reading, name, pm(factor, error), rounded(last.kl_median / first.kl_median, 3)])
    return [["variant", "mechanism", "growth of the mean", "of the median"], *rows]


def printed_deltas(folder: Path) -> list[list[str]]:
    """Figs 3 and 4 of Ramakrishna et al.: every printed delta beside ours; exact, so without a standard error."""
    numbers = table(folder / "ramakrishna/numbers.parquet").dropna(subset="delta")
    rows = [
        [r.item, r.design, f"{r.rho:g}", f"{r.epsilon:g}", f"{r.query_model}, mean {r.query_mean}",
         r.accuracy_convention.replace("_", " "), r.sides, f"{r.delta:.3f}", f"{r.delta_printed:g}"]
        for r in numbers.itertuples()
    ]  # fmt: skip
    return [["claim", "design", "ρ", "ε", "query", "ρ counts", "sides", "ours", "printed"], *rows]


def gains(folder: Path) -> list[list[str]]:
    """Fig. 2 of Ramakrishna et al.: improvement of the published design over white noise, averaged over epsilon."""
    own = table(folder / "ramakrishna/fig2.parquet").query("design == 'published' and sides in ('one', 'two')")
    rows = []
    for (sides, rho), at in own.groupby(["sides", "rho"]):
        step = "–" if np.isnan(at["step_mean"].iloc[0]) else pm(at["step_mean"].iloc[0], at["step_se"].iloc[0])
        gain = pm(-at["excess_mean"].mean(), at["excess_se"].mean())
        rows.append([sides, f"{rho:g}", gain, step, str(at["trials"].max())])
    return [["sides", "ρ in total", "improvement", "less that at the ρ before, same sets", "sets"], *rows]


def nmse(folder: Path) -> list[list[str]]:
    """Fig. 3 of Ramakrishna et al.: NMSE of three houses in every unit."""
    released = table(folder / "ramakrishna/fig3_errors.parquet").query("line == 'released'")
    rows = []
    for (scale, reference), at in released.groupby(["scale", "reference"], sort=False):
        texts = [", ".join(f"{value:.3g}" for value in at[name]) for name in ("nmse", "nmse_printed")]
        rows.append([scale, reference, *texts])
    return [["scale", "against", "ours", "printed"], *rows]


def likelihoods(folder: Path) -> list[list[str]]:
    """Figs 2 and 3 of Park et al.: test log-likelihood, nats per record, of every line under every variant."""
    rows = []
    for figure in ("fig2", "fig3"):
        curve = table(folder / f"park/{figure}.parquet")
        for (reading, line), at in curve.groupby(["reading", "line"], sort=False):
            value = at.set_index("epsilon")
            cells = [
                pm(value.loc[e, "log_likelihood_mean"], value.loc[e, "log_likelihood_se"])
                if e in value.index
                else "–"
                for e in PARK_EPSILONS
            ]
            rows.append([figure, reading, line, str(at["trials"].max()), *cells])
    return [["figure", "variant", "line", "splits", *(f"ε = {e:g}" for e in PARK_EPSILONS)], *rows]


def clusterings(folder: Path) -> list[list[str]]:
    """Fig. 4 of Park et al.: NICV of every method under every variant, and what the claim puts in order."""
    nicv, folds, rows = table(folder / "park/nicv.parquet"), table(folder / "park/folds.parquet"), []
    for reading, at in nicv.groupby("reading", sort=False):
        value, first = at.set_index("method"), at.iloc[0]
        wide = folds[folds["reading"] == reading].pivot_table("nicv", ["fold", "start"], "method")
        _, linear, zcdp, proposed = (wide[m] for m in CLUSTERINGS)
        cells = [pm(value.loc[m, "nicv_mean"], value.loc[m, "nicv_se"]) for m in CLUSTERINGS]
        cells += [pm(gap.mean(), gap.sem()) for gap in (linear - zcdp, zcdp - proposed)]
        rows.append([reading, first["adjacency"], first["charge"], *cells, str(at["trials"].max())])
    names = ("linear less zCDP", "zCDP less proposed", "folds and starts")
    return [["variant", "neighbours", "charged", *CLUSTERINGS, *names], *rows]


def leaks(folder: Path) -> list[list[str]]:
    """Fig. 3 of Li et al.: information about nodes 1 and 3, first and last iteration, in nats and normalised."""
    whole, rows = table(folder / "li/fig3.parquet"), []
    for row in whole[whole["iteration"].isin((1, whole["iteration"].max()))].itertuples():
        exact = "–" if np.isnan(row.linfoot_exact) else f"{row.linfoot_exact:.4f}"
        nats = pm(row.information, row.information_se)
        cells = [f"{row.over_self:.4f}", f"{row.linfoot:.4f}", exact]
        rows.append([row.graph, row.scheme, str(row.node), row.group, row.view, str(row.iteration), nats, *cells])
    header = [
        "graph",
        "scheme",
        "node",
        "sum over",
        "view",
        "iteration",
        "nats",
        "over that of I(X; X)",
        "Linfoot",
        "exact",
    ]
    return [header, *rows]


def solved(folder: Path) -> list[list[str]]:
    """Li et al.: records of honest nodes solved for from sums, once equations are as many as unknowns."""
    rows = [
        [r.scheme, r.group, *map(str, (r.records, r.dimension, r.unknowns, r.from_iteration, r.iterations)),
         f"{r.met_share:.0%}", f"{r.found_share:.0%}", rounded(r.error_median, 2), str(r.trials)]
        for r in table(folder / "li/recovery.parquet").itertuples()
    ]  # fmt: skip
    header = [
        "scheme",
        "sum over",
        "records at a node",
        "d",
        "unknowns",
        "enough from",
        "watched",
        "sums met",
        "found",
        "error",
        "runs",
    ]
    return [header, *rows]


def likelihood_differences(folder: Path) -> list[list[str]]:
    """Fig. 2 of Li et al.: largest difference from the log-likelihood of all records in one place, nats."""
    curve = table(folder / "li/fig2.parquet").query("scheme != 'central'")
    names = list(dict.fromkeys(curve["scheme"]))
    largest = curve.pivot_table("difference", "reading", "scheme", aggfunc="max", sort=False)
    rows = [[r, *("–" if np.isnan(at[n]) else f"{at[n]:.1e}" for n in names)] for r, at in largest.iterrows()]
    return [["variant", *names], *rows]


def table(path: Path) -> pd.DataFrame:
    """Read one table of the reproduction."""
    return pq.read_table(path, partitioning=None).to_pandas()


VARIANTS = (
    verdicts,
    divergences,
    growths,
    printed_deltas,
    gains,
    nmse,
    likelihoods,
    clusterings,
    likelihood_differences,
    leaks,
    solved,
)


def write(name: str, rows: list[list[str]], folder: Path = MEASURED) -> None:
    """Write a table, its header first."""
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(rows)


def tabulate(results: Path, folder: Path = MEASURED) -> Iterator[str]:
    """Write the table of every part; yield a sentence for each that has no results."""
    for part in VARIANTS:
        try:
            write(part.__name__, part(results), folder)
        except FileNotFoundError as missing:
            yield f"{part.__name__} stays as it is, as there is no {Path(missing.filename or str(missing)).name}."


def write_on_page(page: Path = DOCS / "errata.md") -> None:
    """Put every defect with its committed numbers on the page of the errata, where a git host shows them, too."""
    begin, end = "<!-- written by tools/tabulate_papers.py errata -->\n", "<!-- end -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    sys.path.insert(0, str(DOCS))
    shown = import_module("_site.measured").errata()
    sys.path.remove(str(DOCS))
    page.write_text(f"{before}{begin}\n{shown}\n{end}{rest.split(end, 1)[1]}", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "errata":
        write("errata", errata(measure(stream)))
        write_on_page()
    else:
        print("\n".join(tabulate(Path(sys.argv[2]))))
