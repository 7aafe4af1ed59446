"""One of pandapower's networks as matrices, and what pandapower finds for some loads of it; run in its environment.

``python in_pandapower.py NETWORK GIVEN WRITTEN``: GIVEN holds ``load_kw`` (hours, loads), in the order of the loads.
"""

import sys
import time

import numpy as np
import pandapower
import pandapower.networks


def main(network: str, given: str, written: str) -> None:
    net = getattr(pandapower.networks, network)()
    net.load.q_mvar = 0.0
    load_kw = np.load(given)["load_kw"]
    # The same cables at the same temperature in every hour; loads of constant power.
    settings = {"numba": False, "trafo_loading": "current", "calculate_voltage_angles": True}
    net.load.p_mw = load_kw[0] / 1000
    pandapower.runpp(net, **settings)
    inside, bus = net._ppc["internal"], net._pd2ppc_lookups["bus"]
    first, _ = net._pd2ppc_lookups["branch"]["trafo"]
    begin, voltage_pu, loading_percent = time.perf_counter(), [], []
    for row in load_kw:
        net.load.p_mw = row / 1000
        pandapower.runpp(net, **settings)
        voltage_pu.append(net.res_bus.vm_pu.to_numpy(copy=True))
        loading_percent.append(net.res_trafo.loading_percent.iloc[0])
    np.savez(
        written,
        admittance=inside["Ybus"].toarray(),
        slack=inside["ref"][0],
        slack_pu=inside["V"][inside["ref"][0]],
        node=bus[net.bus.index],
        load_node=bus[net.load.bus],
        transformer=np.array([inside[ends].toarray()[first] for ends in ("Yf", "Yt")]),
        base_kva=1000 * inside["baseMVA"],
        transformer_kva=1000 * net.trafo.sn_mva.iloc[0],
        voltage_pu=voltage_pu,
        loading_percent=loading_percent,
        seconds=(time.perf_counter() - begin) / len(load_kw),
        version=pandapower.__version__,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
