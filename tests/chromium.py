"""Headless Chromium over its DevTools pipe: what a page asks for, what goes wrong in it, and how it looks.

No package beyond the standard library: ``--remote-debugging-pipe`` speaks NUL-separated JSON on the file descriptors
3 and 4. A process of tests starts one browser, with background traffic switched off; every page is opened in a
context of its own, with nothing of the pages before it, so each request is its own.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


@dataclass
class PageFacts:
    """What one page did while it was loaded."""

    # Natural width of every image in the document, 0 for one that did not load, and of every figure drawn in it.
    image_widths: list[int]
    scrolls_sideways: bool
    # Every address asked for, the page's own included; data addresses are cut after their media type.
    requests: list[str] = field(default_factory=list)
    # Uncaught exceptions, console errors and log entries of level "error".
    errors: list[str] = field(default_factory=list)


def chromium_or_skip() -> str:
    """Return the path of Chromium, or skip the calling test with a sentence."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    pytest.skip("headless Chromium is not on this machine, so pages cannot be opened")


class _Pipe:
    """Commands to and events from one browser."""

    def __init__(self, write_fd: int, read_fd: int):
        self._write_fd, self._read_fd = write_fd, read_fd
        self._buffer, self._number = b"", 0
        self.begin()

    def begin(self) -> None:
        """Forget what happened so far; the next page has a minute."""
        self._deadline = time.monotonic() + 60
        self.events: list[dict] = []

    def _message(self) -> dict:
        while b"\0" not in self._buffer:
            left = self._deadline - time.monotonic()
            if left <= 0 or not select.select([self._read_fd], [], [], left)[0]:
                raise TimeoutError("Chromium did not answer in time")
            chunk = os.read(self._read_fd, 1 << 20)
            if not chunk:
                raise ConnectionError("Chromium ended before it answered")
            self._buffer += chunk
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method: str, session: str | None = None, **params) -> dict:
        """Send a command, keep the events that arrive meanwhile, return the command's result."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        if session:
            command["sessionId"] = session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self._write_fd, data) :]
        while True:
            message = self._message()
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, method: str) -> None:
        """Read events until one called ``method`` has arrived."""
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._message())


@cache
def _browser() -> _Pipe:
    """Start the browser, unless it runs; it ends with this process."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()

    def place_pipes() -> None:  # in the child: first out of the way of each other, then to 3 and 4
        copies = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_read, from_write)]
        for target, copy in zip((3, 4), copies, strict=True):
            os.dup2(copy, target)
            os.close(copy)

    profile = tempfile.mkdtemp(prefix="chromium-")
    process = subprocess.Popen(
        [chromium_or_skip(), *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
        preexec_fn=place_pipes,
        close_fds=False,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)

    def end() -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)

    atexit.register(end)
    return _Pipe(to_write, from_read)


@contextmanager
def _opened(path, width: int, *domains: str) -> Iterator[tuple[_Pipe, str]]:
    """Open ``path`` in a new context, in a window of this width, with the events of ``domains`` switched on.

    Yields the browser and the session of the tab.
    """
    pipe = _browser()
    try:
        pipe.begin()
        context = pipe.call("Target.createBrowserContext")["browserContextId"]
        target = pipe.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = pipe.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", *domains):
            pipe.call(f"{domain}.enable", session)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        pipe.call("Emulation.setDeviceMetricsOverride", session, **size)
        pipe.events.clear()  # what about:blank did is not the page's doing
        pipe.call("Page.navigate", session, url=Path(path).resolve().as_uri())
        pipe.wait_for("Page.loadEventFired")
        yield pipe, session
        pipe.call("Target.disposeBrowserContext", browserContextId=context)
    except BaseException:
        _browser.cache_clear()  # who knows what it is doing; the next page starts another
        raise


def inspect_page(path) -> PageFacts:
    """Open a local page and report its requests, its errors and the natural width of its images."""
    return inspect_pages([path])[0]


def inspect_pages(paths, width: int = 1200) -> list[PageFacts]:
    """Open local pages one after the other, in a window of this width, and report what each did and how it fits."""
    found = []
    for path in paths:
        with _opened(path, width, "Network", "Runtime", "Log") as (pipe, session):
            # A lazy image far down would wait to be scrolled to.
            widths = "Array.from(document.images, i => { i.loading = 'eager' });"
            widths += "Promise.all(Array.from(document.images, i => i.decode().catch(() => 0)))"
            widths += ".then(() => [...Array.from(document.images, i => i.naturalWidth),"
            widths += "...Array.from(document.querySelectorAll('figure > svg'), s => s.clientWidth)])"
            wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            facts = PageFacts(_value(pipe, session, widths), _value(pipe, session, wide))
            for event in pipe.events:
                _note(facts, event.get("method", ""), event.get("params", {}))
            found.append(facts)
    return found


def _value(pipe: _Pipe, session: str, expression: str):
    """Return the value of a JavaScript expression, or what it promises."""
    answer = pipe.call("Runtime.evaluate", session, expression=expression, awaitPromise=True, returnByValue=True)
    return answer["result"]["value"]


def _note(facts: PageFacts, method: str, params: dict) -> None:
    if method == "Network.requestWillBeSent":
        url = params["request"]["url"]
        facts.requests.append(url.split(";")[0] if url.startswith("data:") else url)
    elif method == "Runtime.exceptionThrown":
        facts.errors.append(params["exceptionDetails"]["text"])
    elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
        facts.errors.append(params["entry"]["text"])
    elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
        facts.errors.append(str([argument.get("value") for argument in params["args"]]))


def tables_wider_than_their_panel(path, width: int = 1200) -> dict[str, bool]:
    """Return of every table in a scrolling panel, by its caption, whether a window of this width cuts it off.

    Folded parts of the page are opened first.
    """
    panels = "document.querySelectorAll('details').forEach(d => d.open = true);"
    panels += "Array.from(document.querySelectorAll('.scroll'), "
    panels += "p => [p.querySelector('caption').innerText, p.scrollWidth > p.clientWidth])"
    return dict(evaluate(path, panels, width))


def evaluate(path, expression: str, width: int = 1200, media: str = "", scheme: str = "light"):
    """Open a local page in a window of this width; return the value of a JavaScript expression.

    ``media`` is "print" for the page as it is printed, ``scheme`` "dark" for a reader who prefers that.
    """
    with _opened(path, width) as (pipe, session):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        pipe.call("Emulation.setEmulatedMedia", session, media=media, features=features)
        return _value(pipe, session, expression)
