"""The page for whoever signs a release: what an attacker can learn, and drafts of what a custodian has to file.

Everything on it follows from the manifest, from public settings and from ``resources/attacks.csv``, which has the
results of attacks on simulated households; neither the readings nor the release is attacked. What only the custodian
knows is a marked blank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from markupsafe import Markup

from meterdp.pages.html import render
from meterdp.pages.numbers import bound, count, plain
from meterdp.privacy.periods import days_of, days_read
from meterdp.publish.crate import About, title_of
from meterdp.publish.kinds import kind_of
from meterdp.publish.odds import CANDIDATES, FOLDER, INFORMED, Bounds, Tried, tried
from meterdp.publish.page import expected_errors
from meterdp.publish.registry_entry import product_of

TEMPLATE = Path(__file__).with_name("custodian.html")
BLANK = Markup('<span class="blank">to be filled in</span>')
RECIPIENTS = Markup("anyone, for any use the licence allows; or only: ") + BLANK
# Without the release a reconstruction of so few in a thousand succeeds.
RARE = 0.001
# Meters of a customer whose odds are stated, too.
SEVERAL = 3
REVIEW = timedelta(days=365)
# Widths of an interval of 95 %, about three standard errors: so many questions are asked that some answers lie above
# the guess by less.
CHANCE = 0.77
# Of measured shares above their bound, whose limits reach below it.
ABOVE_BOUND = " Where a measured share is above its bound, that may be chance: its lower limit is below the bound."
# What the attacks of the table are asked, by attack; the choices there are, all equally likely.
_ASKED = {
    "membership": ("Are these the readings of the meter, or another household's?", 2),
    "attribute": ("Does the household use more than the typical one, or less?", 2),
    "reconstruction": (f"Which of {CANDIDATES} sets of readings are the meter's?", CANDIDATES),
}


@dataclass(frozen=True)
class Signing:
    """A released folder as its custodian sees it."""

    files: Mapping[str, bytes]
    manifest: Mapping
    about: About
    day: date

    @property
    def privacy(self) -> Mapping:
        return self.manifest["privacy"]

    @property
    def hides_readings(self) -> bool:
        """Whether readings are protected, and not only which household they belong to."""
        return self.privacy["adjacency"] == "replace_one"

    @property
    def meters(self) -> int | None:
        """Listed meters; earlier versions did not state them."""
        return self.manifest.get("listed_meters")

    @property
    def stated(self) -> Bounds:
        return Bounds.stated(self.privacy)

    @property
    def exact(self) -> Bounds | None:
        return Bounds.exact(self.privacy)

    @property
    def so_far(self) -> Bounds | None:
        """Of all releases from readings of the period; None if not known, or if this was the first."""
        budget = self.manifest["budget"]
        epsilon = budget.get("spent_epsilon", 0.0)
        if not self.hides_readings or epsilon <= 1.001 * self.privacy["epsilon"]:  # the ledger rounds up
            return None
        return Bounds.stated({"epsilon": epsilon, "delta": budget["limit_delta"]})

    @property
    def limit(self) -> Bounds:
        """Of all releases from readings of the period that the ledger allowed when this one was drawn."""
        budget = self.manifest["budget"]
        return Bounds.stated({"epsilon": budget["limit_epsilon"], "delta": budget["limit_delta"]})

    @property
    def tried(self) -> Tried | None:
        if self.meters is None or not self.hides_readings:
            return None
        return tried(self.kind, self.privacy["epsilon"], self.meters)

    @property
    def kind(self) -> str:
        return kind_of(self.files)


def custodian_page(files: Mapping[str, bytes], manifest: Mapping, about: About, day: date) -> bytes:
    """Return ``custodian.html`` of a released folder, from its manifest and public settings."""
    of = Signing(files, manifest, about, day)
    text = render(
        TEMPLATE,
        title=title_of(files),
        simulated=manifest["simulated_data"],
        epsilon=plain(of.privacy["epsilon"]),
        delta=plain(of.privacy["delta"]),
        unit=of.privacy["unit"],
        facts=_facts(of),
        worth=expected_errors(manifest),
        cut_off=manifest.get("feeder_totals", {}).get("cut_off"),
        guarantee=_guarantee(of),
        hides=of.privacy["hides"],
        does_not_hide=of.privacy["does_not_hide"],
        odds=_odds(of),
        measured=_measured(of),
        spoken=_spoken(of),
        intruder=_intruder(of),
        assessment=_assessment(of),
        risks=_risks(of),
        calendar=_calendar(of),
        made_by=manifest["meterdp_version"],
    )
    return text.encode()


# --- what is released -----------------------------------------------------------------------------------------------


def _facts(of: Signing) -> list[tuple]:
    manifest, about = of.manifest, of.about
    listed = f", {count(of.meters)} listed meters, whoever uses them" if of.meters else ""
    return [
        ("What", manifest["what"]),
        *_started_from(manifest),
        ("Households", f"{manifest['population']}{listed}"),
        *([("Groups of homes (strata)", manifest["strata"])] if "strata" in manifest else []),
        ("Readings", _readings(manifest)),
        ("Files with data", ", ".join(sorted(manifest["sha256"]))),
        ("For whom", RECIPIENTS),
        ("Published by", about.publisher or BLANK),
        ("Licence", about.licence or BLANK),
        ("Drawn on", of.day.isoformat()),
    ]


def _started_from(manifest: Mapping) -> list[tuple]:
    """Name a prior mixture, if one was used."""
    if "library_sha256" not in manifest["public_parameters"].get("public", {}):
        return []
    what = "a public mixture (its digest is library_sha256 in manifest.json), whose shapes remain where noise hides "
    return [("Fit started from", f"{what}those of the households")]


def _readings(manifest: Mapping) -> str:
    """Say of which days readings are released; whether one is plausible is judged with all days of the period."""
    days, period = days_read(manifest["period"], manifest["public_parameters"]), manifest["period"]
    before = "" if days == period else f", each checked for faults with the others of its meter ({_to(period)})"
    return f"{_to(days)}{before}"


def _to(period: Sequence) -> str:
    return f"{period[0]} to {period[1]}" if all(period) else "the days of the export"


def _guarantee(of: Signing) -> str:
    privacy = of.privacy
    return (
        f"Differential privacy with epsilon {privacy['epsilon']:g} and delta {privacy['delta']:g} for "
        f"{privacy['unit']}, proven in {' and '.join(privacy['proof'])} of meterdp. Nobody outside the project has "
        "reviewed the proofs."
    )


# --- odds -----------------------------------------------------------------------------------------------------------


def _odds(of: Signing) -> dict | None:
    """Return how often attackers are right at most; None if readings are not protected."""
    if not of.hides_readings:
        return None
    bounds = of.stated, of.exact
    rows = [
        (attack, asked, _exactly(1 / choices), *(bound(b.naming(choices)) if b else "–" for b in bounds))
        for attack, (asked, choices) in _ASKED.items()
    ]
    asked = "What are the readings? (a guess succeeds once in 1,000 times)"
    hit = (bound(b.hitting(RARE)) if b else "–" for b in bounds)
    rows.append(("reconstruction", asked, _exactly(RARE), *hit))
    return {
        "caption": "How often an attacker who must guess is right, at most",
        "header": ("attack", "question", "without the release", "by ε and δ (for the board)", "by the exact noise"),
        "rows": rows,
        "words": 2,
        "notes": () if of.tried else ("No attack on simulated households was measured for this kind of release.",),
    }


def _exactly(share: float) -> str:
    """Write a share that is known exactly."""
    return f"{plain(100 * share)} %"


def _measured(of: Signing) -> dict | None:
    """Return how often measured attacks were right, beside what bounds them; None where none were measured."""
    found = of.tried
    if found is None:
        return None
    most = {attack: found.bounds.naming(choices) for attack, (_, choices) in _ASKED.items()}
    rows = []
    for attack, (_, choices) in _ASKED.items():
        right = (_with_limits(*found.right[attacker, attack]) for attacker in (INFORMED, FOLDER))
        rows.append((attack, _exactly(1 / choices), bound(most[attack]), *right))
    above = any(low <= most[attack] < right for (_, attack), (right, low, _) in found.right.items())
    return {
        "caption": f"How often attackers were right on simulated households, at ε = {plain(found.epsilon)} and δ = "
        f"{plain(found.delta)}",
        "header": (
            *("attack", "without the release", "at most, by the exact noise of this ε"),
            *("measured, knowing all others", "measured, from the files"),
        ),
        "rows": rows,
        "words": 1,
        "notes": (
            f"Measured on {count(found.trials)} releases of {count(found.meters)} simulated meters with default "
            f"settings. Of several such tests it is {_which(of, found)}.{_own_bounds(of, found)} 95 % confidence "
            "limits are in brackets. One attacker knows the readings of all other meters and sees every noisy "
            f"answer, which is more than is released; the other has only the files.{ABOVE_BOUND if above else ''} "
            "Neither this release nor its readings were attacked.",
        ),
    }


def _own_bounds(of: Signing, found: Tried) -> str:
    """Say how the bounds of this release, in the table before, stand to those of a case."""
    own, there = (of.exact or of.stated).naming(2), found.bounds.naming(2)
    if bound(own) == bound(there):
        return ""
    return f" The bounds of this release itself, in the table above, are {'smaller' if own < there else 'larger'}."


def _with_limits(right: float, low: float, high: float) -> str:
    return f"{100 * right:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def _which(of: Signing, found: Tried) -> str:
    """Say how a case stands to this release by its epsilon."""
    if found.epsilon == of.privacy["epsilon"]:
        return "the one closest to this release"
    if found.epsilon > of.privacy["epsilon"]:
        return "the one closest to this release that had less noise (a larger ε)"
    return "the one with the least noise, which is still more than this release has (a smaller ε)"


def _spoken(of: Signing) -> list[str]:
    stated, sharp = of.stated, of.exact or of.stated
    if not of.hides_readings:
        return [
            "This release hides only which household a file belongs to. It does not protect the readings: anyone "
            "who recognises a household's forecast learns it, up to the noise.",
            "An attacker who knows the forecasts of two households in a neighbourhood can tell whose file is whose "
            f"at most {bound(stated.naming(2))} of the time; tossing a coin is right 50 % of the time.",
        ]
    promised, nearer = bound(stated.naming(2)), bound(sharp.naming(2))
    several = Bounds.exact(of.privacy, SEVERAL)
    by_noise = "" if of.exact is None else f", and by the exact noise at most {nearer}"
    by_noise_several = "" if several is None else f", and by the exact noise {bound(several.naming(2))}"
    sharper = f" The {nearer} does, too, and is closer to what can happen." if by_noise else ""
    tried = " The second table says how well the attackers that were tried did." if of.tried else ""
    return [
        "An attacker knows everything about every other meter, has this whole folder, and must say which of two "
        "equally likely sets of readings one meter had. The attacker is right at most "
        f"{promised} of the time{by_noise}; without the release, 50 % of the time.",
        f"For the board: {promised}. It follows from ε and δ, which are what is promised, limited and charged, so it "
        "can be compared with the limit and with other releases, and holds however clever the attacker is."
        f"{sharper}{tried}{_all_so_far(of)}",
        "A yes-or-no question about one household that is a toss-up to this attacker, such as whether somebody was "
        "at home at noon, can be answered no better than that. But the files show what is true of most households: a "
        "question that has the same answer for 90 % of them is answered rightly for 90 %, whether or not they are "
        "in the release.",
        "Readings that could be guessed once in 1,000 times without the release are guessed at most "
        f"{_in_thousand(stated.hitting(RARE))} times in 1,000 with it"
        + ("." if of.exact is None else f", and by the exact noise {_in_thousand(sharp.hitting(RARE))} times."),
        f"A customer with {SEVERAL} meters on the list is protected less: the attacker names the right readings of "
        f"all three at most {bound(stated.of_meters(SEVERAL).naming(2))} of the time{by_noise_several}.",
    ]


def _all_so_far(of: Signing) -> str:
    """Say how often an attacker is right who has all releases from readings of the period, if this is not all."""
    spent = of.so_far
    if spent is None:
        return ""
    return f" With all that was released from readings of the period so far: {bound(spent.naming(2))}."


# --- the motivated intruder -----------------------------------------------------------------------------------------


def _in_thousand(share: float) -> str:
    """Write an upper bound of a probability as times in 1,000, rounded up."""
    return f"{math.ceil(10_000 * share - 1e-6) / 10:.1f}"


def _intruder(of: Signing) -> dict:
    found = of.tried
    steps = [
        "Choose the intruder: competent and motivated, with time but without inside knowledge. The intruder has this "
        "folder, the public list of meters, the internet, public registers and ordinary tools, and neither hacks nor "
        "bribes.",
        "Choose the targets among simulated households (meterdp simulates as many as you ask for), release them with "
        f"the public settings of this release, and give the intruder {CANDIDATES} sets of readings for every target, "
        "one of which is the household's own. Never use the real readings, and never test this release against them: "
        "the outcome would tell something about real households that ε does not cover.",
        "Ask three questions: is this household among those released, does it have a certain property, and which "
        "readings are its own? Write down every answer before you look at the solution.",
        "Compare with guessing. The test is passed if no share of right answers is more than three standard errors "
        "above guessing. Choose 200 targets or more: of 20, that would allow 83 % where a coin is right in half of "
        "the cases.",
        "Repeat the test before each release with different settings, and when new public sources appear.",
    ]
    return {"steps": steps, "result": _intruder_result(of, found)}


def _intruder_result(of: Signing, found: Tried | None) -> str:
    if found is None:
        return "meterdp has no measured result for this kind of release; the custodian has to run the test."
    said, above = [], []
    for attack, (_, choices) in _ASKED.items():
        right, low, high = found.right[FOLDER, attack]
        said.append(f"{attack} {_with_limits(right, low, high)}, a guess {_exactly(1 / choices)}")
        if right - 1 / choices > CHANCE * (high - low):
            above.append(attack)
    less = found.epsilon < of.privacy["epsilon"]
    more = "This says little about a larger ε: the custodian has to run the test. " if less else ""
    verdict = (
        "passed" if not above else f"not passed, because more were right than by guessing for {' and '.join(above)}"
    )
    return (
        f"The test was not run for this release. Of the tests made before, quoted here is {_which(of, found)} "
        f"({count(found.trials)} releases of {count(found.meters)} simulated meters at ε = "
        f"{plain(found.epsilon)}, a program as the intruder): there the test was {verdict}: {'; '.join(said)}. "
        f"{more}The program names the readings most like what was released. People may be cleverer, but the "
        "guarantee holds against them as well."
    )


# --- the impact assessment ------------------------------------------------------------------------------------------


def _assessment(of: Signing) -> list[tuple]:
    manifest, about = of.manifest, of.about
    meters = f"{count(of.meters)} listed meters" if of.meters else "the listed meters"
    minutes = manifest["public_parameters"]["export"]["interval_minutes"]
    made = (
        "is computed once from the readings with random noise, then published. Whoever runs this sees all readings."
    )
    every = f", every {minutes} minutes" if minutes else ""
    return [
        ("Controller", about.publisher or BLANK),
        ("Data protection officer consulted, on, and the advice", BLANK),
        ("Purpose of the controller", BLANK),
        ("What the files can be used for", product_of(manifest).use),
        ("Nature of the processing", f"what is released ({manifest['what']}) {made}"),
        ("Legal basis", BLANK),
        ("Data subjects", f"whoever uses the electricity of {meters} ({manifest['population']})"),
        ("Who is on the list: homes, businesses, others", BLANK),
        (
            "Personal data",
            f"electricity readings of the days {_to(manifest['period'])}{every}. They stay inside; names and "
            "addresses are not needed, so keep them off the list of meters.",
        ),
        ("Whether the files are personal data, too", _anonymous(of)),
        ("Unit of protection", f"{of.privacy['unit']}. A household with several meters is protected less."),
        ("Recipients", RECIPIENTS),
        ("Necessity and proportionality: why this release, why this ε", BLANK),
        ("Views of the households or of those who speak for them", BLANK),
        ("How households are informed, and can object", BLANK),
        ("Whether the supervisory authority has to be consulted (Article 36)", BLANK),
        ("Decision: publish, publish on conditions, or do not publish", BLANK),
    ]


def _anonymous(of: Signing) -> Markup:
    """Say which test of the EU guidance each attack stands for; whether it is passed is for the officer to say."""
    asked = (
        "Recital 26 of the GDPR asks whether anybody can be identified by means reasonably likely to be used. "
        "Opinion 05/2014 of the Article 29 Working Party tests three risks: singling out, linkability and inference. "
        "It also says of differential privacy that results count as personal data while the controller keeps the "
        "readings (section 3.1.3); since then the Court of Justice has asked by whose means (C-582/14, C-413/23 P)."
    )
    bounded = (
        "By our reading, among the attacks above, reconstruction and membership stand for singling out, membership "
        "for linkability (do readings known from elsewhere belong to a meter in the files?), and attribute for "
        "inference. The guarantee bounds what the files add, for any attacker, to what is known about one meter's "
        "readings; it does not bound what is true of most households, or what other sources tell."
        if of.hides_readings
        else "The guarantee bounds only one kind of linkability: which household of a neighbourhood a forecast "
        "belongs to. About singling out and inference it says nothing: there is a forecast for every household."
    )
    return Markup("{} {} Conclusion of the officer: {}").format(asked, bounded, BLANK)


def _risks(of: Signing) -> dict:
    """Return risks, measures, and what is left of each risk."""
    rows: list[tuple] = []
    if of.hides_readings:
        two = f"an attacker is right at most {bound(of.stated.naming(2))} of the time, a coin 50 %"
        ten = f"an attacker names the right one of {CANDIDATES} sets of readings at most "
        ten += f"{bound(of.stated.naming(CANDIDATES))} of the time, a guess {_exactly(1 / CANDIDATES)}"
        noise = "noise in proportion to what one meter can change, from the operating system's entropy, with a proof"
        rows += [
            ("Somebody finds out that a household's readings were used", noise, two),
            ("Somebody infers a property of one household from its own readings", "the same", two),
            (
                "Somebody reconstructs readings of one household",
                "the same; no row of readings is released",
                ten,
            ),
        ]
    else:
        rows.append(("Somebody recognises a household's forecast", "none: the release hides only whose it is", BLANK))
    so_far = "" if of.so_far is None else f"with all so far at most {bound(of.so_far.naming(2))}; "
    rows += [
        (
            "Several releases about the same meters add up",
            "a ledger that charges every listed meter and refuses whatever exceeds the limit",
            f"{so_far}at the limit, an attacker is right at most {bound(of.limit.naming(2))} of the time",
        ),
        (
            "Something that is true of most households is used against one",
            "none: this is what the release is for",
            BLANK,
        ),
        (
            "Settings, list or period were chosen by what the readings or a study of them show",
            "all of them are public (manifest.json); only the custodian knows how they were chosen",
            BLANK,
        ),
        ("The machine, its logs or its staff leak readings", "none in the released files", BLANK),
    ]
    notes = ("The probabilities are those by ε and δ, as for the board.",) if of.hides_readings else ()
    return {"caption": "", "header": ("risk", "measure", "remaining risk"), "rows": rows, "words": 3, "notes": notes}


# --- the calendar ---------------------------------------------------------------------------------------------------


def _calendar(of: Signing) -> list[tuple]:
    manifest, budget = of.manifest, of.manifest["budget"]
    keep = "keep the ledger with its key and its folder of files, and a backup elsewhere: without them nobody knows "
    named = manifest["budget_period"] and not manifest["simulated_data"]
    return [
        (of.day.isoformat(), f"drawn and charged to every listed meter, with ε = {plain(of.privacy['epsilon'])}"),
        *([("budget period", manifest["budget_period"])] if named else []),
        (
            f"limit for all releases about a meter{' from readings of this budget period' * named}",
            f"ε = {plain(budget['limit_epsilon'])} at δ = {plain(budget['limit_delta'])}",
        ),
        ("spent so far", _spent(budget, of.day)),
        *([("spent in other budget periods", _elsewhere(budget))] if named else []),
        *_next(of, budget),
        ("before each release", "repeat the motivated-intruder test if settings change; reread the assessment"),
        ((of.day + REVIEW).isoformat(), "review the assessment at the latest"),
        ("as long as a release is public", f"{keep}what has been spent"),
        ("for ever", "copies of this folder cannot be recalled, and the guarantee does not expire"),
        *_crosswalk(of.files),
        ("readings, and the rest of results/private", BLANK),
    ]


def _crosswalk(files: Mapping[str, bytes]) -> list[tuple]:
    """Say what becomes of the list of whose random name is which, if there is one."""
    if "recipients.parquet" not in files:
        return []
    return [
        ("when every household has its forecast", "delete the list of random names and meters (crosswalk.parquet)")
    ]


def _spent(budget: Mapping, day: date) -> str:
    if "spent_epsilon" not in budget:
        return "see meterdp ledger show"
    return (
        f"ε = {plain(budget['spent_epsilon'])} when this was drawn on {day.isoformat()}, including this release and "
        "what was requested with it; anything released later comes on top (meterdp ledger show)"
    )


def _elsewhere(budget: Mapping) -> str:
    """Say what readings of other budget periods have spent; earlier versions did not state it."""
    in_all = budget.get("spent_in_all_periods_epsilon")
    alone = "the numbers here are for this period alone; what is released from readings of other periods comes on top"
    if in_all is None:
        return alone
    if in_all == budget["spent_epsilon"]:
        return f"nothing, according to this ledger, when this was drawn; {alone}"
    spent = f"ε = {plain(in_all)} in all, according to this ledger, when this was drawn"
    return f"with them, some meter had spent {spent}; {alone}"


def _next(of: Signing, budget: Mapping) -> list[tuple]:
    """Say what still fits for readings of this budget period, and from when on readings have a new budget."""
    rows = []
    left = budget.get("left_epsilon")
    if left is not None:
        size = (
            f"at most ε = {plain(left)}, on any day, if nothing has been released since (with Gaussian noise "
            "several ε add up to less than their sum)"
            if left
            else "nothing more fits"
        )
        rows.append(("next release from readings of this period", size))
    try:
        end = days_of(of.manifest["budget_period"])[-1][1]
    except (ValueError, AttributeError):  # simulated households may have no period, or one of another name
        return rows
    begins = (end + timedelta(days=1)).isoformat()
    said = (
        "the full limit, less what was released from them before: a budget belongs to the days of the readings, and "
        f"this period ends on {end.isoformat()}"
    )
    rows.append((f"next release from readings of {begins} or later", said))
    return rows
