"""Run a converted folder in GridLAB-D and print the energy of every load and interval, kWh, as JSON."""

import csv
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import gridlabd

folder, steps, minutes = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
work = Path(tempfile.mkdtemp())
for path in folder.iterdir():
    shutil.copy(path, work)
names = sorted(p.stem for p in folder.glob("*.player"))
with open(work / "loads.glm", "a") as model:
    for name in names:
        model.write(
            f"object recorder {{ parent {name}; property constant_power_A.real; "
            f"interval {int(minutes * 60)}; file {name}.recorded.csv; limit {steps}; }}\n"
        )
os.chdir(work)
simulation = gridlabd.GridLabD()
simulation.set_working_directory(str(work))
simulation.load_glm("loads.glm")
simulation.run()
simulation.finalize()
energy = {"stamps": []}
for name in names:
    rows = [r for r in csv.reader(open(work / f"{name}.recorded.csv")) if r and not r[0].startswith("#")]
    energy["stamps"] = [r[0].removesuffix(" UTC") for r in rows]
    energy[name] = [float(r[1]) / 1000 * minutes / 60 for r in rows]
print(json.dumps(energy))
