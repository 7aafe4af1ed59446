"""Nodes for tests: keys, free ports and agreements on this machine, and threads that run nodes."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import yaml
import zmq

from meterdp.core.config import complete, load_schema
from meterdp.federated.node.config import SCHEMAS, NodeSettings, read_agreement
from meterdp.federated.node.messages import Kind
from meterdp.federated.node.run import fit
from tools.make_nodes import free_ports

D = 3
PROFILES = {"hours": D}
SMALL = {"scheme": "edge_masks", "classes": 2, "iterations": 4, "timeout_seconds": 5, "start_within_seconds": 10}


def write_agreement(file: Path, count: int, **settings) -> list[tuple[bytes, bytes]]:
    """Write an agreement of nodes n0, n1, ...; return their keys."""
    keys = [zmq.curve_keypair() for _ in range(count)]
    nodes = [
        {"name": f"n{i}", "address": f"tcp://127.0.0.1:{port}", "public_key": keys[i][0].decode()}
        for i, port in enumerate(free_ports(count))
    ]
    file.write_text(yaml.safe_dump({"nodes": nodes, **SMALL, **settings}))
    return keys


@cache
def study_of(hours: int) -> dict:
    """Return the settings of a study with so many hours in a profile."""
    return complete({"profiles": {"hours": hours}}, load_schema(SCHEMAS / "config.schema.yaml"))


def settings_of(file: Path, keys, number: int, hours: int = D, **changes) -> NodeSettings:
    """Return the settings of one node, with some of the agreement changed."""
    study = study_of(hours)
    if changes:
        words = yaml.safe_load(file.read_text()) | changes
        file = file.with_name(f"changed-{number}.yaml")
        file.write_text(yaml.safe_dump(words))
    agreement = read_agreement(file, study["profiles"])
    return NodeSettings(number, agreement, keys[number][1], agreement.peers[number].address, study)


def all_settings(folder: Path, count: int, changes: dict[int, dict] | None = None, **agreed) -> list[NodeSettings]:
    """Write an agreement and return the settings of all its nodes, some with another one of their own."""
    file = folder / "agreement.yaml"
    keys = write_agreement(file, count, **agreed)
    return [settings_of(file, keys, i, **(changes or {}).get(i, {})) for i in range(count)]


def made_up_records(count: int, each: int = 30) -> list[np.ndarray]:
    """Return records of two kinds of homes, another number of them at every node."""
    generator = np.random.default_rng(7)
    return [
        generator.normal(size=(each + i, D)) * 0.4 + np.where(generator.random((each + i, 1)) < 0.4, 1.5, -1.0)
        for i in range(count)
    ]


class Nodes:
    """Nodes in threads of their own; what each came to or was ended by is in ``outcome``."""

    def __init__(self, settings: list[NodeSettings], records, folder: Path):
        self.settings, self.records, self.folder = settings, records, folder
        self.outcome: dict[int, object] = {}
        self.said: dict[int, list[str]] = {one.number: [] for one in settings}
        self.threads = {one.number: threading.Thread(target=self._run, args=(one,)) for one in settings}

    def _run(self, settings: NodeSettings) -> None:
        i = settings.number
        try:
            self.outcome[i] = fit(settings, self.records[i], self.folder / f"n{i}", self.said[i].append)
        except BaseException as error:
            self.outcome[i] = error

    def start(self, *numbers: int) -> Nodes:
        """Start some, or all."""
        for number in numbers or self.threads:
            self.threads[number].start()
        return self

    def join(self) -> dict[int, object]:
        """Wait for all that run; return what became of them."""
        for thread in self.threads.values():
            if thread.ident is not None:
                thread.join(60)
                assert not thread.is_alive()
        return self.outcome

    def written(self) -> list[Path]:
        """Return every file that any node wrote, also hidden ones."""
        return sorted(path for path in self.folder.rglob("*") if path.is_file())


def in_threads(run, numbers) -> None:
    """Call ``run`` with each number at the same time, and wait for all of them."""
    threads = [threading.Thread(target=run, args=(i,)) for i in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


class Relay:
    """Carries bytes between those who connect to ``address`` and a node, and counts them.

    It may forget connections on the side of those who connect.
    """

    def __init__(self, port: int):
        self.door, self.port, self.counted = socket.create_server(("127.0.0.1", 0)), port, 0
        self.address = f"tcp://127.0.0.1:{self.door.getsockname()[1]}"
        self.pairs = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            near, _ = self.door.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self.port))
            except ConnectionRefusedError:  # the node behind it is not there yet
                near.close()
                continue
            self.pairs.append((near, far, forgotten := threading.Event()))
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other, forgotten), daemon=True).start()

    def _carry(self, one, other, forgotten):
        with suppress(OSError):
            while data := one.recv(1 << 16):
                with self._lock:
                    self.counted += len(data)
                other.sendall(data)
            if not forgotten.is_set():
                other.shutdown(socket.SHUT_WR)

    def forget(self):
        """Close what there is on one side; return what is left on the other."""
        left, self.pairs = self.pairs, []
        for near, _, forgotten in left:
            forgotten.set()
            near.shutdown(socket.SHUT_RDWR)
        return [far for _, far, _ in left]


class Lying:
    """A scheme whose first node tells all others another sum."""

    def __init__(self, scheme, iteration, change):
        self._scheme, self._iteration, self._change = scheme, iteration, change

    def __getattr__(self, name):
        return getattr(self._scheme, name)

    def total(self, links, iteration, values):
        links = Bent(links, self._change) if iteration == self._iteration else links
        return self._scheme.total(links, iteration, values)


class Bent:
    """Links that send another sum than they are given."""

    def __init__(self, links, change):
        self._links, self._change = links, change

    def __getattr__(self, name):
        return getattr(self._links, name)

    def send(self, node, kind, iteration, round_, words):
        if kind in (Kind.SUMS, Kind.TOTAL):
            words = self._change(words)
        self._links.send(node, kind, iteration, round_, words)
