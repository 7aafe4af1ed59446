"""Run converted folders in pandapower; print the energy of every load and interval, kWh, a line of JSON a folder."""

import json
import sys

import pandapower as pp
import pandas as pd
from pandapower.control import ConstControl
from pandapower.timeseries import DFData, OutputWriter, run_timeseries


def energy_kwh(folder: str) -> dict[str, list]:
    """Run the time series of the loads on one bus."""
    p_mw = pd.read_csv(f"{folder}/p_mw.csv", index_col="time_step")
    named = pd.read_csv(f"{folder}/loads.csv", index_col="name")
    times = pd.read_csv(f"{folder}/time_steps.csv", index_col="time_step")
    net = pp.create_empty_network()
    bus = pp.create_bus(net, vn_kv=0.4)
    pp.create_ext_grid(net, bus)
    loads = [pp.create_load(net, bus, name=name, p_mw=row.p_mw, q_mvar=row.q_mvar) for name, row in named.iterrows()]
    source = DFData(p_mw)
    ConstControl(net, "load", "p_mw", element_index=loads, profile_name=p_mw.columns, data_source=source)
    output = OutputWriter(net, time_steps=p_mw.index, output_path=None, log_variables=[("res_load", "p_mw")])
    run_timeseries(net, p_mw.index, verbose=False, numba=False)
    energy = output.output["res_load.p_mw"].to_numpy() * 1000 * times["hours"].to_numpy()[:, None]
    found = dict(zip(named.index, energy.T.tolist(), strict=True))
    return {"stamps": list(times["interval_start_utc"]), **found}


for where, _, _ in json.loads(sys.argv[1]):
    print(json.dumps(energy_kwh(where)))
