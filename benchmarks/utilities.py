"""Three utilities that are simulated with other parameters than those of resources/simulator.yaml, for benchmarks.

As differences from the parameters of the simulator:

* later: levels e^0.35 times, days 1.5 hours later, other shares of the types, shapes 1.3, noise 0.9 and levels 1.4
  times as different,
* shops: levels e^-0.45 times, days 1.5 hours earlier, mostly shops, shapes 0.8, noise 1.6, levels 1.1 times,
* flat: shops, but every type's day half as far from its mean, appliances of twice the power and half a kilowatt of
  base load: changes that no household behind the prior mixture has.

None has seasons, and ``NO_SEASONS`` takes them from the parameters of the simulator: the days tried are in November
and December, and the numbers in the documentation are of load without them.

The first tuned nothing. The other two, under other seeds, decided with the Swiss homes of config/examples how the
prior mixture is adapted (docs/proofs/sound.md, 9).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np

from meterdp.simulate.load import Variation
from meterdp.simulate.parameters import SimulationParameters

DAY = date(2025, 12, 3)
LATER = Variation(0.35, 1.5, (400, 650, 150, 150, 10, 50), 1.3, 0.9, 1.4, season=0.0)
SHOPS = Variation(-0.45, -1.5, (200, 200, 20, 600, 40, 60), 0.8, 1.6, 1.1, season=0.0)
NO_SEASONS = Variation(0.0, 0.0, (687, 428, 102, 147, 14, 31), 1.0, 1.0, 1.0, season=0.0)


def flat(parameters: SimulationParameters) -> SimulationParameters:
    """Return a utility whose types have flatter days, stronger appliances and more base load."""

    def half(log_kwh: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(0.5 * (np.array(log_kwh) + np.mean(log_kwh)))

    kinds = SHOPS.of(parameters).household_types
    return replace(
        parameters,
        household_types=tuple(
            replace(
                kind,
                weekday_log_kwh=half(kind.weekday_log_kwh),
                weekend_log_kwh=half(kind.weekend_log_kwh),
                base_load_kw=tuple(0.5 + p for p in kind.base_load_kw),
                appliances=tuple(replace(a, power_kw=tuple(2 * p for p in a.power_kw)) for a in kind.appliances),
            )
            for kind in kinds
        ),
    )
