"""The released households: from vectors of a whole period to files from which any number of years can be drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from meterdp.core.noise import FreshNumbers
from meterdp.core.parquet import bytes_of_pieces, read_table, table_bytes
from meterdp.households.columns import LEAST_DAYS_OF_SEASONS
from meterdp.households.common import BLOCKS
from meterdp.households.marginal import USUAL_KWH_PER_HOUR, mean_bounds_kw
from meterdp.households.mechanism import (
    COMMON_SHARE,
    FEWEST_OF_STRATUM,
    OTHERS,
    Answers,
    HouseholdRecords,
    Households,
    HouseholdsPublic,
    Population,
    directions_of,
    functions_of,
    least_common,
    strata_of,
)
from meterdp.ingest.meter_list import MeterList
from meterdp.ingest.tables import METERS
from meterdp.mechanisms.proven.mechanism import Box
from meterdp.privacy import gaussian
from meterdp.privacy.mechanism import Files
from meterdp.privacy.noise import GRID, GaussianSource
from meterdp.privacy.policy import refused
from meterdp.publish.tables import RELEASED_HOUSEHOLDS, RELEASED_READINGS
from meterdp.release.plan import MOST_DEFAULT, Expected, Plan, mostly_default
from meterdp.release.service import (
    HIDES,
    LISTED,
    SEVERAL_METERS,
    Calibrated,
    ReleaseService,
    as_json,
    request_parameters,
    sentence,
)
from meterdp.release.settings import check_meters
from meterdp.release.worth import HOUSEHOLD_QUANTILES, TRIED, tried_households

if TYPE_CHECKING:  # loads numba: a plan does without
    from meterdp.households.common import CommonSeries
    from meterdp.households.vector import VectorSettings

# Counts up when the same parameters would give another release.
VERSION = 3
EVERYBODY = "all"
# Of a year, as the table of the plan is; a shorter period has fewer and is worth a little more.
VECTOR_ENTRIES, _YEAR = 58, 365
DOES_NOT_HIDE = (
    LISTED,
    "what is true of the population: how much households use, when, and how much they differ",
    SEVERAL_METERS,
)
# Synthetic households whose readings are released, too.
_READ = 100
# Of what a stratum joins so much is named.
_JOINED = 6
# A synthetic vector that differs less from the public default, as a root mean square of half widths, is one of a home
# without usable readings: others differ by twice as much and more, with and without noise.
_LIKE_THE_DEFAULT = 0.08
# A home that uses less than so many times the least that a release can tell probably uses less than that.
_NEAR_THE_LEAST = 1.5
# What no number of a plan says; docs/households.md has the measurements.
_PEAKS = (
    "these numbers do not cover when and how high many homes peak together: in trials with a thousand homes at "
    "epsilon 1, their joint peak came out up to a seventh too low on average, and further off, either way, in single "
    "releases"
)
_NO_PEAKS = (
    "with so few meters at this epsilon, noise may hide what homes do at the same time, so do not size cables or "
    "transformers by that peak"
)
# Share of a home's variance that homes do together in the mean of a day: simulated homes have 0.11, Swiss ones 0.35,
# and 820 synthetic homes without heating lost it in one of two releases at epsilon 2.
_LEAST_COMMON = 0.005
_NET = (
    "these numbers are of trials with homes that feed nothing in: net load comes out further off, in energy and hour "
    "by hour, and with few meters much of what homes with panels feed in is lost"
)
_NO_SEASONS = (
    "the period is shorter than nine months, too short to tell seasons apart: what is drawn for other times of the "
    "year has none"
)
_BLENDED = (
    "homes that differ from most, such as those with heat pumps or those that stand empty for months, are blended "
    f"into the rest unless they are a separate group (stratum) of {FEWEST_OF_STRATUM} meters or more, or released "
    "from a separate list"
)
_ALONE = (
    "noise hid what homes do at the same time, so these homes act independently: do not trust the peak of many of "
    "them, and size no cable or transformer by it"
)


@dataclass(frozen=True)
class Strata:
    """Groups of homes that are released separately, by columns of the public list; without columns there is one."""

    columns: tuple[str, ...]
    said: tuple[str, ...]  # of every meter in these columns, (N,)

    @cached_property
    def _made(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        return strata_of(self.said)

    @property
    def names(self) -> tuple[str, ...]:
        return self._made[0]

    @property
    def stratum(self) -> tuple[int, ...]:
        """Of every meter, 0..S-1, (N,)."""
        return self._made[1]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(np.bincount(self.stratum).tolist())

    @cached_property
    def of_meters(self) -> tuple[str, ...]:
        return tuple(self.names[stratum] for stratum in self.stratum)

    @cached_property
    def mixed(self) -> tuple[str, ...]:
        """Those that may have several kinds of homes: joined ones, and homes of which the list says nothing."""
        joined = {stratum for stratum, one in zip(self.of_meters, self.said, strict=True) if stratum != one}
        return tuple(name for name in self.names if name in joined or name == EVERYBODY)

    @property
    def sentence(self) -> str:
        """Which strata there are: small ones are joined; empty without columns."""
        if not self.columns:
            return ""
        named = (f"'{name}' of {size:,} meters" for name, size in zip(self.names, self.sizes, strict=True))
        said = "; ".join(["; ".join(named), *filter(None, self._joined)])
        return f"release.household_strata makes {len(self.names)} strata (groups of homes): {said}"

    @property
    def words(self) -> str:
        """The same for readers of the release."""
        if not self.columns:
            return ""
        named = ", ".join(f"{name} ({size:,})" for name, size in zip(self.names, self.sizes, strict=True))
        joined = "".join(f". {words}" for words in self._joined[:1] if words)
        return f"by {' and '.join(self.columns)}: {named}{joined}"

    @property
    def _joined(self) -> tuple[str, str]:
        """Say what the stratum of the others joins, and how to keep apart what is large enough; empty if nothing."""
        found = Counter(one for one, stratum in zip(self.said, self.of_meters, strict=True) if stratum == OTHERS)
        if len(found) < 2:  # the list itself may say 'other'
            return "", ""
        named = [f"{name} ({meters:,})" for name, meters in found.most_common()]
        *first, last = named if len(named) <= _JOINED else (*named[: _JOINED - 1], f"{len(named) - _JOINED + 1} more")
        joined = f"'{OTHERS}' joins {', '.join(first)} and {last}: a group needs {FEWEST_OF_STRATUM} meters"
        large = [name for name, meters in found.most_common() if meters >= FEWEST_OF_STRATUM]
        if not large:
            return joined, ""
        few = sum(meters for meters in found.values() if meters < FEWEST_OF_STRATUM)
        apart = f"to keep {large[0]} separate, leave these {few:,} meters out of the list, or name another column"
        return f"{joined}, and the smaller groups have only {few:,} together", apart


@dataclass(frozen=True)
class ReleasedPopulation(Calibrated):
    """The households of a configuration, released.

    Records are in the order of the list.
    """

    mechanism: Households
    settings: VectorSettings
    strata: Strata
    service: ReleaseService
    setting: ClassVar[str] = "release.household_epsilon"
    what: ClassVar[str] = "synthetic households over the whole period"

    @property
    def plan(self) -> Plan:
        """That of the smallest stratum."""
        public, strata = self.mechanism.public, self.strata
        seasons = self.settings.columns.seasons
        how = (seasons, public.days, strata.mixed, self.settings.feed_in)
        planned = plan_of(public.epsilon, public.delta, strata.sizes, *how)
        return replace(planned, assumed=_assumed(self.service.config), strata=strata.sentence)

    @property
    def groups(self) -> tuple[str, ...]:
        return self.strata.of_meters

    @property
    def parameters(self) -> dict:
        public, settings = self.mechanism.public, self.settings
        prior = public.prior_mixture
        return request_parameters(
            "households",
            self.mechanism.name,
            VERSION,
            {
                "epsilon": public.epsilon,
                "delta": public.delta,
                "grid": public.grid,
                "entries": settings.names,
                "bounds": settings.bounds.tolist(),
                "strata": dict(zip(self.strata.names, public.sizes, strict=True)),
                "measured": functions_of(settings.names),
                "days": public.days,
                "blocks_of_a_day": BLOCKS,
                "prior_mixture_sha256": None if prior is None else prior.sha256,
            },
            **self.service.records(profile_keys=("clip_kwh_per_hour", *self._of_unknown_homes)),
            days_off=[day.isoformat() for day in settings.days_off],
            synthetic_households=self.service.config["release"]["synthetic_households"],
        )

    @property
    def _of_unknown_homes(self) -> tuple[str, ...]:
        """The setting that says what a home without readings uses, unless it is what ledgers take for granted."""
        key = "default_kwh_per_hour"
        return () if self.service.config["profiles"][key] == USUAL_KWH_PER_HOUR else (key,)

    def answer(self, records: HouseholdRecords, noise: GaussianSource, earlier: Sequence[Files]) -> Answers:
        return self.mechanism.release(records, noise)

    def render(self, answers: Answers, earlier: Sequence[Files]) -> Files:
        return _files(*answers, self)


def mechanisms(listed: MeterList, service: ReleaseService) -> tuple[ReleasedPopulation]:
    from meterdp.households.configured import settings_of

    config, settings = service.config, settings_of(service.config)
    strata = _strata(listed, config["release"]["household_strata"])
    public = HouseholdsPublic(
        config["release"]["household_epsilon"],
        config["release"]["delta"],
        Box(*(tuple(bound) for bound in settings.bounds.tolist())),
        strata.stratum,
        directions_of(settings.names),
        grid=GRID,
        days=settings.columns.day_count,
    )
    return (ReleasedPopulation(Households.calibrate(public), settings, strata, service),)


def _strata(listed: MeterList, columns: Sequence[str]) -> Strata:
    """Return the strata by some columns of the list; circuits and feeders are columns, too."""
    said_of = listed.columns
    for column in columns:
        if column not in said_of:
            known = ", ".join(said_of) or "none beside meter_id"
            raise refused(
                "release.household_strata",
                f"names '{column}', which is not a column with entries in the public list of meters",
                f"use columns of the list ({known})",
            )
    entries = ([said_of[column][meter] or "" for column in columns] for meter in listed.meter_ids)
    strata = Strata(tuple(columns), tuple(", ".join(one) or EVERYBODY for one in entries))
    if columns and len(strata.names) == 1:
        raise refused(
            "release.household_strata",
            "would put all listed meters into one stratum, as if there were none",
            f"leave it out, or name columns in which at least two values have {FEWEST_OF_STRATUM} meters each",
        )
    return strata


def records(files: Mapping, config: Mapping, listed: MeterList) -> HouseholdRecords:
    """Return the records of all listed meters; one that a quality rule leaves out has the public typical vector."""
    from meterdp.households.configured import records_of, settings_of

    known = read_table(files["known"], METERS)["meter_id"].to_pylist()
    check_meters(known, listed.meter_ids, len(known))
    return records_of(files["records"], files["deviations"], len(known), settings_of(config))


def plan(config: Mapping, meters: int, feeders: int, listed: MeterList | None = None) -> Plan:
    """Of the strata of a list; of a number of meters alone, as one stratum."""
    release, sizes, mixed, sentence = config["release"], (meters,), (EVERYBODY,), ""
    if listed is not None:
        strata = _strata(listed, release["household_strata"])
        sizes, mixed, sentence = strata.sizes, strata.mixed, strata.sentence
    named = [config["export"][key] for key in ("first_day", "last_day")]
    days = [date.fromisoformat(day) for day in named if day is not None]
    count = (days[1] - days[0]).days + 1 if len(days) == 2 else _YEAR
    at, seasons = (release["household_epsilon"], release["delta"]), count >= LEAST_DAYS_OF_SEASONS
    planned = plan_of(*at, sizes, seasons, count, mixed, _feeds_in(config))
    of_a_year = "" if len(days) == 2 else " and the period is a year"
    return replace(planned, assumed=_assumed(config) + of_a_year, strata=sentence)


def _assumed(config: Mapping) -> str:
    """Say between which daily energies of a home the plan holds."""
    low, high = (f"{24 * bound:.3g}" for bound in mean_bounds_kw(config))
    size = "the mean size of a home's load is" if _feeds_in(config) else "a home uses"
    return f"{size} {low} to {high} kWh a day"


def _feeds_in(config: Mapping) -> bool:
    return config["profiles"]["clip_kwh_per_hour"][0] < 0


def plan_of(
    epsilon: float,
    delta: float,
    sizes: Sequence[int],
    seasons: bool = True,
    days: int = _YEAR,
    mixed: Sequence[str] = (EVERYBODY,),
    net: bool = False,
) -> Plan:
    """Return what the smallest of strata of so many meters is expected to be worth, over so many days; ``seasons`` if
    they are enough to tell them, ``mixed`` are those that may have several kinds of homes, ``net`` if homes feed in.
    """
    meters = min(sizes)
    peaks = _PEAKS + ", and lower with several groups of homes" * (len(sizes) > 1)
    if least_common(epsilon, delta, sum(sizes), days) > _LEAST_COMMON:
        peaks += f"; {_NO_PEAKS}"
    mu = gaussian.mu_for(epsilon, delta) * math.sqrt(1 - COMMON_SHARE)
    found = tried_households(meters * mu / VECTOR_ENTRIES)

    def off(quantity: str, guessed: str) -> str:
        error, bound, guess = (f"{100 * share:.0f} %" for share in found[quantity])
        return f"is off by {error} on average, more than {bound} in one release of 20 ({guessed}: {guess})"

    weekends = f"use at weekends, compared with working days, {off('weekends', 'a public guess')}"
    alike = "a guess that all months are alike"
    months = f"use in a month, compared with the mean of all months, {off('seasons', alike)}"
    year = f"{months}; on average seasons come out weaker than they are" if seasons else _NO_SEASONS
    warnings, of_smallest = [*[_NET] * net, peaks, year, weekends], ""
    if mixed:
        # Of 900 homes by kind, months of the joined 470 were off by 13 to 20 %, those of the other 430 by 2 to 8 %.
        named = " and ".join(f"'{name}'" for name in mixed)
        further = (
            f"a group of several kinds of homes ({named}) may be further off than said here, even if it is large"
        )
        warnings.append(f"{_BLENDED}; {further}" if len(sizes) > 1 else _BLENDED)
    elif len(set(sizes)) > 1:
        of_smallest = f"; groups larger than the smallest ({meters:,} meters) are off by less"
    low, middle, high = (f"{100 * level:g}" for level in HOUSEHOLD_QUANTILES)
    below = f"that {low}, {middle} and {high} % of homes stay below"
    said = {
        "mean": "mean energy of a home",
        "hours": "mean energy of an hour of the day",
        **({"months": "mean energy of a month, averaged over months"} if seasons else {}),
        "energy": f"energy {below}",
        "peak": f"largest reading {below}",
    }
    return Plan(
        what="households",
        setting="household_epsilon",
        epsilon=epsilon,
        size=meters,
        sized="listed meters" if len(sizes) == 1 else f"listed meters in the smallest of {len(sizes)} strata",
        expected=tuple(Expected(words, *found[name]) for name, words in said.items()),
        found=TRIED + of_smallest,
        again=lambda epsilon, meters: plan_of(epsilon, delta, (meters,) * len(sizes), seasons, days, mixed, net),
        warnings=tuple(warnings),
        absurd=found["absurd"][0],
        absurd_of="energy or largest reading",
        absurd_for_readers="the energy or the largest reading of small, typical or large homes",
    )


def _contradicted(vectors: np.ndarray, settings: VectorSettings) -> str | None:
    """Say how many of the synthetic vectors, (n, d), are those of homes without usable readings, or hardly more
    than the least that counts, if many are."""
    differs = settings.in_half_widths(vectors) - settings.in_half_widths(settings.typical[None])
    like = np.sqrt((differs**2).mean(axis=1)) < _LIKE_THE_DEFAULT
    least_kw = settings.mean_kw[0]
    if said := mostly_default(like.mean(), _default_home(settings)):
        return said
    if (share := (vectors[:, 0] < math.log(_NEAR_THE_LEAST * least_kw)).mean()) <= MOST_DEFAULT:
        return None
    return (
        f"{100 * share:.0f} % of the synthetic households use less than {24 * _NEAR_THE_LEAST * least_kw:.2g} kWh a "
        f"day, where {24 * least_kw:.2g} is the least that this release can show: real ones probably use less, so "
        "the errors stated here do not hold"
    )


def _default_home(settings: VectorSettings) -> str:
    """Say what a home without usable readings counts as."""
    return "no net load" if settings.feed_in else f"{24 * math.exp(settings.typical[0]):.3g} kWh a day"


def _files(
    populations: tuple[Population, ...], common: CommonSeries | None, made_by: ReleasedPopulation
) -> dict[str, bytes]:
    from meterdp.households.released import FILE, ReleasedHouseholds

    mechanism, service, settings = made_by.mechanism, made_by.service, made_by.settings
    public, guarantee = mechanism.public, mechanism.guarantee
    released = ReleasedHouseholds(
        settings,
        service.config["release"]["household_holidays"],
        dict(zip(made_by.strata.names, public.sizes, strict=True)),
        populations,
        common,
    )
    n = service.config["release"]["synthetic_households"]
    stratum, vectors = released.draw(n, FreshNumbers())
    seed = int(FreshNumbers().uniform((1,))[0] * 2**32)
    files = {
        FILE: as_json(released.stated),
        "household_vectors.parquet": table_bytes(
            RELEASED_HOUSEHOLDS,
            {"household": np.arange(1, n + 1, dtype=np.int32), "stratum": stratum, "vector": list(vectors)},
            {"guarantee": sentence(guarantee), "synthetic": "yes"},
        ),
        "household_readings.parquet": bytes_of_pieces(
            RELEASED_READINGS,
            (rows | {"energy_kwh": rows["energy_kwh"].round(3)} for rows in released.readings(vectors[:_READ], seed)),
            {"guarantee": sentence(guarantee), "synthetic": "yes"},
        ),
    }
    what = (
        "a statistical model of how households use electricity over a whole period, and synthetic homes drawn from it"
    )
    wrong, plan = _contradicted(vectors, settings), made_by.plan
    if public.days and common is None:
        plan = replace(plan, warnings=(_ALONE, *(one for one in plan.warnings if not one.startswith(_PEAKS))))
    stated = plan.stated(wrong)
    manifest = service.manifest(what, made_by, HIDES, DOES_NOT_HIDE) | {"expected_error": stated}
    manifest |= {"strata": strata} if (strata := made_by.strata.words) else {}
    (first, last), calendar, (low, high) = service.period, settings.calendar, settings.reading_kw
    weather = "" if common is None else ". Another year has the weather of the period, date by date"
    least = service.config["profiles"]["clip_kwh_per_hour"][0]
    zero = f" ({least:g} or less counts as zero)" if least > 0 else ""
    country = service.config["release"]["household_holidays"]
    days_off = f"Days off are {calendar.weekend.plural}"
    if country is not None:
        days_off = f"{days_off.replace(' and ', ', ')} and public holidays ({country})"
    spans = "day, week or season" if settings.columns.seasons else "day or week"
    of_strata = f", one for each stratum (group of homes, with its number of meters) {strata}" if strata else ""
    of_one = ", of one group with `--stratum`" if strata else ""
    page = service.page(
        "Synthetic households",
        f"This folder describes how households used electricity from {first} to {last}: how much, when, how evenly, "
        f"and how much one {spans} of a household resembles the next. {days_off}. It holds no real "
        f"household's readings. It is about {public.records:,} meters; one without usable readings counts as a home "
        f"of {_default_home(settings)}.",
        (
            f"`{FILE}`: a mixture of the {len(settings.names)} numbers that describe a household{of_strata}, for "
            "`meterdp households draw`: sampled without its reweighting it gives other homes",
            f"`household_vectors.parquet`: {n:,} synthetic households with these numbers, to use instead",
            f"`household_readings.parquet`: readings of the first {min(n, _READ)} of them (household k here is "
            f"household k there) over the whole period: kWh in intervals of {calendar.interval_minutes} minutes, "
            f"within {low:g} to {high:g} kWh per hour{zero}, by their starts in UTC (local time is "
            f"{calendar.time_zone}). The mean of these few may be off by a tenth: `meterdp households draw` draws as "
            f"many as you want, for any year{of_one}, and numbers them from 1 again{weather}",
            "`manifest.json`: how the files were made, for experts and machines",
        ),
        expected=plan.points(),
        contradicted=wrong,
        guarantee=guarantee,
        hides=HIDES,
        does_not_hide=DOES_NOT_HIDE,
    )
    return service.folder(files, manifest, page, made_by)
