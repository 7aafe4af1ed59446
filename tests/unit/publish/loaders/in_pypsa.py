"""Load converted folders into PyPSA; print the energy of every load and interval, kWh, a line of JSON a folder."""

import json
import sys

import pypsa


def energy_kwh(folder: str) -> dict[str, list]:
    """Solve the power flow of the loads fed by one generator."""
    network = pypsa.Network()
    network.import_from_csv_folder(folder)
    network.add("Generator", "grid", bus="homes", p_nom=1e6, control="Slack")
    network.pf()
    power_mw = network.loads_t.p
    assert set(network.loads.bus) == {"homes"} and list(power_mw.columns) == list(network.loads.index)
    energy = power_mw.mul(network.snapshot_weightings.generators, axis=0) * 1000
    return {"stamps": [stamp.isoformat() for stamp in network.snapshots], **energy.to_dict(orient="list")}


for where, _, _ in json.loads(sys.argv[1]):
    print(json.dumps(energy_kwh(where)))
