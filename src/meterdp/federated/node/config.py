"""What configures a node: who it is, how its own export is read, and the public agreement of all nodes."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import zmq

from meterdp.core.config import complete, filled, load_schema, read_files
from meterdp.core.parquet import read_table
from meterdp.core.provenance import shipped
from meterdp.core.weekend import SATURDAY_SUNDAY, Weekend
from meterdp.errors import InputError
from meterdp.federated.graph import Graph, require_connected, ring
from meterdp.federated.graph import complete as every_two
from meterdp.federated.node.messages import NAME, read_secret
from meterdp.federated.node.protocol import PROTOCOLS, NodeScheme
from meterdp.mixture.draws import Mixture
from meterdp.mixture.study import mixture_of
from meterdp.mixture.tables import MIXTURE
from meterdp.profiles.vector import VectorRules

SCHEMAS = shipped("workflow/schemas")
_ADDRESS = re.compile(r"tcp://[^\s/:*]+:\d{1,5}|tcp://\[[0-9A-Fa-f:]+\]:\d{1,5}")
_PEER_KEYS = ("name", "address", "public_key")
# Of a node, where it says nothing else; one public key is 40 characters in Z85.
_KEY_LENGTH = 40


@dataclass(frozen=True)
class Peer:
    """A node as all others know it: ``public_key`` is in the 40 characters of Z85."""

    name: str
    address: str
    public_key: bytes


@dataclass(frozen=True)
class Agreement:
    """What all nodes know and share.

    ``settings`` holds every key of workflow/schemas/agreement.schema.yaml; ``profiles`` what makes a record: of each
    node's section ``profiles`` what shapes the profile vector, and its period where the vector is a mean over all
    days. Places of ``peers`` are the numbers of nodes; ``graph`` says who may talk with whom.
    """

    settings: Mapping
    profiles: Mapping
    peers: tuple[Peer, ...]
    graph: Graph
    scheme: NodeScheme
    start: Mixture | None

    @cached_property
    def _said(self) -> dict[str, bytes]:
        said = {**self.settings, "profiles": self.profiles, "constants": self.scheme.constants}
        if self.start is not None:  # not the name of the file
            said["start"] = [a.tolist() for a in (self.start.weights, self.start.means, self.start.covariances)]
        return {key: hashlib.sha256(_canonical(value)).digest() for key, value in said.items()}

    @property
    def parts(self) -> dict[str, bytes]:
        """Eight bytes by key, to tell where two agreements differ."""
        return {key: digest[:8] for key, digest in self._said.items()}

    @cached_property
    def digest(self) -> bytes:
        """Sixteen bytes that are the same where all of it is."""
        return hashlib.sha256(b"".join(self._said.values())).digest()[:16]

    @property
    def dimension(self) -> int:
        """Entries d of a record."""
        return self.profiles["hours"]

    @property
    def releases(self) -> bool:
        """Whether the nodes release by sound, in place of a fit without noise."""
        return self.settings["release"]["epsilon"] is not None


@dataclass(frozen=True)
class NodeSettings:
    """One node: its place among the nodes, its key, the address at which it listens, and the complete configuration
    of a study of its own export.
    """

    number: int
    agreement: Agreement
    secret_key: bytes
    listen: str
    study: Mapping

    @property
    def name(self) -> str:
        return self.agreement.peers[self.number].name


def read_node(files: list[str]) -> NodeSettings:
    """Read the configuration of a node, its agreement and its secret key.

    ``files`` are YAML, later ones on top: a section ``node``, and those of a study. Raises :class:`InputError` if a
    setting is bad, or the secret key is not the one that the agreement names.
    """
    source = " + ".join(files)
    words = read_files(files)
    node = filled({"node": words.pop("node", None) or {}}, load_schema(SCHEMAS / "node.schema.yaml"), source)["node"]
    study = complete(words, load_schema(SCHEMAS / "config.schema.yaml"), source)
    if study["export"]["path"] is None:
        _refuse(source, "export.path", "is missing, and a node has no simulated one", "name the export")
    profiles, export = study["profiles"], study["export"]
    period = None
    if (vector := profiles["vector"]) != "half_day":
        period = [export["first_day"], export["last_day"]]
        if None in period:
            problem = f"is '{vector}', and the days that it looks at must be the same at all nodes"
            hint = "set export.first_day and export.last_day at every node"
            _refuse(source, "profiles.vector", problem, hint)
        if vector == "typical_day" and (weekend := Weekend.of(export)) != SATURDAY_SUNDAY:
            period += weekend.setting  # it says which days of the period are looked at
    elif profiles["date"] == "auto":
        problem = "is 'auto', by which every node would take a day of its own export"
        _refuse(source, "profiles.date", problem, "agree on a day and set it at every node")
    agreement = read_agreement(node["agreement"], profiles, period)
    names = [peer.name for peer in agreement.peers]
    if node["name"] not in names:
        _refuse(source, "node.name", "is none of the nodes in the agreement", f"use {_listed(names)}")
    number = names.index(node["name"])
    public, secret = read_secret(node["secret_key"])
    if public != agreement.peers[number].public_key:
        problem = f"is not the key of node '{node['name']}' in the agreement"
        hint = "use the right file, or have the agreement corrected at every node"
        _refuse(node["secret_key"], None, problem, hint)
    return NodeSettings(number, agreement, secret, node["listen"] or agreement.peers[number].address, study)


def read_agreement(file, profiles: Mapping, period: list[str] | None = None) -> Agreement:
    """Read what the nodes agree on.

    ``profiles`` is the section of the node's configuration, ``period`` the first and last day where a record depends
    on them.
    """
    settings = filled(read_files([str(file)]), load_schema(SCHEMAS / "agreement.schema.yaml"), str(file))
    peers = _peers(settings["nodes"], str(file))
    rules = VectorRules.from_config(profiles)
    said = {key: getattr(rules, key) for key in VectorRules.__dataclass_fields__} | {"period": period}
    start = _start(settings, rules.hours)
    graph = _graph(settings, peers, str(file))
    _check_release(settings, str(file))
    scheme = PROTOCOLS[settings["scheme"]].of(settings, graph)
    return Agreement(settings, said, peers, graph, scheme, start)


def _refuse(file: str, field: str | None, problem: str, hint: str) -> NoReturn:
    raise InputError(problem, file=file, field=field, hint=hint)


def _peers(nodes: list[Mapping], file: str) -> tuple[Peer, ...]:
    if len(nodes) < 2:
        _refuse(file, "nodes", "names fewer than two nodes", "list every node")
    for place, node in enumerate(nodes):
        at = f"nodes[{place}]"
        if set(node) != set(_PEER_KEYS) or not all(isinstance(node[key], str) for key in _PEER_KEYS):
            problem = "does not have the keys name, address and public_key"
            _refuse(file, at, problem, "give all three, as texts in quotes")
        if not NAME.fullmatch(node["name"]):
            _refuse(file, at, "has no usable name", "use up to 40 letters, digits, dashes and underscores")
        if not (_ADDRESS.fullmatch(node["address"]) and 0 < int(node["address"].rpartition(":")[2]) < 2**16):
            _refuse(file, at, "has no usable address", "write e.g. tcp://meters.example.org:5700")
        if not _is_key(node["public_key"]):
            hint = "copy the 40 characters that `meterdp node --new-keys` prints"
            _refuse(file, at, "has no usable public key", hint)
    for key in _PEER_KEYS:
        if len({node[key] for node in nodes}) < len(nodes):
            _refuse(file, "nodes", f"has one {key} twice", "give each node its own")
    return tuple(Peer(n["name"], n["address"], n["public_key"].encode()) for n in nodes)


def _check_release(settings: Mapping, file: str) -> None:
    release, nodes = settings["release"], len(settings["nodes"])
    if release["epsilon"] is None:
        return
    if len(release["meters"]) != nodes:
        _refuse(file, "release.meters", "does not say how many meters each node lists", "name a number each")
    if release["colluding"] >= nodes:
        _refuse(file, "release.colluding", "is all nodes or more", "leave one honest node at least")
    if settings["start"] is not None:
        hint = "set it to null, or name a prior mixture in mechanisms.sound.prior_mixture"
        _refuse(file, "start", "is set, and sound has a public start of its own", hint)


def _is_key(text: str) -> bool:
    try:
        return len(text) == _KEY_LENGTH and len(zmq.utils.z85.decode(text)) == 32
    except (ValueError, KeyError, UnicodeError, OverflowError, struct.error):
        return False


def _graph(settings: Mapping, peers: tuple[Peer, ...], file: str) -> Graph:
    place = {peer.name: i for i, peer in enumerate(peers)}
    if settings["graph"] == "ring":
        return ring(len(peers)) if len(peers) > 2 else every_two(2)
    if settings["graph"] == "complete":
        return every_two(len(peers))
    for number, pair in enumerate(settings["edges"]):
        if len(set(pair)) < 2 or not set(pair) <= set(place):
            hint = f"use two of {_listed(place)}"
            _refuse(file, f"edges[{number}]", "does not name two different nodes", hint)
    graph = Graph.of(len(peers), [[place[name] for name in pair] for pair in settings["edges"]])
    require_connected(graph, file)
    return graph


def _start(settings: Mapping, dimension: int) -> Mixture | None:
    if settings["start"] is None:
        return None
    start = mixture_of(read_table(settings["start"], MIXTURE).to_pandas())
    if (start.classes, start.dimension) != (settings["classes"], dimension):
        found = f"has {start.classes} classes of {start.dimension} entries"
        problem = f"{found}, and {settings['classes']} of {dimension} are agreed on"
        hint = "use another start, or change classes or profiles.hours at every node"
        _refuse(settings["start"], None, problem, hint)
    return start


def _listed(names) -> str:
    return " or ".join(f"'{name}'" for name in names)


def _canonical(value) -> bytes:
    """Return the same text for values that are equal, 1 and 1.0 included."""

    def plain(value):
        if isinstance(value, Mapping):
            return {str(key): plain(entry) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return [plain(entry) for entry in value]
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value

    return json.dumps(plain(value), sort_keys=True).encode()
