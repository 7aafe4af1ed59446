"""Run converted folders in OpenDSS; print the energy of every load and interval, kWh, a line of JSON a folder."""

import json
import sys

import opendssdirect as dss


def energy_kwh(folder: str, steps: int, minutes: float) -> dict[str, list]:
    """Solve a yearly simulation of a circuit with nothing but the loads."""
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
            energy[name].append(sum(dss.CktElement.Powers()[0::2]) * minutes / 60)
    return energy


for where, steps, minutes in json.loads(sys.argv[1]):
    print(json.dumps(energy_kwh(where, steps, minutes)))
