"""A run of one node: read the own export, meet the others, fit together, compare, and only then write.

From a node's own export to its records, in a folder that nobody else can look into and that is gone afterwards.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from threadpoolctl import threadpool_limits

from meterdp.core.job import progress
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow, atomic_path, read_table, write_table
from meterdp.errors import InputError, unwritable
from meterdp.federated.adversary import known_sums
from meterdp.federated.em import entries_of, local_statistics, m_step
from meterdp.federated.node.config import Agreement, NodeSettings
from meterdp.federated.node.links import Links
from meterdp.federated.node.messages import Kind, Reason
from meterdp.federated.node.protocol import SERVER, NodeScheme
from meterdp.federated.node.tables import NODE_MIXTURE, NODE_TRAFFIC
from meterdp.federated.study import one_class, solvable_households, start_from
from meterdp.ingest.ingest import ingest
from meterdp.ingest.meter_list import read_meter_list
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.tables import METERS
from meterdp.mixture.draws import Mixture
from meterdp.profiles.grid import LocalTime, read_shard_in_pieces
from meterdp.profiles.quality import refuse_nobody
from meterdp.profiles.shard import process_shard
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records


def own_records(study: Mapping, private: Path, listed: bool = False) -> tuple[Records, list[str]]:
    """Return the profile vectors of an export, as a study of it has them, and the ids of its meters in the order of
    its table.

    The folder ``private`` is made if need be, open to its owner only. If the meters are ``listed`` publicly, no
    reading may decide whether a run ends. Raises :class:`InputError` where a study of the export would.
    """
    export = study["export"]
    private.mkdir(parents=True, exist_ok=True)
    os.chmod(private, 0o700)
    judged, parts = [], []
    with _alone_in(private / "node") as folder:
        shards = [folder / f"part-{number}.parquet" for number in range(study["shards"])]
        ingest(
            export["path"],
            ExportSettings.from_config(export),
            meter_list=None if export["meters"] is None else read_meter_list(export["meters"]),
            readings_paths=shards,
            meters_path=folder / "meters.parquet",
            report_path=folder / "report.parquet",
            threads=1,
            memory_bytes=int(study["memory_gib"] * 2**30),
        )
        for path in shards:
            for shard in read_shard_in_pieces(path, LocalTime.of(export)):
                tables = process_shard(
                    shard,
                    study["quality"],
                    study["profiles"],
                    study["forecast"]["train_days"],
                    study["forecast"]["horizon_steps"],
                )
                judged.append(tables.quality)
                parts.append(as_arrow(PROFILES, tables.profiles))
        meter_ids = read_table(folder / "meters.parquet", METERS)["meter_id"].to_pylist()
    if not listed:
        refuse_nobody(pd.concat(judged))
    return Records.from_table(pa.concat_tables(parts)), meter_ids


@contextmanager
def _alone_in(folder: Path) -> Iterator[Path]:
    """Give an empty folder to one process at a time; what a killed one left is removed first."""
    with open(folder.with_name(f"{folder.name}.lock"), "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                "is in use by another run of this node",
                file=folder,
                hint="wait for its end, or give this one another results_dir",
            ) from None
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


# Where whole numbers end that a float64 tells apart; sums over readings are far below.
_MOST = 2.0**53
# What a node does with the others; returns the sentence that it ends with.
Work = Callable[[NodeSettings, Callable[[str], object]], str]


def run_node(settings: NodeSettings, work: Work | None = None) -> None:
    """Run a node to its end; ``work`` is what it does with the others, by default a fit without noise.

    Raises :class:`InputError` if a setting or the export is bad, or something is wrong with another node. Nothing is
    written then.
    """

    def say(text: str) -> None:
        print(f"node {settings.name}: {text}", file=sys.stderr, flush=True)

    _allow_many_descriptors()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    with threadpool_limits(1):
        for sentence in exposed(settings.agreement, settings.number):
            say(sentence)
        say((work or fit_own)(settings, say))


def _allow_many_descriptors() -> None:
    """Take as many descriptors as the system grants: each connection of a stranger takes one until it is cut off."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with suppress(ValueError, OSError):  # where the system grants fewer than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def fit_own(settings: NodeSettings, say: Callable[[str], object]) -> str:
    """Fit the mixture to the node's own export and those of the others; see :func:`fit`."""
    results = Path(settings.study["results_dir"])
    records, _ = own_records(settings.study, results / "private")
    say("its own records are ready")
    mixture = fit(settings, records.log_kwh[records.valid], results, say)
    return f"all nodes agree on a mixture of {mixture.classes} classes; it is in {results / NODE_MIXTURE.file}"


def exposed(agreement: Agreement, me: int) -> list[str]:
    """Return what others may learn of a node in a run, from public numbers, one sentence each."""
    settings, names = agreement.settings, [peer.name for peer in agreement.peers]
    if agreement.releases:
        release = settings["release"]
        return [
            f"what any {release['colluding']} of the other nodes see together is differentially private with epsilon "
            f"{release['epsilon']:g} and delta {release['delta']:g} for a meter of this node"
        ]
    solved = solvable_households(agreement.dimension, settings["classes"], settings["iterations"])
    within = (
        f"where a group has {solved:,} records or fewer, its sums of {settings['iterations']} iterations are enough "
        "equations to solve for all of them"
    )
    if settings["scheme"] == "federated":
        who = "" if me == SERVER else f"; node '{names[SERVER]}' learns those of this node"
        return [f"federated sums hide nothing from the server{who}", within]
    cycle = agreement.scheme.constants.get("cycle")
    near = [names[int(j)] for j in agreement.scheme.links.neighbours(me)]
    alone = min(
        len(group)
        for other in range(len(names))
        if other != me
        for group in known_sums(settings["scheme"], agreement.graph, [other], cycle)
        if me in group
    )
    of = "this node alone" if alone == 1 else f"this node and {alone - 1} more"
    return [
        f"a single curious node learns the sums of {of} after every iteration, if it is in the best place",
        f"{' and '.join(near)} {'together learn' if len(near) > 1 else 'learns'} the sums of this node alone",
        within,
    ]


def fit(settings: NodeSettings, records: np.ndarray, results: Path, say: Callable[[str], object]) -> Mixture:
    """Fit the mixture with the other nodes to this node's ``records`` (n_i, d) and write its results, all nodes' or
    none's.
    """
    agreement, agreed = settings.agreement, settings.agreement.settings
    scheme, d, classes = agreement.scheme, agreement.dimension, agreed["classes"]
    most_words = max(entries_of(classes, d), classes * (1 + d + d * d))
    links = Links(settings, most_words, say)
    traffic = _Traffic(links)
    for table in (NODE_MIXTURE, NODE_TRAFFIC):
        check_writable(results / table.file)
    # Links are closed before files get their names: what goes wrong then is no other node's concern.
    with ExitStack() as files, links, _blaming_nobody(links):
        links.greet()
        for table in (NODE_MIXTURE, NODE_TRAFFIC):  # of an earlier run
            (results / table.file).unlink(missing_ok=True)
        say("all nodes are there")
        traffic.note("greeting", 0)
        mixture = agreement.start
        if mixture is None:
            first = one_class(d)
            total = sum_of_all(links, scheme, 0, local_statistics(records, first)[0], _MOST)
            if 0 <= total[0] < classes:
                raise links.fault(links.me, Reason.FEW_RECORDS)
            pooled = _step(total, first, agreement)
            mixture = start_from(pooled, classes, agreed["eigenvalue_floor"])
        traffic.note("start", 0)
        for iteration in progress(range(1, agreed["iterations"] + 1), f"node {settings.name}: iterations"):
            statistics, _ = local_statistics(records, mixture)
            total = sum_of_all(links, scheme, iteration, statistics, _MOST)
            mixture = _step(total, mixture, agreement)
            traffic.note("iteration", iteration)
        last = agreed["iterations"] + 1
        compare(links, mixture, last, agreed["largest_difference"])
        links.all_done(last)
        traffic.note("end", last)
        paths = [files.enter_context(atomic_path(results / t.file)) for t in (NODE_MIXTURE, NODE_TRAFFIC)]
        metadata = {"title": agreed["title"], "agreement": agreement.digest.hex(), "run": links.run.hex()}
        write_table(paths[0], NODE_MIXTURE, mixture_columns(mixture), metadata)
        write_table(paths[1], NODE_TRAFFIC, traffic.columns(), metadata)
        links.all_done(last + 1, last=True)  # everybody has written; what is left is to give the files their names
    return mixture


def sum_of_all(links: Links, scheme: NodeScheme, iteration: int, values: np.ndarray, most: float) -> np.ndarray:
    """Return the sum of ``values`` (q,) over all nodes; a :class:`Fault` if an entry reaches ``most``, which none can
    by public numbers.
    """
    total = scheme.total(links, iteration, values)
    if not (np.abs(total) < most).all():
        raise links.fault(links.me, Reason.IMPOSSIBLE_SUM)
    return total


def _step(total: np.ndarray, mixture: Mixture, agreement: Agreement) -> Mixture:
    """Return the mixture that follows from the sums over all nodes, if it can be one of clipped readings."""
    if not total[: mixture.classes].max() > 0:
        raise np.linalg.LinAlgError("there are no records")
    mixture = m_step(total, mixture, "textbook", agreement.settings["eigenvalue_floor"])
    most = np.abs(LogScale.from_config(agreement.profiles).bounds_log_kwh).max()
    # Twice as far as sums can be, as they are rounded.
    if not ((np.abs(mixture.means) <= 2 * most).all() and (np.abs(mixture.covariances) <= 8 * most**2).all()):
        raise np.linalg.LinAlgError("means or covariances lie where no reading does")
    return mixture


@contextmanager
def _blaming_nobody(links: Links) -> Iterator[None]:
    """Say that linear algebra failed by the sums over all nodes, as it does not on a node's own records."""
    try:
        yield
    except np.linalg.LinAlgError:
        raise links.fault(links.me, Reason.IMPOSSIBLE_SUM) from None


def check_writable(path: Path) -> None:
    """Refuse a file whose folder cannot be made or written to, while that is no loss yet."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.is_dir():
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        hint = "correct the permissions, free disk space or remove what is in the way"
        raise unwritable(error, path, hint) from None


def compare(links: Links, mixture: Mixture, iteration: int, largest_difference: float) -> None:
    """Compare mixtures with the neighbours, parameter by parameter; a :class:`Fault` if one differs by more than is
    allowed.
    """
    own = np.concatenate([mixture.weights, mixture.means.ravel(), mixture.covariances.ravel()])
    for node, theirs in links.swap(Kind.MODEL, iteration, 0, own).items():
        if np.abs(theirs - own).max() > largest_difference:
            raise links.fault(node, Reason.DISAGREES)


def mixture_columns(mixture: Mixture) -> dict[str, object]:
    """Columns of the table ``node_mixture``, the largest class first."""
    order = np.argsort(-mixture.weights, kind="stable")
    return {
        "component": np.arange(1, mixture.classes + 1),
        "weight": mixture.weights[order],
        "mean_log_kwh": list(mixture.means[order]),
        "covariance": [c.ravel() for c in mixture.covariances[order]],
    }


class _Traffic:
    """Takes down what has been sent in each step."""

    def __init__(self, links: Links):
        self._links, self._rows = links, []
        self._before, self._began = (0, 0, 0), time.monotonic()

    def note(self, step: str, iteration: int) -> None:
        sent, now = self._links.sent, time.monotonic()
        counts = (sent.messages, sent.payload_bytes, sent.link_bytes)
        more = [after - before for after, before in zip(counts, self._before, strict=True)]
        self._rows.append((step, iteration, *more, now - self._began))
        self._before, self._began = counts, now

    def columns(self) -> dict[str, list]:
        names = [column.name for column in NODE_TRAFFIC.columns]
        return dict(zip(names, map(list, zip(*self._rows, strict=True)), strict=True))
