"""Write docs/errata.md from the computed findings; a test keeps the two in step."""

from __future__ import annotations

from pathlib import Path

from meterdp.core.noise import StudyNoise
from meterdp_papers.common.tables import Defect, Finding
from meterdp_papers.errata import PAPERS, measure

SEED = 20261121
HEAD = """# Errata

Where the published texts and their proofs do not hold, with the number that shows it. Every number is computed by
`meterdp_papers` in a public setting, synthetic or a textbook data set, from seeded streams and without any meter
reading; a test compares this page with a fresh computation. Written by `python tools/document_errata.py`.

*Measured* is the computed value with its standard error where something is random, *check* the same number by an
independent formula or quadrature, *text* what the paper implies for it. The mechanisms of the family `published`
have these defects on purpose, since they reproduce the papers; nothing of that family is ever released.

Where a text can be read in more than one way ([readings.md](readings.md)), the numbers of L and R are under the
reading of (10) over all label flips, with rho in total and the seasonal mean in the query, unless the row names
another.
"""
TESTS = "tests/unit/papers"


def number(value: float | None) -> str:
    """Three significant digits, or a dash; whole numbers from 100 on."""
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def measured(finding: Finding) -> str:
    """Value, standard error and unit of one finding."""
    error = "" if not finding.standard_error else f" ± {finding.standard_error:.1g}"
    unit = "" if finding.unit == "1" else f" {finding.unit}"
    return f"{number(finding.value)}{error}{unit}"


def as_markdown(findings: dict[str, tuple[Finding, ...]]) -> str:
    """Return the page for the findings of every defect."""
    lines = [HEAD]
    for paper, defects in PAPERS.items():
        lines += [f"## {paper}", "", "| id | where | what is wrong | number that shows it | test |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        for d in defects:
            first = findings[d.id][0]
            shown = f"{first.quantity}: **{measured(first)}**"
            if first.claimed is not None:
                shown += f" (text: {number(first.claimed)})"
            lines.append(_row(f"[{d.id}](#{d.id.lower()})", d.where, d.wrong, shown, f"`{d.test}`"))
        lines.append("")
        for d in defects:
            lines += _section(d, findings[d.id])
    return "\n".join(lines)


def _section(defect: Defect, findings: tuple[Finding, ...]) -> list[str]:
    lines = [f"### {defect.id}", "", f"{defect.where}. {defect.wrong} {defect.consequence}", ""]
    lines += [f"*The `sound` release:* {defect.instead}", ""]
    if defect.note:
        lines += [defect.note, ""]
    lines += ["| what the number says | setting | measured | check | text |", "| --- | --- | --- | --- | --- |"]
    for f in findings:
        lines.append(_row(f.statement, f.settings, measured(f), number(f.closed_form), number(f.claimed)))
    return [*lines, "", f"See it: `pytest {TESTS} -k {defect.test}`", ""]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def stream(defect: str) -> StudyNoise:
    """Return the stream of one defect."""
    return StudyNoise(SEED, "errata", defect)


if __name__ == "__main__":
    Path(__file__).resolve().parents[1].joinpath("docs/errata.md").write_text(as_markdown(measure(stream)))
