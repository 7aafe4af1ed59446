"""The server of ``warm.py``: loads libraries once, forks a process per client, ends with its standard input."""

import array
import atexit
import gc
import importlib
import importlib.machinery
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import threading
from contextlib import suppress

# What jobs and Snakemake load, found by -X importtime on a study.
LIBRARIES = """
cvxpy docutils.core dpath holidays.countries jinja2 jsonschema matplotlib.backends.backend_svg
matplotlib.figure nbformat numba numpy.random opendp.mod pandas psutil pyarrow.compute pyarrow.csv
pyarrow.dataset pyarrow.parquet pygments requests scipy.optimize scipy.signal scipy.special scipy.stats
sklearn.cluster sklearn.datasets sklearn.ensemble sklearn.linear_model sklearn.mixture smart_open
snakemake.cli snakemake.profiles snakemake.report.html_reporter snakemake.storage sqlite3 statsmodels.tsa.api
threadpoolctl yte zmq
""".split()


# The packages of this project.
OWN = ("meterdp", "meterdp_papers")


class Own:
    """Gives the modules of a package of this project, loaded before the fork, where Python would load the same files.

    A copy of the source, or another that is installed, is loaded as always.
    """

    def __init__(self):
        for package in map(importlib.import_module, OWN):
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                if not module.name.endswith("__main__"):
                    importlib.import_module(module.name)
        self._modules = {name: module for name, module in sys.modules.items() if name.split(".")[0] in OWN}
        self._specs = {name: self._modules[name].__spec__ for name in OWN}

    def load_compiled(self):
        """Load what Numba keeps of the kernels; every job that calls one would take 5 ms for it."""
        named = (value for module in self._modules.values() for value in vars(module).values())
        for kernel in {value for value in named if hasattr(value, "py_func") and value.stats.cache_path}:
            for signature, *_ in kernel._cache._cache_file._load_index():
                kernel.compile(signature)

    def find_spec(self, name, path, target=None):
        found = importlib.machinery.PathFinder.find_spec(name) if name in OWN else None
        if found is None or os.path.realpath(found.origin) != self._specs[name].origin:
            return None
        found.loader = self
        return found

    def create_module(self, spec):
        return self._modules[spec.name]

    def exec_module(self, module):
        name = module.__name__
        module.__spec__ = self._specs[name]
        sys.modules.update({key: own for key, own in self._modules.items() if key.split(".")[0] == name})


def received(client):
    """Return words, environment and streams of a client."""
    size, ((_, _, rights), *_), _, _ = client.recvmsg(8, socket.CMSG_SPACE(12))
    size, message = int.from_bytes(size, "little"), b""
    while len(message) < size:
        message += client.recv(size - len(message))
    words, environment = ([os.fsdecode(word) for word in part.split(b"\0")] for part in message.split(b"\0\0", 1))
    return words, environment, array.array("i", rights)


def run(words, environment, streams, executable):
    """Become the program that was asked for, and end as Python does, but without taking the libraries apart."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode, buffering=1) for n, mode in enumerate("rww"))
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have switched it off
    os.chdir(words[0])
    os.environ.clear()
    os.environ.update(pair.split("=", 1) for pair in environment)
    if "MPLBACKEND" in os.environ:  # looked at when it was imported
        sys.modules["matplotlib"].rcParams["backend"] = os.environ["MPLBACKEND"]
    sys.executable, sys.argv, sys.orig_argv = executable, words[1:], [executable, *words[1:]]
    sys.path[0:1] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    status = 0
    try:
        sys.modules.pop("sitecustomize", None)  # that of the server, which Debian's Python has
        with suppress(ModuleNotFoundError):
            importlib.import_module("sitecustomize")
        if sys.argv[0] == "-m":
            del sys.argv[0]
            sys.path.insert(0, words[0])
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        elif sys.argv[0] == "-c":
            program = sys.argv.pop(1)
            exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.path.insert(0, os.path.dirname(sys.argv[0]))
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if status and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def serve(client, executable):
    """Fork the program of one client, tell how it ended, and end it if the client has gone."""
    order = received(client)
    program = os.fork()
    if program == 0:
        client.close()
        run(*order, executable)
    for stream in order[2]:
        os.close(stream)
    client.sendall(program.to_bytes(8, "little"))
    ended = os.pidfd_open(program)
    if ended not in select.select([client, ended], [], [])[0]:
        os.kill(program, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    try:
        client.sendall((status if status >= 0 else 128 - status).to_bytes(8, "little"))
    except OSError:
        pass
    os._exit(0)


def main(address, executable):
    """Serve until standard input ends."""
    for name in LIBRARIES:
        importlib.import_module(name)
    # The first compilation sets the compiler up; the first fit and Snakemake's parser look for plug-ins, and
    # threadpoolctl for the files of libraries.
    sys.modules["numba"].njit(lambda x: x + 1.0)(1.0)
    sys.modules["snakemake.cli"].get_argument_parser()
    sys.modules["threadpoolctl"].threadpool_info()
    sys.modules["sklearn.linear_model"].Ridge().fit([[0.0], [1.0]], [0.0, 1.0])
    with suppress(Exception):  # an error in the source is said by each program that loads it
        sys.meta_path.insert(0, own := Own())
        own.load_compiled()
    for name in [name for name in sys.modules if name.split(".")[0] in OWN]:
        del sys.modules[name]
    gc.freeze()  # what is here stays: nobody need look through it for garbage, which would copy it
    gc.set_threshold(50_000)  # as in the process of the tests: drawing makes little garbage and many objects
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    print("ready", flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who serve
    while sys.stdin not in (ready := select.select([sys.stdin, listening], [], [])[0]):
        client, _ = ready[0].accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            serve(client, executable)
        client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
