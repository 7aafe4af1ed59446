"""Make the nodes of a trial on this machine: the simulated export split by circuit, a node for each.

``python tools/make_nodes.py FOLDER [SCHEME]`` writes exports, lists of meters, keys, the agreement and the
configuration of every node, and prints the commands that start them.
"""

from __future__ import annotations

import random
import socket
import sys
from contextlib import suppress
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import yaml

from meterdp.core.config import complete, load_schema
from meterdp.federated.node.config import SCHEMAS
from meterdp.federated.node.messages import new_keys
from meterdp.simulate.export import COLUMNS, simulate_export
from meterdp.simulate.parameters import START_DATE, SimulationParameters, simulated_export

ROOT = Path(__file__).resolve().parents[1]


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback interface that nobody listens on, none of those that connections are given."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.randrange(10_000, 30_000)
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            ports += [port] * (port not in ports)
    return ports


def make_exports(folder: Path, **simulate) -> dict[str, dict]:
    """Simulate an export and split it by circuit.

    Parameters
    ----------
    folder : Path
    **simulate
        Keys of the section ``simulate`` that are not to be its defaults.

    Returns
    -------
    dict
        Section ``export`` of the configuration, by circuit.
    """
    config = complete({"simulate": simulate}, load_schema(SCHEMAS / "config.schema.yaml"))
    whole, meter_list, simulate = folder / "whole.csv", folder / "meters.csv", config["simulate"]
    simulate_export(
        SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml"),
        whole,
        seed=config["seed"],
        start_date=START_DATE,
        meter_list_path=meter_list,
        **simulate,
    )
    layout = simulated_export(START_DATE, simulate["days"])
    texts = pa_csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pa.string()))
    readings, meters = (pa_csv.read_csv(path, convert_options=texts) for path in (whole, meter_list))
    whole.unlink()
    out = {}
    for circuit in sorted(set(meters["circuit"].to_pylist())):
        paths = [folder / f"{circuit}.csv", folder / f"{circuit}-meters.csv"]
        for path, table in zip(paths, (readings, meters), strict=True):
            pa_csv.write_csv(
                table.filter(pc.equal(table["circuit"], circuit)), path, pa_csv.WriteOptions(quoting_style="none")
            )
        out[circuit] = {**layout, "path": str(paths[0]), "meters": str(paths[1])}
    return out


def day_of(export: dict) -> str:
    """Return the middle day of a simulated export, which all its parts have."""
    first, last = (date.fromisoformat(export[key]) for key in ("first_day", "last_day"))
    return str(first + (last - first) / 2)


def make_nodes(folder: Path, exports: dict[str, dict], **agreed) -> dict[str, Path]:
    """Write keys, agreement and configurations.

    Parameters
    ----------
    folder : Path
    exports : dict
        Section ``export`` by name of node.
    **agreed
        Keys of the agreement that are not to be its defaults.

    Returns
    -------
    dict
        Configuration file by name of node.
    """
    folder.mkdir(parents=True, exist_ok=True)
    nodes, out = [], {}
    for (name, export), port in zip(exports.items(), free_ports(len(exports)), strict=True):
        secret_file, public_key = new_keys(folder / "keys", name)
        nodes.append({"name": name, "address": f"tcp://127.0.0.1:{port}", "public_key": public_key})
        out[name] = folder / f"{name}.yaml"
        node = {"name": name, "agreement": str(folder / "agreement.yaml"), "secret_key": str(secret_file)}
        config = {
            "node": node,
            "results_dir": str(folder / name),
            "export": export,
            "profiles": {"vector": "half_day", "start_hour": 12, "hours": 12, "date": day_of(export)},
        }
        out[name].write_text(yaml.safe_dump(config, sort_keys=False))
    (folder / "agreement.yaml").write_text(yaml.safe_dump({"nodes": nodes, **agreed}, sort_keys=False))
    return out


def main() -> None:
    """Make all of it for the default export."""
    folder, scheme = Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else "edge_masks"
    folder.mkdir(parents=True, exist_ok=True)
    for config in make_nodes(folder, make_exports(folder), scheme=scheme).values():
        print(f"meterdp node {config} &")


if __name__ == "__main__":
    main()
