"""What a release has drawn so far, on disk before its mechanism sees it: a run that dies draws nothing twice.

Whoever runs the release again gets the same answers to the queries that were answered, and fresh ones to the rest:
one release, charged once. If records changed in between, the answers of before stand (docs/proofs/ledger.md, 4). A
signal that stops the run waits for the answer that is being drawn. Of a run that dies during a draw all the same
nobody knows what it drew: its attempt is lost.
"""

from __future__ import annotations

import io
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from meterdp.errors import InputError
from meterdp.privacy.ledger_file import cannot_write, synced, write_whole
from meterdp.privacy.noise import GaussianSource

_DRAWING = "drawing"


@contextmanager
def unstopped() -> Iterator[None]:
    """Let signals that stop the process take effect afterwards; only the main thread gets any."""
    with ExitStack() as afterwards, ExitStack() as restored:
        if threading.current_thread() is threading.main_thread():
            for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if (before := signal.getsignal(stop)) is not None:  # one that is not Python's cannot be restored
                    restored.callback(signal.signal, stop, before)
                    signal.signal(stop, lambda number, frame: afterwards.callback(signal.raise_signal, number))
        yield


class Drawn:
    """The folder of one attempt: noisy answers in their order, and a mark while one is drawn."""

    def __init__(self, folder: Path):
        self._folder = folder

    def begin(self) -> None:
        """Make the folder. This comes before the charge: without a folder nobody knows what was drawn."""
        with cannot_write(self._folder):
            self._folder.parent.mkdir(mode=0o700, exist_ok=True)
            self.remove()
            self._folder.mkdir(mode=0o700)
            synced(self._folder.parent)

    @property
    def goes_on(self) -> bool:
        """Whether everything that was drawn is known, so that the attempt can go on."""
        return self._folder.is_dir() and not (self._folder / _DRAWING).exists()

    def take_back(self) -> bool:
        """Remove the folder if nothing was drawn; return whether that is so."""
        try:
            self._folder.rmdir()
        except OSError:
            return False
        return True

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def source(self, noise: GaussianSource) -> DrawnOnce:
        """Return a source that draws each answer once, however often the release is started."""
        return DrawnOnce(self._folder, noise)


class DrawnOnce:
    """A :class:`~meterdp.privacy.noise.GaussianSource` that repeats the answers of a folder, then adds to them.

    Raises InputError if a query is not the one that was answered in its place, or was asked by another version of
    meterdp: what was drawn is of no use then, and the attempt is lost.
    """

    def __init__(self, folder: Path, noise: GaussianSource):
        self.grid = noise.grid
        self._folder, self._noise, self._count = folder, noise, 0

    def add_gaussian(self, exact: np.ndarray, std: float) -> np.ndarray:
        return self._once(f"std {std.hex()}", exact, lambda: self._noise.add_gaussian(exact, std))

    @unstopped()
    def _once(self, asked: str, exact: np.ndarray, draw: Callable[[], np.ndarray]) -> np.ndarray:
        path, mark = self._folder / f"{self._count}.npz", self._folder / _DRAWING
        self._count += 1
        asked = f"{asked}, shape {np.shape(exact)}, meterdp {version('meterdp')}"
        if path.exists() and (answer := _answer_to(asked, path)) is not None:
            return answer
        with cannot_write(path):
            mark.touch(mode=0o600)
            synced(self._folder)
        if path.exists():
            raise InputError(
                "was begun by another version of meterdp, or what it drew is damaged",
                field="release",
                hint="run it again: what was drawn is lost, and the next attempt is charged",
            )
        data, answer = io.BytesIO(), draw()
        np.savez(data, asked=np.array(asked), answer=answer)
        with cannot_write(path):
            write_whole(path, self._folder / f".{path.name}.part", data.getbuffer())
            synced(self._folder)
            mark.unlink()
        return answer


def _answer_to(asked: str, path: Path) -> np.ndarray | None:
    """Return the answer in a file, None if it is to another question or cannot be read."""
    with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile), np.load(path, allow_pickle=False) as kept:
        if str(kept["asked"]) == asked:
            return kept["answer"]
    return None
