"""Green Button XML on hand-made feeds: links, units, flows, intervals, and what is refused or counted."""

import gzip
import os
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meterdp.errors import InputError
from meterdp.ingest.dense import REASONS
from meterdp.ingest.readers import green_button
from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest.made_up import fuzz, ingested, read_all, refusal

MUTATIONS = int(os.environ.get("METERDP_REWRITES", "120"))
START = int(pd.Timestamp("2023-04-01", tz="UTC").timestamp())
POINT = "https://utility/espi/1_1/resource/RetailCustomer/5/UsagePoint/1"
OTHER = POINT.replace("/5/", "/6/")
TYPE = "https://utility/espi/1_1/resource/ReadingType/7"
BILLION_LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><feed xmlns="http://naesb.org/espi">&b;</feed>'


def entry(content: str, self: str, *, up: str = "", related=(), content_first=False) -> str:
    links = f'<link rel="self" href="{self}"/>' + (f'<link rel="up" href="{up}"/>' if up else "")
    links += "".join(f'<link rel="related" href="{href}"/>' for href in related)
    parts = [links, f"<content>{content}</content>"]
    return "<entry>" + "".join(reversed(parts) if content_first else parts) + "</entry>"


def bare(kind: str, self: str, inside="", **options) -> str:
    return entry(f'<{kind} xmlns="http://naesb.org/espi">{inside}</{kind}>', self, **options)


def usage_point(point=POINT, kind="0") -> str:
    inside = f"<ServiceCategory><kind>{kind}</kind></ServiceCategory>"
    return bare("UsagePoint", point, inside, related=[f"{point}/MeterReading"])


def meter_reading(number=1, point=POINT, type_=TYPE) -> str:
    own = f"{point}/MeterReading/{number}"
    related = [f"{own}/IntervalBlock", type_]
    return bare("MeterReading", own, up=f"{point}/MeterReading", related=related)


def reading_type(self=TYPE, **said) -> str:
    said = {"flowDirection": 1, "intervalLength": 3600, "powerOfTenMultiplier": 0, "uom": 72, **said}
    words = "".join(f"<{name}>{word}</{name}>" for name, word in said.items() if word is not None)
    return bare("ReadingType", self, words)


def reading(start, value, duration=3600) -> str:
    period = (
        "" if start is None else f"<timePeriod><duration>{duration}</duration><start>{start}</start></timePeriod>"
    )
    return f"<IntervalReading><cost>9</cost>{period}<value>{value}</value></IntervalReading>"


def block(values, number=1, point=POINT, start=START, duration=3600, name=1, **options) -> str:
    inside = "".join(reading(start + i * duration, value, duration) for i, value in enumerate(values))
    return block_of(inside, number, point, name, **options)


def block_of(inside: str, number=1, point=POINT, name=1, **options) -> str:
    up = f"{point}/MeterReading/{number}/IntervalBlock"
    interval = f"<interval><duration>86400</duration><start>{START}</start></interval>"
    return bare("IntervalBlock", f"{up}/{name}", interval + inside, up=up, **options)


def write(tmp_path, *entries, name="e.xml"):
    path = tmp_path / name
    feed = '<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n' + "\n".join(entries) + "\n</feed>\n"
    path.write_text(feed)
    return path


def options(**other) -> ExportSettings:
    zone = "America/Los_Angeles"
    return ExportSettings(**{"format": "green_button", "time_zone": zone, "interval_minutes": 60, **other})


def refused(path, **other) -> str:
    private = ("UsagePoint/", "://utility", str(START), "oops")
    return refusal(path, lambda: read_all(green_button, path, options(**other)), private)


def became(path, **other) -> dict[str, int]:
    return dict(read_all(green_button, path, options(bad_rows="missing", **other)).became)


DAY = np.arange(24) * 125


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1]])
@pytest.mark.parametrize("content_first", [False, True])
def test_the_links_say_what_belongs_together_wherever_it_stands(tmp_path, order, content_first):
    entries = [usage_point(), meter_reading(), reading_type(), block(DAY, content_first=content_first)]
    result = ingested(write(tmp_path, *(entries[i] for i in order)), options())
    assert result.counts == {"used": 24}
    assert result.energy_kwh[POINT].tolist() == (DAY / 1000).tolist()
    assert int(result.energy_kwh.index[0].timestamp()) == START


@pytest.mark.parametrize("power", [-3, -1, 0, 2, 3, 6])
def test_the_power_of_ten_scales_watt_hours(tmp_path, power):
    path = write(tmp_path, meter_reading(), reading_type(powerOfTenMultiplier=power), block([123, 456]))
    expected = [float(f"{value}e{power - 3}") for value in (123, 456)]
    assert ingested(path, options()).energy_kwh[POINT].tolist() == expected


def test_links_that_do_not_name_a_usage_point_belong_to_nobody(tmp_path):
    """Whose a block is must not hang on what another entry says: the last one won, and took another's readings."""
    mine = [
        bare("UsagePoint", "/up/a", related=["/up/a/readings"]),
        bare("MeterReading", "/mr/a", up="/up/a/readings", related=["/blocks/a", TYPE]),
        bare("IntervalBlock", "/blocks/a", reading(START, 5)),
    ]
    thief = [
        bare("UsagePoint", "/up/v", related=["/up/v/readings"]),
        bare("MeterReading", "/mr/v", up="/up/v/readings", related=["/blocks/a", TYPE]),
    ]
    for entries in (mine, mine + thief):
        assert became(write(tmp_path, reading_type(), *entries)) == {"meter_missing": 1}
    assert "most are meter_missing" in refused(write(tmp_path, reading_type(), *mine))


IN_KWH = "<uom>72</uom><powerOfTenMultiplier>3</powerOfTenMultiplier>"
CLAIMS = {
    "related links to blocks": bare(
        "MeterReading",
        f"{OTHER}/MeterReading/1",
        up=f"{OTHER}/MeterReading",
        related=[f"{POINT}/MeterReading/1/IntervalBlock", f"{POINT}/MeterReading/1/IntervalBlock/1", TYPE],
    ),
    "related links to meter readings": bare(
        "UsagePoint",
        OTHER,
        "<ServiceCategory><kind>1</kind></ServiceCategory>",
        related=[f"{POINT}/MeterReading", POINT],
    ),
    "a reading type of its own": bare("ReadingType", f"{OTHER}/ReadingType/7", IN_KWH),
    "its own name in one link and another in the next": bare(
        "IntervalBlock",
        f"{OTHER}/MeterReading/1/IntervalBlock/9",
        reading(START, 7),
        up=f"{POINT}/MeterReading/1/IntervalBlock",
    ),
}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
@pytest.mark.parametrize("first", [False, True])
def test_no_entry_claims_what_is_anothers(tmp_path, claim, first):
    own = [usage_point(), meter_reading(), reading_type(), block(DAY)]
    path = write(tmp_path, *([claim, *own] if first else [*own, claim]))
    found = read_all(green_button, path, options(bad_rows="missing"))
    assert found.kwh == {(POINT, (START + 3600 * i) * 10**6): value / 1000 for i, value in enumerate(DAY)}


def test_a_reading_type_of_another_household_means_nothing(tmp_path):
    theirs = f"{OTHER}/ReadingType/7"
    path = write(tmp_path, reading_type(theirs), meter_reading(type_=theirs), block(DAY))
    assert became(path) == {"reading_type_missing": 24}
    own = f"{POINT}/ReadingType/7"
    path = write(tmp_path, reading_type(own), meter_reading(type_=own), block(DAY))
    assert ingested(path, options()).counts == {"used": 24}


@pytest.mark.parametrize(
    ("again", "sentence"),
    [
        (CLAIMS["its own name in one link and another in the next"], "has links (self, up) of two usage points"),
        (meter_reading(type_=TYPE + "O"), "is the second entry of one meter reading, and says otherwise"),
        (usage_point(kind="1"), "is the second entry of one usage point, and says otherwise"),
    ],
)
def test_what_contradicts_is_refused_with_the_entry_named(tmp_path, again, sentence):
    path = write(tmp_path, usage_point(), meter_reading(), reading_type(), block(DAY), again)
    assert f", row 7, field 'entry': {sentence}" in refused(path)


def test_what_contradicts_is_left_out_of_its_own_household(tmp_path):
    own = [usage_point(), meter_reading(), reading_type(), block(DAY)]
    rest = [usage_point(OTHER), meter_reading(point=OTHER), block(DAY, point=OTHER)]
    other_type = reading_type(TYPE + "O", powerOfTenMultiplier=3)
    for spoilt, reason in (
        ([usage_point(OTHER, kind="1")], "other_register"),
        ([other_type, meter_reading(point=OTHER, type_=TYPE + "O")], "reading_type_missing"),
    ):
        assert became(write(tmp_path, *own, *rest, *spoilt)) == {"used": 24, reason: 24}
    again = write(tmp_path, *own, *rest, usage_point(OTHER), meter_reading(point=OTHER))
    assert ingested(again, options()).counts == {"used": 48}  # utilities do write them twice


def test_several_usage_points_in_one_file(tmp_path):
    entries = [reading_type(), meter_reading(), block(DAY[:12]), meter_reading(point=OTHER), block(DAY, point=OTHER)]
    entries += [block(DAY[12:], start=START + 12 * 3600, name=2)]
    result = ingested(write(tmp_path, *entries), options(), batch_bytes=64)
    assert result.counts == {"used": 48} and list(result.energy_kwh) == [POINT, OTHER]
    assert (result.energy_kwh[POINT] == result.energy_kwh[OTHER]).all()


def test_blocks_that_overlap(tmp_path):
    again = [*DAY[:6], *(DAY[6:12] + 1), *[""] * 6]
    path = write(tmp_path, reading_type(), meter_reading(), block(DAY), block(again, name=2))
    result = ingested(path, options())
    counts = {"used": 24, "value_missing": 6, "duplicate_identical": 6, "superseded_by_later_row": 6}
    assert result.counts == counts
    assert result.energy_kwh[POINT].tolist() == [v / 1000 for v in (*DAY[:6], *(DAY[6:12] + 1), *DAY[12:])]


def test_flows(tmp_path):
    entries = [reading_type(), meter_reading(), block(DAY)]
    entries += [
        reading_type(TYPE + "R", flowDirection=19),
        meter_reading(2, type_=TYPE + "R"),
        block(DAY[:20] + 5, 2),
    ]
    path = write(tmp_path, *entries)
    assert ingested(path, options()).counts == {"used": 24, "other_register": 20}
    net = ingested(path, options(flow="net"))
    assert net.counts == {"used": 20, "part_of_sum": 20, "sum_incomplete": 4}
    np.testing.assert_allclose(net.energy_kwh[POINT], -0.005, rtol=1e-12)
    entries += [reading_type(TYPE + "N", flowDirection=4), meter_reading(3, type_=TYPE + "N"), block([7] * 24, 3)]
    net = ingested(write(tmp_path, *entries), options(flow="net"))
    assert net.counts == {"used": 24, "other_register": 44} and (net.energy_kwh[POINT] == 0.007).all()


NO_DURATION = f"<IntervalReading><timePeriod><start>{START}</start></timePeriod><value>5</value></IntervalReading>"
DECIMALS = [reading(f"{START}.000", 1), reading(f"{START + 3600}.66136", 2), reading(None, 3)]
USED = {
    "shorter readings, also over blocks": (
        [block([1] * 6, duration=900), block([2] * 4, duration=900, start=START + 6 * 900, name=2)],
        *({"used": 2, "part_of_sum": 6, "sum_incomplete": 2}, [0.004, 0.006]),
    ),
    "starts with decimals": (
        [block_of("".join(DECIMALS))],
        *({"used": 1, "off_grid_stamp": 1, "stamp_missing": 1}, [0.001]),
    ),
    "the interval length of the reading type for a missing duration": ([block_of(NO_DURATION)], {"used": 1}, [0.005]),
    "two equal reading types": ([reading_type(), block([1, 2])], {"used": 2}, [0.001, 0.002]),
    **{
        f"a missing value written as '{word}'": (
            [block([word, 1, 2])],
            {"used": 2, "value_missing": 1},
            [0.001, 0.002],
        )
        for word in ("", "NaN", " ")
    },
}


@pytest.mark.parametrize(("entries", "counts", "kwh"), USED.values(), ids=USED)
def test_what_becomes_of_readings(tmp_path, entries, counts, kwh):
    result = ingested(write(tmp_path, reading_type(), meter_reading(), *entries), options())
    assert result.counts == counts and result.given == {POINT: kwh}


def test_packed_feeds_in_other_encodings(tmp_path):
    text = write(tmp_path, reading_type(), meter_reading(), block(DAY)).read_text()
    path = tmp_path / "e.xml.gz"
    path.write_bytes(gzip.compress(text.removeprefix('<?xml version="1.0"?>').encode("utf-16")))
    assert ingested(path, options()).counts == {"used": 24}


@pytest.mark.parametrize("duration", [82800, 86400, 90000, 2592000])
def test_daily_sums_are_no_interval_export(tmp_path, duration):
    path = write(tmp_path, reading_type(), meter_reading(), block([5, 6], duration=duration))
    assert "holds daily or longer sums" in refused(path)
    assert became(path) == {"interval_differs": 2}
    both = write(tmp_path, reading_type(), meter_reading(), block([5, 6], duration=duration), block(DAY, name=2))
    assert ingested(both, options()).counts == {"used": 24, "interval_differs": 2}


OTHERS = {
    "gas by unit": ({"uom": 169}, "0", "holds gas"),
    "gas by commodity": ({"commodity": 7}, "0", "holds gas"),
    "gas by service": ({}, "1", "holds gas"),
    "water": ({}, "2", "holds another commodity than electricity"),
    "power": ({"uom": 38}, "0", "holds another quantity than energy"),
    "cumulative": ({"accumulationBehaviour": 3}, "0", "holds register values"),
    "bulk": ({"accumulationBehaviour": 1}, "0", "holds register values"),
    "reverse": ({"flowDirection": 19}, "0", "holds a flow that is not export.flow"),
}


@pytest.mark.parametrize(("said", "kind", "sentence"), OTHERS.values(), ids=OTHERS)
def test_what_is_no_delivered_electricity_is_refused_in_a_sentence_or_counted_beside_it(
    tmp_path, said, kind, sentence
):
    entries = [usage_point(OTHER, kind), reading_type(TYPE + "O", **said), meter_reading(1, OTHER, TYPE + "O")]
    entries += [block(DAY, point=OTHER)]
    assert f": {sentence}" in refused(write(tmp_path, *entries))
    path = write(tmp_path, *entries, usage_point(), reading_type(), meter_reading(), block(DAY))
    result = ingested(path, options())
    assert result.counts == {"used": 24, "other_register": 24} and result.energy_kwh[OTHER].isna().all()


UNTYPED = {
    "no reading type": [meter_reading()],
    "no meter reading": [reading_type()],
    "no unit": [meter_reading(), reading_type(uom=None)],
    "an unreadable power": [meter_reading(), reading_type(powerOfTenMultiplier="oops")],
    "an absurd power": [meter_reading(), reading_type(powerOfTenMultiplier=99)],
    "two that differ": [meter_reading(), reading_type(), reading_type(powerOfTenMultiplier=3)],
}


@pytest.mark.parametrize("entries", UNTYPED.values(), ids=UNTYPED)
def test_readings_without_one_reading_type_are_never_used(tmp_path, entries):
    path = write(tmp_path, usage_point(), *entries, block(DAY))
    assert "has no reading type that gives its unit, or more than one" in refused(path)
    assert became(path) == {"reading_type_missing": 24}


@pytest.mark.parametrize(
    ("inside", "name", "reason"),
    [
        (reading(START, "oops"), "value", "value_unreadable"),
        (reading(START, "1_0"), "value", "value_unreadable"),
        (reading(START, "1" * 300), "value", "value_unreadable"),
        (reading("oops", 1), "start", "stamp_unreadable"),
        (reading("2023-04-01", 1), "start", "stamp_unreadable"),
        (reading("9" * 30, 1), "start", "stamp_unreadable"),
        (reading(START, 1, "oops"), "duration", "stamp_unreadable"),
    ],
)
def test_a_field_that_cannot_be_read_is_refused_by_its_row_or_counted(tmp_path, inside, name, reason):
    path = write(tmp_path, reading_type(), meter_reading(), block(DAY[1:], start=START + 3600), block_of(inside))
    assert f", row 6, field '{name}': is not a number" in refused(path)
    assert became(path) == {"used": 23, reason: 1}


def test_readings_of_no_usage_point_are_counted(tmp_path):
    stray = bare("IntervalBlock", "/x/IntervalBlock/1", reading(START, 1))
    path = write(tmp_path, reading_type(), meter_reading(), block(DAY), stray)
    assert ingested(path, options()).counts == {"used": 24, "meter_missing": 1}
    assert "most are meter_missing" in refused(write(tmp_path, stray))


def test_readings_without_links_do_not_meet_a_meter_reading_without_links(tmp_path):
    """Nor does one whose links lead nowhere."""
    blocks = [bare("IntervalBlock", link, reading(START, 1)) for link in ("", "/IntervalBlock/2")]
    unlinked = bare("MeterReading", "", related=[POINT, TYPE, "/IntervalBlock/1"])
    path = write(tmp_path, reading_type(), unlinked, *blocks)
    assert became(path) == {"meter_missing": 2}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (BILLION_LAUGHS, "declares a document type"),
        ('<!DOCTYPE f SYSTEM "file:///etc/hostname"><f/>', "declares a document type"),
        ('<!DOCTYPE f [<!ENTITY x SYSTEM "file:///etc/hostname">]><f>&x;</f>', "declares a document type"),
        ("<f>&oops;</f>", "is not well-formed XML"),
        ("<f><entry></f>", "is not well-formed XML"),
        ("meter_id,kwh\n1,2\n", "is not well-formed XML"),
        ("<f>" * 100 + "</f>" * 100, "nested deeper"),
        ('<?xml version="1.0" encoding="oops"?><f/>', "is not well-formed XML"),
        ('<?xml version="1.0" encoding="utf-7"?><f/>', "is not well-formed XML"),
        (b"<f>\xff</f>", "is not well-formed XML"),
        ("<f/>", "holds no readings"),
        ("<f x='" + "y" * (1 << 25) + "'/>", "too long"),
    ],
)
def test_files_that_are_no_feed_or_no_harmless_one(tmp_path, text, sentence):
    path = tmp_path / "e.xml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert sentence in refused(path)


def test_an_entry_in_a_comment_is_refused_and_never_hidden(tmp_path):
    """What opens a comment in one entry must not hide those behind it, so comments between entries hide none."""
    hidden = f"<!-- {block([9], name=2)} -->"
    assert "has an entry in a comment" in refused(
        write(tmp_path, reading_type(), meter_reading(), block(DAY), hidden)
    )


def test_a_feed_cut_short_is_refused(tmp_path):
    path = write(tmp_path, reading_type(), meter_reading(), block(DAY))
    path.write_bytes(path.read_bytes()[:-200])
    assert "is not well-formed XML" in refused(path)


def test_what_a_file_looks_like(tmp_path):
    head = write(tmp_path, usage_point()).read_bytes()
    assert green_button.looks_like(head) and not green_button.names_gas(head)
    assert not green_button.looks_like(b"meter_id,http://naesb.org/espi") and not green_button.looks_like(b"<html/>")
    for gas in (usage_point(kind="1"), reading_type(uom=169), reading_type(commodity=7)):
        assert green_button.names_gas(write(tmp_path, gas).read_bytes())


def test_memory_does_not_grow_with_the_feed(tmp_path):
    """Households that stand one after another are let go one after another."""
    entries = [reading_type()]
    for i in range(40):
        point = POINT.replace("/5/", f"/{i}/")
        entries += [meter_reading(point=point), block(range(200), point=point)]
    path = write(tmp_path, *entries)
    sizes = [len(batch.energy) for batch in green_button.batches(path, options(), batch_bytes=32 * 200)]
    assert sizes == [200] * 40


ORDINARY = "\n".join(
    [
        usage_point(),
        meter_reading(),
        reading_type(),
        block(DAY),
        block(DAY[:9] + 3, name=2),
        reading_type(TYPE + "R", flowDirection=19, intervalLength=900),
        meter_reading(2, type_=TYPE + "R"),
        block([5] * 16, 2, duration=900),
        meter_reading(point=POINT + "1"),
        block(DAY, point=POINT + "1"),
    ]
)
WORDS = ["", "oops", "1e999", "-1", "nan", "72", "169", "0", "19", "900", "86400", str(START), f"{START}.5", "9" * 40]
LEAF = re.compile(r"<IntervalReading[\s>/]")


@st.composite
def mutants(draw, feed=ORDINARY) -> str:
    """An ordinary feed after some accidents, mostly still XML."""
    tokens = re.findall(r"<[^>]+>|[^<]+", feed)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(tokens) - 1))
        accident = draw(st.sampled_from(["word", "word", "word", "reading", "entry", "drop", "copy", "byte"]))
        if accident == "word":
            texts = [i for i, token in enumerate(tokens) if not token.startswith("<")]
            tokens[draw(st.sampled_from(texts))] = draw(st.sampled_from(WORDS))
        elif accident in ("reading", "entry"):
            name = "IntervalReading" if accident == "reading" else "entry"
            starts = [i for i, token in enumerate(tokens) if token == f"<{name}>"]
            if not starts:
                continue
            first = draw(st.sampled_from(starts))
            last = next((i for i in range(first, len(tokens)) if tokens[i] == f"</{name}>"), first) + 1
            piece = tokens[first:last]
            if draw(st.booleans()):
                del tokens[first:last]
            else:
                tokens[first:first] = piece
        elif accident == "drop":
            del tokens[at]
        elif accident == "copy":
            tokens.insert(draw(st.integers(0, len(tokens))), tokens[at])
        else:
            tokens[at] = tokens[at][:-1] + draw(st.characters(codec="utf-8"))
    return "".join(tokens)


BEFORE = {}  # what the feed below holds as it was, by flow


@fuzz(MUTATIONS)
@given(data=st.data(), flow=st.sampled_from(["consumption", "net"]))
def test_a_household_that_rewrites_its_entries_moves_no_other(tmp_path, data, flow):
    """As long as it does not name the others in its links."""
    tolerant = options(bad_rows="missing", flow=flow)
    mine = [usage_point(OTHER), meter_reading(point=OTHER), block(DAY, point=OTHER), block([1] * 9, 1, OTHER, name=2)]
    if flow not in BEFORE:
        BEFORE[flow] = read_all(green_button, write(tmp_path, ORDINARY, *mine), tolerant).kwh
    text = data.draw(mutants("".join(mine)))
    after = read_all(green_button, write(tmp_path, ORDINARY, text), tolerant)
    others = [{key: kwh for key, kwh in found.items() if key[0] != OTHER} for found in (BEFORE[flow], after.kwh)]
    assert others[0] == others[1] and len(others[0]) > 24


@fuzz(MUTATIONS)
@given(text=mutants(), flow=st.sampled_from(["consumption", "net"]))
def test_accidents_lose_nothing(tmp_path, text, flow):
    """A feed that is XML has every reading used or counted; a strict run does the same or says a sentence."""
    path = write(tmp_path, text)
    try:
        result = read_all(green_button, path, options(bad_rows="missing", flow=flow))
    except InputError as error:
        assert "is not well-formed XML" in str(error)  # from its first byte on
        return
    assert set(result.became) <= set(REASONS) and min(result.became.values(), default=0) >= 0
    # An entry that cannot be parsed counts for one reading at least.
    given, malformed = len(LEAF.findall(text)), result.became["row_malformed"]
    assert 0 <= sum(result.became.values()) - given <= malformed
    try:
        strict = read_all(green_button, path, options(flow=flow))
    except InputError as error:
        assert str(error).endswith(".")
    else:
        assert strict.kwh == result.kwh and Counter(strict.became) == Counter(result.became)
