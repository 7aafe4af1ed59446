"""Check configuration files and print one setting of them for make: SCHEMA KEY FILE..."""

from __future__ import annotations

import sys

from meterdp.core.config import complete, load_schema, read_files
from meterdp.errors import REFUSAL, InputError


def main(arguments: list[str]) -> None:
    """Print the setting ``KEY`` of the files, later ones on top."""
    schema, key, *files = arguments
    try:
        print(complete(read_files(files), load_schema(schema), source=" + ".join(files))[key])
    except InputError as error:
        raise SystemExit(f"{REFUSAL} {error}") from None


if __name__ == "__main__":
    main(sys.argv[1:])
