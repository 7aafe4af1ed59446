"""Write docs/tables.md from the declared tables; a test keeps the two in step."""

from __future__ import annotations

from pathlib import Path

from meterdp_papers.registry import catalogue

HEAD = """# Tables

Every Parquet file of a study is one of these. Stamps are UTC starts of intervals. `private` files never leave the
machine; `study` files are for the analyst. The unit `log kWh` is that of `profiles.log_scale`: the natural logarithm
of kWh, or what takes its place so that zero and feed-in have a value. Written by `python tools/document_tables.py`.
"""


def as_markdown() -> str:
    """Return the documentation of all tables."""
    lines = [HEAD]
    for table in catalogue().values():
        lines += [f"## {table.name} ({table.audience})", "", table.description, ""]
        lines += ["| column | type | unit | meaning |", "| --- | --- | --- | --- |"]
        for c in table.columns:
            null = "; may be null" if c.nullable else ""
            lines.append(f"| `{c.name}` | {c.type} | {c.unit or '–'} | {c.description}{null} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    Path(__file__).resolve().parents[1].joinpath("docs/tables.md").write_text(as_markdown())
