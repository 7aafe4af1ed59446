"""Write config/config.yaml and the table of config/README.md from the schema; a test keeps them in step."""

from __future__ import annotations

from pathlib import Path

from meterdp.core.config import as_markdown, as_yaml, load_schema

CONFIG = Path(__file__).resolve().parents[1] / "config"


def main() -> None:
    """Write both files."""
    schema = load_schema(CONFIG.parent / "workflow/schemas/config.schema.yaml")
    (CONFIG / "config.yaml").write_text(as_yaml(schema))
    readme = (CONFIG / "README.md").read_text()
    (CONFIG / "README.md").write_text(readme[: readme.index("| key | default |")] + as_markdown(schema))


if __name__ == "__main__":
    main()
