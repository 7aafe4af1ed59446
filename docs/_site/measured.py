"""What was declared and measured, as tables: columns of Parquet files, defects of the papers, numbers of variants.

Measured numbers are the CSV files of ``docs/measured``, which ``tools/tabulate_papers.py`` writes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from meterdp_papers.common.tables import Defect
from meterdp_papers.errata import PAPERS
from meterdp_papers.li import scorecard as li
from meterdp_papers.liu import scorecard as liu
from meterdp_papers.park import scorecard as park
from meterdp_papers.ramakrishna import scorecard as ramakrishna
from meterdp_papers.registry import catalogue

MEASURED = Path(__file__).resolve().parents[1] / "measured"


def grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    escaped = [" | ".join(cell.replace("|", r"\|") for cell in cells) for cells in lines]
    return "".join(f"| {line} |\n" for line in escaped)


def read(name: str) -> list[list[str]]:
    """Return the rows of a committed table, its header first."""
    with (MEASURED / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def declared_tables() -> str:
    """Return the columns of every declared Parquet table."""
    parts = []
    for table in catalogue().values():
        rows = [
            (f"`{c.name}`", str(c.type), c.unit or "–", c.description + ("; may be null" if c.nullable else ""))
            for c in table.columns
        ]
        shown = grid(("column", "type", "unit", "meaning"), rows)
        parts.append(f"## {table.name} ({table.audience})\n\n{table.description}\n\n{shown}")
    return "\n".join(parts)


def errata() -> str:
    """Return the defects of all papers, each with the numbers that show it."""
    findings = {id: [row[1:] for row in rows] for id, rows in groupby(read("errata")[1:], key=lambda row: row[0])}
    parts = []
    for paper, defects in PAPERS.items():
        rows = [(f"[{d.id}](#{d.id.lower()})", d.where, d.wrong, _shown(findings[d.id][0])) for d in defects]
        parts.append(f"## {paper}\n\n{grid(('id', 'where', 'what is wrong', 'number that shows it'), rows)}")
        parts += [_defect(d, findings[d.id]) for d in defects]
    return "\n".join(parts)


def _shown(finding: list[str]) -> str:
    _, quantity, _, measured, _, text = finding
    return f"{quantity}: **{measured}**" + (f" (text: {text})" if text != "–" else "")


def _defect(d: Defect, findings: list[list[str]]) -> str:
    rows = [(statement, *cells) for statement, _, *cells in findings]
    note = f"{d.note}\n\n" if d.note else ""
    shown = grid(("what the number says", "setting", "measured", "check", "text"), rows)
    return (
        f"### {d.id}\n\n{d.where}. {d.wrong} {d.consequence}\n\n*The `sound` release:* {d.instead}\n\n{note}{shown}\n"
        f"See it: `pytest tests/unit/papers -k {d.test}`\n"
    )


def variants(name: str) -> str:
    """Return one table of measured numbers; verdicts in one table for all claims with the same variants and data."""
    header, *rows = read(name)
    if name != "verdicts":
        return grid(header, rows)
    verdicts = {
        claim: {tuple(of): _verdict(holds, more) for _, *of, holds, more in found}
        for claim, found in groupby(rows, key=lambda row: row[0])
    }
    claims: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for claim, found in verdicts.items():
        claims.setdefault(tuple(found), []).append(claim)
    return "\n".join(
        grid([*header[1:5], *map(_marked, same)], [[*of, *(verdicts[claim][of] for claim in same)] for of in tried])
        for tried, same in claims.items()
    )


def _marked(claim: str) -> str:
    """Return a claim with the defect without which its verdict would mislead, if there is one."""
    declared = (one for paper in (liu, ramakrishna, park, li) for one in paper.CLAIMS)
    defect = next(one.defect for one in declared if one.item == claim)
    return f"{claim}, but see [{defect}](errata.md#{defect.lower()})" if defect else claim


def _verdict(holds: str, more: str) -> str:
    return holds if more == "–" else f"{holds} ({more} trials would decide)"
