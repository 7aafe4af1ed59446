"""Errors a user can mend.

An :class:`InputError` is one sentence that says what is wrong, where (file, row, field) and what to do. It never
holds a value of a record, because messages end in logs and logs are copied around.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

REFUSAL = "meterdp cannot go on."
# The configuration, where its name is not known.
CONFIG = "config"


class InputError(Exception):
    """One sentence for the user: where, what, and the hint.

    ``problem`` does not quote the value; ``row`` counts from 1 with the header as row 1; ``field`` is a column or a
    key.
    """

    def __init__(self, problem: str, *, hint: str, file=None, row: int | None = None, field: str | None = None):
        self.problem, self.hint, self.file, self.row, self.field = problem, hint, file, row, field
        where = [str(file)] if file is not None else []
        if row is not None:
            where.append(f"row {row}")
        if field is not None:
            where.append(f"field '{field}'")
        prefix = ", ".join(where) + ": " if where else ""
        super().__init__(f"{prefix}{problem}; {hint}.")

    def of_configuration(self, name: str) -> InputError:
        """Return the same with the name of the configuration where it says ``config``."""
        file = name if self.file == CONFIG else self.file
        return type(self)(self.problem, hint=self.hint, file=file, row=self.row, field=self.field)

    def __reduce__(self):
        # Keyword-only arguments do not survive the default pickling of exceptions across worker processes.
        where = {"file": self.file, "row": self.row, "field": self.field}
        return partial(type(self), self.problem, hint=self.hint, **where), ()


def unwritable(error: Exception, file, hint: str) -> InputError:
    """Return the refusal of a file that cannot be written, with what the system or SQLite calls the reason."""
    why = getattr(error, "strerror", None) or getattr(error, "sqlite_errorname", None) or type(error).__name__
    return InputError(f"cannot be written ({why})", file=file, hint=hint)


class NotInstalled(InputError, ImportError):
    """A package that only an extra of meterdp brings is missing."""


# Package -> the extra of pyproject.toml that brings it; all others are in "study".
_EXTRA = {"zmq": "federated"}


@contextmanager
def optional_packages(what: str, field: str | None = None) -> Iterator[None]:
    """Raise :class:`NotInstalled`, naming the extra to install, where ``what`` imports a package that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "meterdp", "meterdp_papers"):
            raise
        raise NotInstalled(
            f"{what} needs the package {package}, which is not installed",
            hint=f"pip install 'meterdp[{_EXTRA.get(package, 'study')}]'",
            field=field,
        ) from None


def refusals(logs: Path, since: float) -> list[str]:
    """Return the sentences with which jobs refused their input, from log files written after ``since`` (epoch s)."""
    found = []
    for path in sorted(Path(logs).rglob("*.log")):
        if path.stat().st_mtime >= since:
            found += [line for line in path.read_text().splitlines() if line.startswith(REFUSAL)]
    return found
