"""Run converted folders in GridLAB-D; print the energy of every load and interval, kWh, a line of JSON a folder."""

import csv
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import gridlabd


def energy_kwh(folder: Path, steps: int, minutes: float) -> dict[str, list]:
    """Run a copy of the model in which every load is recorded."""
    work = Path(tempfile.mkdtemp(dir=Path.cwd()))
    for path in folder.iterdir():
        shutil.copy(path, work)
    names = sorted(p.stem for p in folder.glob("*.player"))
    with open(work / "loads.glm", "a") as model:
        for name in names:
            model.write(
                f"object recorder {{ parent {name}; property constant_power_A.real; "
                f"interval {int(minutes * 60)}; file {name}.recorded.csv; limit {steps}; }}\n"
            )
    before = Path.cwd()
    os.chdir(work)
    simulation = gridlabd.GridLabD()
    simulation.set_working_directory(str(work))
    simulation.load_glm("loads.glm")
    simulation.run()
    simulation.finalize()
    os.chdir(before)
    energy = {"stamps": []}
    for name in names:
        with open(work / f"{name}.recorded.csv") as file:
            rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
        energy["stamps"] = [row[0].removesuffix(" UTC") for row in rows]
        energy[name] = [float(row[1]) / 1000 * minutes / 60 for row in rows]
    return energy


for where, steps, minutes in json.loads(sys.argv[1]):
    print(json.dumps(energy_kwh(Path(where), steps, minutes)))
