"""``meterdp node`` as people start it: processes that read exports, on this machine."""

import fcntl
import os
import signal
import stat
import subprocess
import time

import numpy as np
import pandas as pd
import pytest
import yaml

from meterdp.core.parquet import metadata_of, read_table
from meterdp.errors import InputError
from meterdp.federated.em import distributed_em
from meterdp.federated.graph import ring
from meterdp.federated.node.config import read_node
from meterdp.federated.node.run import mixture_columns, own_records
from meterdp.federated.node.tables import NODE_MIXTURE, NODE_TRAFFIC
from meterdp.federated.study import one_class, start_from
from meterdp.federated.summation import Federated
from meterdp.privacy.guarantee import NOT_FOR_RELEASE
from tests.unit.federated.node.made_up import Relay
from tests.warm import warm_python
from tools.make_nodes import make_exports, make_nodes

AGREED = {"classes": 2, "iterations": 3, "scheme": "secure_sum", "timeout_seconds": 20, "start_within_seconds": 40}
HOMES, DAYS = 24, 4


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    return make_exports(tmp_path_factory.mktemp("exports"), households=HOMES, circuits=3, days=DAYS)


def start(config, repository):
    """Start a node, forked from a process that has its libraries (``warm.py``)."""
    command = [warm_python(), "-m", "meterdp", "node", str(config)]
    path = os.environ | {"PYTHONPATH": str(repository / "src")}

    def heed_interrupts():  # which whoever runs these tests in the background has switched off for all their children
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=path, preexec_fn=heed_interrupts)


def through_relays(folder, configs):
    """Put a relay before every node, as a forwarded port would be; return them."""
    agreement = yaml.safe_load((folder / "agreement.yaml").read_text())
    relays = []
    for node, config in zip(agreement["nodes"], configs, strict=True):
        words = yaml.safe_load(config.read_text())
        words["node"]["listen"] = node["address"]
        config.write_text(yaml.safe_dump(words))
        relays.append(Relay(int(node["address"].rpartition(":")[2])))
        node["address"] = relays[-1].address
    (folder / "agreement.yaml").write_text(yaml.safe_dump(agreement))
    return relays


def test_processes_fit_what_one_process_does_that_reads_all_exports(exports, tmp_path, repository):
    """Oracles: EM in one process; for the bytes on the links what goes through TCP, handshakes being few."""
    iterations = 60
    configs = make_nodes(tmp_path, exports, **(AGREED | {"iterations": iterations}))
    relays = through_relays(tmp_path, configs.values())
    running = [start(config, repository) for config in configs.values()]
    said = [one.communicate(timeout=100)[1] for one in running]
    assert [one.returncode for one in running] == [0, 0, 0], said
    nodes = [read_node([str(config)]) for config in configs.values()]
    found = [own_records(node.study, tmp_path / "all")[0] for node in nodes]
    parts = [records.log_kwh[records.valid] for records in found]
    pooled = distributed_em(parts, one_class(12), 1, Federated(ring(3)), eigenvalue_floor=0.001).mixture
    first = start_from(pooled, 2, 0.001)
    run = distributed_em(parts, first, iterations, Federated(ring(3)), "textbook", 0.001)
    expected = mixture_columns(run.mixture)
    for name in configs:
        path, private = tmp_path / name / NODE_MIXTURE.file, tmp_path / name / "private"
        written = read_table(path, NODE_MIXTURE).to_pandas()
        assert np.stack(written["covariance"]) == pytest.approx(np.stack(expected["covariance"]), abs=1e-9)
        assert written["weight"].to_numpy() == pytest.approx(expected["weight"], abs=1e-9)
        assert metadata_of(path)["release"] == NOT_FOR_RELEASE
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        assert [file.name for file in private.iterdir()] == ["node.lock"]
        told = {key: metadata_of(path)[key] for key in ("title", "agreement", "run")}
        assert told["title"] == "A joint mixture" and len(told["agreement"]) == len(told["run"]) == 32
    traffic = pd.concat([read_table(tmp_path / n / NODE_TRAFFIC.file, NODE_TRAFFIC).to_pandas() for n in configs])
    assert traffic["link_bytes"].sum() == pytest.approx(sum(relay.counted for relay in relays), rel=0.01)
    steps = traffic[traffic["step"] == "iteration"]
    assert steps["payload_bytes"].sum() == iterations * 5 * 8 * 2 * (1 + 12 + 78)


def test_a_killed_process_ends_the_others_and_nobody_writes(exports, tmp_path, repository):
    # So many iterations that none is through before the kill.
    configs = make_nodes(tmp_path, exports, **(AGREED | {"iterations": 100_000}))
    running = dict(zip(configs, [start(config, repository) for config in configs.values()], strict=True))
    killed, *others = running.values()
    for line in killed.stderr:
        if "all nodes are there" in line:
            break
    time.sleep(0.5)
    killed.send_signal(signal.SIGKILL)
    begin = time.monotonic()
    said = [one.communicate(timeout=60)[1] for one in others]
    assert [one.returncode for one in others] == [1, 1]
    assert all(f"meterdp cannot go on. node '{next(iter(configs))}' closed its link" in text for text in said), said
    assert time.monotonic() - begin < 10  # noticed, not waited for
    assert not list(tmp_path.rglob("*.parquet"))
    killed.communicate()


@pytest.mark.parametrize(
    ("asked", "words"), [(signal.SIGTERM, ""), (signal.SIGINT, "Interrupted: this node ends without a result")]
)
def test_a_process_that_is_asked_to_end_tells_the_others(exports, tmp_path, repository, asked, words):
    configs = make_nodes(tmp_path, exports, **(AGREED | {"iterations": 100_000}))
    running = [start(config, repository) for config in configs.values()]
    ended = running[0]
    for line in ended.stderr:
        if "all nodes are there" in line:
            break
    ended.send_signal(asked)
    said = [one.communicate(timeout=60)[1] for one in running]
    assert [one.returncode for one in running] == [128 + asked, 1, 1]
    assert all("ended with an error of its own" in text for text in said[1:]), said
    assert words in said[0] and "Traceback" not in said[0]
    assert not list(tmp_path.rglob("*.parquet"))


def test_what_a_killed_run_left_is_removed_and_two_runs_do_not_share_a_folder(tmp_path, exports):
    """Readings must not stay because a process was killed while it read them."""
    node = read_node([str(make_nodes(tmp_path, exports, **AGREED)["C01"])])
    left = tmp_path / "private/node/part-0.parquet"
    left.parent.mkdir(parents=True)
    left.write_text("readings")
    records, meter_ids = own_records(node.study, tmp_path / "private")
    assert not left.exists() and not left.parent.exists() and len(meter_ids) == len(records.household)
    with open(tmp_path / "private/node.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="in use by another run of this node"):
            own_records(node.study, tmp_path / "private")


def test_a_list_of_other_meters_is_refused_before_anybody_is_met(tmp_path, exports):
    """Such a node would join with zeros and spoil nothing visible, but the sums of the others would hide less."""
    other = tmp_path / "other.csv"
    other.write_text("meter_id\nnobody\n")
    node = read_node([str(make_nodes(tmp_path, exports, **AGREED)["C01"])])
    study = node.study | {"export": node.study["export"] | {"meters": str(other)}}
    with pytest.raises(InputError, match="leaves no household to study"):
        own_records(study, tmp_path / "private")
    assert not own_records(study, tmp_path / "private", listed=True)[0].valid.any()
