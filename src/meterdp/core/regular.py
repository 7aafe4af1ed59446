"""Open files that somebody else has made: those that exist, and regular ones of a possible size."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from meterdp.errors import InputError


def opened(path: Path, most_bytes: int, hint: str) -> BinaryIO:
    """Open a file if it is a regular one of at most ``most_bytes``; ``hint`` says what to do if it is not.

    InputError if it is a link, a device, a pipe or a folder, or too large; OSError if there is none or it may not be
    read.
    """
    # Without O_NONBLOCK the opening of a pipe would wait for somebody who writes.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):  # a link; a socket
            raise
        raise InputError("is not a regular file", file=path, hint=hint) from None
    state = os.fstat(descriptor)
    if stat.S_ISREG(state.st_mode) and state.st_size <= most_bytes:
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    problem = "is larger than any such file" if stat.S_ISREG(state.st_mode) else "is not a regular file"
    raise InputError(problem, file=path, hint=hint)


def contents(path: Path, most_bytes: int, hint: str) -> bytes:
    """Return what is in a file, as :func:`opened` opens it; one that grows meanwhile is read to its former end."""
    with opened(path, most_bytes, hint) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def check_file(path, label=None) -> Path:
    """Return ``path`` if it is a file that holds something, else raise :class:`InputError` about ``label``."""
    path = Path(path)
    label = path if label is None else label
    check_access(path, label)
    if path.stat().st_size == 0:
        raise empty(label)
    return path


def check_access(path: Path, label) -> None:
    if not path.is_file():
        begins = "" if path.is_absolute() else f", which begins at {Path.cwd()}"
        raise InputError("does not exist or is not a file", file=label, hint=f"check the path{begins}")
    if not os.access(path, os.R_OK):
        raise InputError("may not be read by this user", file=label, hint="change its permissions")


def empty(path) -> InputError:
    return InputError("holds no readings", file=path, hint="export the readings again")
