"""Run a converted folder in OpenDSS and print the energy of every load and interval, kWh, as JSON."""

import json
import sys

import opendssdirect as dss

folder, steps, minutes = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
dss.Text.Command("Clear")
dss.Text.Command("New Circuit.homes bus1=homes basekv=0.4 phases=3 pu=1 MVAsc3=1e9 MVAsc1=1e9")
dss.Text.Command(f'Redirect "{folder}/loadshapes.dss"')
dss.Text.Command(f'Redirect "{folder}/loads.dss"')
dss.Text.Command("Set voltagebases=[0.4]")
dss.Text.Command("CalcVoltageBases")
dss.Text.Command(f"Set mode=yearly number=1 hour=0 stepsize={minutes}m")
names = dss.Loads.AllNames()
energy = {name: [] for name in names}
for _ in range(steps):
    dss.Solution.Solve()
    assert dss.Solution.Converged()
    for name in names:
        dss.Circuit.SetActiveElement(f"Load.{name}")
        kw = sum(dss.CktElement.Powers()[0::2])
        energy[name].append(kw * minutes / 60)
print(json.dumps(energy))
