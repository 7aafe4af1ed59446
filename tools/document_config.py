"""Write config/config.yaml and the tables of config/README.md from the schemas; tests keep them in step."""

from __future__ import annotations

from pathlib import Path

from meterdp.core.config import as_markdown, as_yaml, load_schema

CONFIG = Path(__file__).resolve().parents[1] / "config"
SCHEMAS = CONFIG.parent / "workflow/schemas"
# Of settings beside those of a study.
BESIDE = {
    "node": "## One node of a joint fit (`meterdp node`)\n\nBeside the settings above, for its own export:",
    "agreement": "## What nodes agree on\n\nA file of its own, the same at every node:",
}


def main() -> None:
    """Write both files."""
    schema = load_schema(SCHEMAS / "config.schema.yaml")
    (CONFIG / "config.yaml").write_text(as_yaml(schema))
    readme = (CONFIG / "README.md").read_text()
    tables = [as_markdown(schema)]
    tables += [
        f"{words}\n\n{as_markdown(load_schema(SCHEMAS / f'{name}.schema.yaml'))}" for name, words in BESIDE.items()
    ]
    (CONFIG / "README.md").write_text(readme[: readme.index("| key | default |")] + "\n".join(tables))


if __name__ == "__main__":
    main()
