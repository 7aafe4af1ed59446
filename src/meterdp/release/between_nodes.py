"""The mixture released by nodes: each charges its own ledger, then adds its share of the noise before any sum.

A run in which all have charged is a release of its own, whether or not it comes to an end: who was there has seen
what was sent (docs/proofs/shared_noise.md).
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from meterdp.errors import InputError
from meterdp.federated.node.config import NodeSettings
from meterdp.federated.node.links import Links
from meterdp.federated.node.messages import Kind, Reason
from meterdp.federated.node.run import check_writable, compare, own_records, sum_of_all
from meterdp.federated.shared_noise import SharedSums, release_at_node
from meterdp.ingest.meter_list import read_meter_list
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.interface import PublicSettings, Released
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import SharedNoise, step_entries
from meterdp.privacy.mechanism import Files
from meterdp.privacy.noise import GRID, MOST_STEPS, GaussianSource
from meterdp.release.mixture import ReleasedMixture, parameters_of
from meterdp.release.service import ReleaseService
from meterdp.release.settings import check_meters, check_settings

FOLDER = Path("release/mixture")


def release_mixture_at(settings: NodeSettings, say: Callable[[str], object]) -> str:
    """Release the mixture of all nodes' households, publish this node's files of it, and return what to say.

    Raises InputError if policy or ledger refuses, or something is wrong with another node. What was charged stays
    charged, unless this node has sent nothing yet that depends on its readings.
    """
    service = _service(settings)
    folder = Path(settings.study["results_dir"]) / FOLDER
    check_writable(folder.with_suffix(".part"))  # the folder itself may be there
    shared = shared_sums(settings)
    sound = Proven.calibrate(_public(settings, shared))
    records, meter_ids = own_records(settings.study, Path(settings.study["results_dir"]) / "private", listed=True)
    listed = read_meter_list(settings.study["export"]["meters"]).meter_ids
    check_meters(sorted(meter_ids), listed, len(records.log_kwh))
    agreed = settings.agreement.settings
    if len(listed) != agreed["release"]["meters"][settings.number]:
        raise InputError(
            "has a different number of meters than the agreement gives for this node",
            file=settings.study["export"]["meters"],
            hint="correct release.meters at every node, or the list",
        )
    if not records.valid.any():
        say("none of its listed meters has a valid profile: check that the list and the export use the same ids")
    say("its own records are ready")
    most_words = max(step_entries(step, sound.plan.classes, sound.public.dimension) for step in sound.plan.steps)
    of_mixture = sound.plan.classes * (1 + sound.public.dimension * (1 + sound.public.dimension))
    links = Links(settings, max(most_words, of_mixture), say)
    with links:
        links.greet()
        say("all nodes are there")
        _agree(links, sound.public)
        # Made of fresh numbers of all nodes: no run repeats another, so none is free.
        mechanism = MixtureBetweenNodes(
            sound,
            service,
            SharedNoise(shared.shares, {"by": "node", "scheme": agreed["scheme"], "graph": agreed["graph"]}, "nodes"),
            "mixture between nodes",
            {"run": links.run.hex()},
            settings,
            links,
        )
        # No node sends a sum before all of them have charged; where one cannot, no one has spent anything.
        files, _ = service.release([mechanism], records.log_kwh, ready=links.all_charged)
    # With closed links: what goes wrong now is no other node's concern.
    service.publish(files, folder, mechanism)
    return f"all nodes released a mixture of {sound.plan.classes} classes; it is in {FOLDER} of its results"


@dataclass(frozen=True)
class MixtureBetweenNodes(ReleasedMixture):
    """The released mixture of which this node draws its share of the noise, before any sum."""

    settings: NodeSettings | None = None
    links: Links | None = None

    def answer(self, log_kwh: np.ndarray, noise: GaussianSource, earlier: Sequence[Files]) -> Released:
        return _released(self.mechanism, log_kwh, noise, self.settings, self.links)


def shared_sums(settings: NodeSettings) -> SharedSums:
    """Return how the nodes of an agreement add up what they have put noise on."""
    agreed, graph = settings.agreement.settings, settings.agreement.graph
    return SharedSums(agreed["scheme"], graph, agreed["release"]["colluding"])


def _service(settings: NodeSettings) -> ReleaseService:
    release, study = settings.agreement.settings["release"], settings.study
    own = {"epsilon": release["epsilon"], "delta": release["delta"], "what": ["mixture"]}
    meter_list = study["export"]["meters"]
    config = {**study, "release": study["release"] | own}
    # Whoever the households are, a node has an export and must name what a release of it needs, the list included.
    check_settings(config, simulated=False)
    return ReleaseService(config, Path(meter_list).read_bytes(), release["simulated"])


def _public(settings: NodeSettings, shared: SharedSums) -> PublicSettings:
    agreed, study = settings.agreement.settings, settings.study
    release = agreed["release"]
    public = public_settings(
        release["epsilon"],
        release["delta"],
        (sum(release["meters"]), settings.agreement.dimension),
        study["mechanisms"],
        agreed,
        study["profiles"],
        GRID,
        shared.shares,
    )
    return replace(public, eigenvalue_floor=agreed["eigenvalue_floor"])


def _agree(links: Links, public: PublicSettings) -> None:
    """End the run if a neighbour has other public settings of the mechanism, before anything is charged."""
    words = json.dumps(parameters_of(public), sort_keys=True, default=str)
    own = np.frombuffer(hashlib.sha256(words.encode()).digest(), dtype="<u8").astype(np.uint64)
    for node, theirs in links.swap(Kind.PLAN, 0, 0, own).items():
        if (theirs != own).any():
            raise links.fault(node, Reason.OTHER_PLAN)


def _released(
    sound: Proven, log_kwh: np.ndarray, noise: GaussianSource, settings: NodeSettings, links: Links
) -> Released:
    """Draw this node's noise and sum, to the end of the links; every node has charged before the first sum."""
    scheme, step = settings.agreement.scheme.on_grid(noise.grid), itertools.count(1)

    def total(vector: np.ndarray) -> np.ndarray:
        return sum_of_all(links, scheme, next(step), vector, 2 * MOST_STEPS * noise.grid)

    released = release_at_node(sound, log_kwh, noise, total)
    last = next(step)
    compare(links, sound.published(released), last, settings.agreement.settings["largest_difference"])
    links.all_done(last, last=True)
    # What is left is for the ledger, whose files need the descriptors that connections take.
    links.end()
    return released
