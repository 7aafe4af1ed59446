"""How long a process per circuit takes to fit the default export's mixture over encrypted links, by scheme.

``make benchmark`` writes results/benchmarks/nodes.parquet: a row per scheme. ``ours_s`` is from the start of the
first process to the end of the last, everything included: starting Python, reading the export, meeting, fitting,
comparing and writing. Beside it the same iterations in one process that is shown all records, without reading them.
Messages and bytes are what all nodes together sent in an iteration; how far apart the mixtures are is the largest
difference of a parameter between any node and that one process.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from table import ROOT, load, write

from meterdp.core.parquet import read_table
from meterdp.federated.em import distributed_em
from meterdp.federated.graph import ring
from meterdp.federated.node.config import read_node
from meterdp.federated.node.run import mixture_columns, own_records
from meterdp.federated.node.tables import NODE_MIXTURE, NODE_TRAFFIC
from meterdp.federated.study import one_class, start_from
from meterdp.federated.summation import Federated

CASES = {
    "federated": {},
    "secure_sum": {},
    "edge_masks": {},
}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def run_nodes(configs: list[Path]) -> tuple[float, float]:
    """Run a process per node; return the seconds until the last has ended, and those of their processors."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-m", "meterdp", "node"]
    logs = [config.with_suffix(".log").open("w") for config in configs]
    running = [
        subprocess.Popen([*words, str(config)], stderr=log, env=os.environ | ONE_THREAD)
        for config, log in zip(configs, logs, strict=True)
    ]
    if any([one.wait() for one in running]):
        raise SystemExit("\n".join(config.with_suffix(".log").read_text() for config in configs))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, worked


def in_one_process(configs: list[Path]) -> tuple[dict, float]:
    """Return the mixture of all records under the same agreement, as a node writes it, and the seconds it took."""
    with tempfile.TemporaryDirectory() as private:
        nodes = [read_node([str(config)]) for config in configs]
        found = [own_records(node.study, Path(private))[0] for node in nodes]
        parts = [records.log_kwh[records.valid] for records in found]
    agreed, d = nodes[0].agreement.settings, nodes[0].agreement.dimension
    begin = time.perf_counter()
    scheme, floor = Federated(ring(len(parts))), agreed["eigenvalue_floor"]
    pooled = distributed_em(parts, one_class(d), 1, scheme, eigenvalue_floor=floor).mixture
    start = start_from(pooled, agreed["classes"], floor)
    run = distributed_em(parts, start, agreed["iterations"], scheme, eigenvalue_floor=floor)
    return mixture_columns(run.mixture), time.perf_counter() - begin


def difference(written: Path, expected: dict) -> float:
    """Return the largest difference of a parameter."""
    found = read_table(written, NODE_MIXTURE).to_pandas()
    return max(
        float(np.abs(np.stack(found[name].to_list()) - np.stack(list(expected[name]))).max())
        for name in ("weight", "mean_log_kwh", "covariance")
    )


def measure(case: str, folder: Path, exports: dict) -> dict:
    """Run one case."""
    from make_nodes import make_nodes

    configs = list(make_nodes(folder, exports, scheme=case.split(",")[0], **CASES[case]).values())
    expected, other_s = in_one_process(configs)
    ours_s, worked_s = run_nodes(configs)
    results = [folder / config.stem for config in configs]
    traffic = pd.concat([read_table(r / NODE_TRAFFIC.file, NODE_TRAFFIC).to_pandas() for r in results])
    steps = traffic[traffic["step"] == "iteration"]
    per_iteration = steps.groupby("iteration")[["messages", "payload_bytes", "link_bytes"]].sum().mean()
    apart = max(difference(r / NODE_MIXTURE.file, expected) for r in results)
    return {
        "case": f"{len(configs)} nodes, {case}",
        "ours_s": ours_s,
        "other": "the same EM in one process",
        "other_s": other_s,
        "ratio": other_s / ours_s,
        "quality": f"parameters apart by {apart:.1e} at most",
        "load": load(),
        "processor_s": worked_s,
        "iterations": int(steps["iteration"].max()),
        "seconds_per_iteration": float(steps.groupby("iteration")["seconds"].mean().mean()),
        "messages_per_iteration": float(per_iteration["messages"]),
        "payload_bytes_per_iteration": float(per_iteration["payload_bytes"]),
        "link_bytes_per_iteration": float(per_iteration["link_bytes"]),
    }


def main() -> None:
    """Run all cases and write the table."""
    sys.path.insert(0, str(ROOT / "tools"))
    from make_nodes import make_exports

    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exports = make_exports(folder)
        for number, case in enumerate(CASES):
            rows.append(measure(case, folder / str(number), exports))
            print(rows[-1], flush=True)
    write("nodes", rows)


if __name__ == "__main__":
    main()
