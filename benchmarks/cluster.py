"""How long a release of many homes would take on more cores: its real jobs, replayed with measured times.

``python benchmarks/cluster.py [HOMES]``, after ``python benchmarks/scale.py HOMES``, the most of these by default.
Snakemake says which job waits for which. A job takes the processor seconds that jobs of its rule took on average;
with more shards, those of a shard take less in proportion, except for what a job that does next to nothing takes. A
core does a job at a time, of those that are ready the one with the longest chain behind it. Nothing is added for
queues and networks. Rows in results/benchmarks/cluster.parquet, and with ``--docs`` on docs/cluster.md.
"""

from __future__ import annotations

import argparse
import heapq
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pandas as pd
import yaml
from scale import TABLE, configuration, meter_list
from table import ROOT, write, write_on_page

CORES_OF_NODE, NODES = 8, (1, 10, 100)
SHARDS = (32, 1000)
# A rule that reads a few small tables: what it takes is the start of a job.
LEAST = "ledger_page"
_JOB = re.compile(r'^\t(\d+)\[label = "(\w+)')
_EDGE = re.compile(r"^\t(\d+) -> (\d+)")


def jobs_of(homes: int, days: int, shards: int) -> tuple[dict[int, str], dict[int, set[int]]]:
    """Return the rule of every job of a release, and the jobs it waits for."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        meter_list(folder, homes)
        (folder / "export.parquet").touch()
        (folder / "config.yaml").write_text(yaml.safe_dump(configuration(folder, homes, days) | {"shards": shards}))
        files = [ROOT / "config/config.yaml", folder / "config.yaml"]
        found = subprocess.run(
            ["snakemake", "--dag", "--forceall", "-s", ROOT / "Snakefile", "--configfile", *files, "--", "release"],
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
        )
    rules, waits = {}, defaultdict(set)
    for line in found.stdout.splitlines():
        if job := _JOB.match(line):
            rules[int(job[1])] = job[2]
        elif edge := _EDGE.match(line):
            waits[int(edge[2])].add(int(edge[1]))
    return rules, waits


def seconds_of(measured: pd.DataFrame, rules: dict[int, str]) -> dict[int, float]:
    """Return what every job takes, from what all jobs of its rule took together."""
    spent, jobs = measured["processor_s"], measured["jobs"]
    least, planned = spent[LEAST] / jobs[LEAST], Counter(rules.values())
    return {
        job: least + max(spent[rule] - jobs[rule] * least, 0) / planned[rule] if rule in spent else 0.0
        for job, rule in rules.items()
    }


def chains(waits: dict[int, set[int]], seconds: dict[int, float]) -> dict[int, float]:
    """Return how long every job and the longest chain of jobs behind it take."""
    after = defaultdict(set)
    for job, earlier in waits.items():
        for one in earlier:
            after[one].add(job)
    chain = {}
    for job in reversed(list(TopologicalSorter({job: waits.get(job, ()) for job in seconds}).static_order())):
        chain[job] = seconds[job] + max((chain[one] for one in after[job]), default=0.0)
    return chain


def replay(waits: dict[int, set[int]], seconds: dict[int, float], cores: int) -> float:
    """Return when the last job ends."""
    sorter, chain = TopologicalSorter({job: waits.get(job, ()) for job in seconds}), chains(waits, seconds)
    sorter.prepare()
    ready, running, now = [], [], 0.0
    while sorter.is_active():
        for job in sorter.get_ready():
            heapq.heappush(ready, (-chain[job], job))
        while ready and len(running) < cores:
            _, job = heapq.heappop(ready)
            heapq.heappush(running, (now + seconds[job], job))
        now, job = heapq.heappop(running)
        sorter.done(job)
    return now


def longest_chain(waits: dict[int, set[int]], seconds: dict[int, float], rules: dict[int, str]) -> list[str]:
    """Return the rules of the longest chain, in order."""
    chain, after = chains(waits, seconds), defaultdict(set)
    for job, earlier in waits.items():
        for one in earlier:
            after[one].add(job)
    job, found = max(chain, key=chain.get), []
    while job is not None:
        found.append(f"{rules[job]} {seconds[job]:.0f} s")
        job = max(after[job], key=chain.get, default=None)
    return [name for name in found if not name.endswith(" 0 s")]


def rows(found: pd.DataFrame, homes: int) -> list[dict]:
    measured = found[found["homes"] == homes].set_index("rule")
    out = []
    for shards in SHARDS:
        rules, waits = jobs_of(homes, int(measured["days"].iloc[0]), shards)
        seconds = seconds_of(measured, rules)
        for nodes in NODES:
            out.append(
                {
                    "homes": homes,
                    "shards": shards,
                    "jobs": len(rules),
                    "nodes": nodes,
                    "minutes": replay(waits, seconds, nodes * CORES_OF_NODE) / 60,
                    "processor_minutes": sum(seconds.values()) / 60,
                    "chain": ", ".join(longest_chain(waits, seconds, rules)),
                }
            )
    return out


def page(table: pd.DataFrame) -> str:
    wide = table.pivot_table("minutes", index=["shards", "jobs", "processor_minutes", "chain"], columns="nodes")
    lines = [f"| shards | jobs | minutes of one core | {' | '.join(f'{n} nodes' for n in NODES)} | longest chain |"]
    lines.append(f"|{' --- |' * (4 + len(NODES))}")
    for (shards, jobs, processor, chain), minutes in wide.iterrows():
        cells = " | ".join(f"{minutes[n]:.1f} min" for n in NODES)
        lines.append(f"| {shards:,} | {jobs:,} | {processor:.0f} | {cells} | {chain} |")
    return "\n".join(lines).replace("1 nodes", "1 node")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("homes", nargs="?", type=lambda text: int(float(text)))
    parser.add_argument("--docs", action="store_true", help="write the table of docs/cluster.md")
    asked = parser.parse_args()
    if asked.docs and asked.homes is None:
        parser.error("--docs needs the number of homes that the page is about")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = pd.read_parquet(TABLE)
    table = rows(found, asked.homes or int(found["homes"].max()))
    write("cluster", table)
    if asked.docs:
        write_on_page("cluster.md", "cluster.py", page(pd.DataFrame(table)))
    print(page(pd.DataFrame(table)))


if __name__ == "__main__":
    main()
