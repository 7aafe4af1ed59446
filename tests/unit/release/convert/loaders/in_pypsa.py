"""Load a converted folder into PyPSA and print the energy of every load and interval, kWh, as JSON."""

import json
import sys

import pypsa

network = pypsa.Network()
network.import_from_csv_folder(sys.argv[1])
network.add("Generator", "grid", bus="homes", p_nom=1e6, control="Slack")
assert not network.pf()["n_iter"].isna().any().any()
power_mw = network.loads_t.p
assert set(network.loads.bus) == {"homes"} and list(power_mw.columns) == list(network.loads.index)
energy_kwh = power_mw.mul(network.snapshot_weightings.generators, axis=0) * 1000
print(json.dumps({"stamps": [str(s) for s in network.snapshots], **energy_kwh.to_dict(orient="list")}))
