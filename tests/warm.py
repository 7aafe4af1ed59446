"""A Python that has its libraries loaded already: the processes of a run are forked from it.

A run of the workflow starts Snakemake and a process per job, and each would load the same libraries for a second. One
server loads them once and forks for every program that a client asks for; processes of pytest-xdist share that of
their controller (conftest.py). The client is what Snakemake knows as
``sys.executable``: it hands over its arguments, folder, environment and standard streams, passes signals on and ends
with the status of the fork. The source of this checkout is loaded before the fork, too, and given to runs that would
load the same files; a run of another checkout loads its own. `make study` and tests of killed runs start processes
as users do.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

# Names the program in the environment of processes that are to share a server.
SHARED = "METERDP_WARM_PYTHON"

# Starts once per job, so it loads nothing that is slow.
_CLIENT = """\
#!{python} -ISE
import array, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    words = [os.fsencode(word) for word in (os.getcwd(), *sys.argv[1:])]
    environment = [name + b"=" + value for name, value in os.environb.items()]
    message = b"\\0\\0".join(b"\\0".join(part) for part in (words, environment))
    streams = array.array("i", [0, 1, 2]).tobytes()
    server.sendmsg([len(message).to_bytes(8, "little")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
    server.sendall(message)
    pid = int.from_bytes(server.recv(8), "little")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    status = int.from_bytes(server.recv(8), "little")
os._exit(status)
"""


@cache
def warm_python() -> str:
    """Start the server, unless it runs, and return the program that stands for Python.

    ``snakemake`` and ``meterdp`` lie beside it.
    """
    if shared := os.environ.get(SHARED):
        return shared
    folder = Path(tempfile.mkdtemp(prefix="warm"))
    address, client = str(folder / "socket"), folder / "python"
    client.write_text(_CLIENT.format(python=sys.executable, address=address))
    for name in ("snakemake", "meterdp"):
        (folder / name).write_text(f'#!/bin/sh\nexec {client} -m {name} "$@"\n')
    for program in folder.iterdir():
        program.chmod(0o700)
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("warm_server.py")), address, str(client)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip

    def end():
        server.communicate()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    assert server.stdout.readline() == "ready\n", "the server of warm processes did not start"
    return str(client)


def warm_snakemake() -> tuple[str, ...]:
    """Return how Snakemake is started, in place of ``snakemake``."""
    return (warm_python(), "-m", "snakemake")
