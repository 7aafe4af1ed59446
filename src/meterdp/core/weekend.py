"""The two days of the weekend, which is not on Saturday and Sunday everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Weekend:
    """Two days of the week, numbered from Monday as 0, in ascending order."""

    days: tuple[int, int] = (5, 6)

    def __post_init__(self):
        if len({*self.days}) != 2 or len(self.days) != 2:
            raise ValueError("a weekend has two days")

    @classmethod
    def of(cls, export: Mapping) -> Weekend:
        """Return that of a section ``export``; earlier versions knew Saturday and Sunday only and name none.

        Raises TypeError or ValueError if it does not name two days.
        """
        named = export.get("weekend", SATURDAY_SUNDAY.setting)
        return cls(tuple(sorted(DAYS.index(str(day).capitalize()) for day in named)))

    @property
    def setting(self) -> list[str]:
        """As ``export.weekend`` names it."""
        return [DAYS[day].lower() for day in self.days]

    def holds(self, day):
        """Whether a local day, numbered from 1970-01-01 as 0, is of the weekend; or which of an array are."""
        first, second = self.days
        weekday = (day + 3) % 7  # 1970-01-01 was a Thursday
        return (weekday == first) | (weekday == second)

    @property
    def words(self) -> str:
        """Such as ``Saturday and Sunday``, in the order in which they come."""
        first, second = self.days
        return " and ".join(DAYS[day] for day in ((second, first) if self.days == (0, 6) else self.days))

    @property
    def plural(self) -> str:
        """Such as ``Saturdays and Sundays``."""
        return self.words.replace("day", "days")

    @property
    def working_days(self) -> str:
        """Such as ``Monday to Friday``."""
        others = [(self.days[-1] + n) % 7 for n in range(1, 8) if (self.days[-1] + n) % 7 not in self.days]
        runs = [others[:1]]
        for day in others[1:]:
            if (runs[-1][-1] + 1) % 7 != day:
                runs.append([])
            runs[-1].append(day)
        return " and ".join(" to ".join(DAYS[day] for day in dict.fromkeys((run[0], run[-1]))) for run in runs)


SATURDAY_SUNDAY = Weekend()
# Where some countries count Friday to the weekend; it takes half a second to look one up.
_REGIONS = ("Africa", "Asia", "Indian")


def weekend_of_zone(time_zone: str) -> Weekend:
    """Return the weekend of the country of a time zone where Friday is of it, as the package holidays knows it.

    Elsewhere, and of a zone of no country, it is Saturday and Sunday.
    """
    if time_zone.split("/")[0] not in _REGIONS:
        return SATURDAY_SUNDAY
    import holidays

    zones = (files("tzdata") / "zoneinfo/zone.tab").read_text(encoding="utf-8").splitlines()
    of = {zone: code for code, _, zone, *_ in (line.split("\t") for line in zones if not line.startswith("#"))}
    try:
        days = holidays.country_holidays(of[time_zone]).weekend
    except (KeyError, NotImplementedError):
        return SATURDAY_SUNDAY
    friday = DAYS.index("Friday")
    return Weekend(tuple(sorted(days))) if len(days) == 2 and friday in days else SATURDAY_SUNDAY
