"""What a mixture is worth, known beforehand: by public numbers alone, stated, refused where it would be absurd."""

from __future__ import annotations

import hashlib
import json

from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.privacy.noise import SafeNoise
from meterdp.publish.received import expected_error
from meterdp.release.asked import asked, statements, worthless
from meterdp.release.mixture import ReleasedMixture
from meterdp.release.service import ReleaseService
from meterdp.release.worth import configured, worth_of
from tests.unit.release.charged import DEFAULTS, config


def meter_list(meters):
    return ("meter_id\n" + "".join(f"m{i}\n" for i in range(meters))).encode()


def test_a_hundred_homes_at_epsilon_one_are_refused_with_what_would_do_and_pass_if_one_insists():
    given = config(simulate={"households": 100})
    (refused,) = worthless(given, simulated=True)
    assert refused.field == "release.epsilon"
    assert "for 100 listed meters" in str(refused) and "release.insist" in str(refused)
    assert "use an epsilon of" in str(refused) and "meters or more" in str(refused)
    given["release"]["insist"] = True
    assert list(worthless(given, simulated=True)) == []


def test_five_hundred_homes_pass_and_what_to_expect_is_said_beside_a_public_guess():
    given = config(simulate={"households": 500})
    assert list(worthless(given, simulated=True)) == []
    mixture, forecasts = statements(given, simulated=True)
    worth = worth_of(configured(given, 500), given)
    assert mixture == f"Mixture of 500 listed meters at epsilon 1: {worth.sentence}."
    assert 0 < worth.error < worth.error_q95 < worth.guess and worth.absurd < 0.05
    assert "95 % of the listed meters" in mixture
    assert "public guess" in forecasts


def test_the_size_is_that_of_the_public_list_whatever_was_read(tmp_path):
    (tmp_path / "list.csv").write_bytes(meter_list(60))
    real = {
        "path": "e.csv",
        "meters": str(tmp_path / "list.csv"),
        "first_day": "2025-01-01",
        "last_day": "2025-01-28",
    }
    named = {"population": "town", "budget_period": "2025"}
    given = config(export=real | {"time_zone": "UTC"}, release=named)
    assert [refused.field for refused in worthless(given, simulated=False)] == ["release.epsilon"]


def test_the_library_that_comes_with_the_code_is_the_default_wherever_it_covers_a_record():
    def library(**changed):
        return configured(config(**changed), 1409).sound.library

    assert library() is not None
    assert library(profiles={"start_hour": 12, "hours": 48}) is None, "not of all its hours"
    assert library(profiles={"log_scale": {"kind": "offset", "offset_kwh_per_hour": 0.1}}) is None
    assert library(mechanisms={"sound": DEFAULTS["mechanisms"]["sound"] | {"library": None}}) is None


def test_an_hour_counts_as_twenty_kwh_at_most_and_settings_that_were_explicit_keep_their_key():
    """Golden: the words of the same settings before the library and 20 kWh were the defaults."""
    assert DEFAULTS["profiles"]["clip_kwh_per_hour"] == [0.01, 20]
    given = config(
        export={"first_day": "2025-01-01", "last_day": "2025-01-28"},
        profiles={"clip_kwh_per_hour": [0.01, 100]},
        mechanisms={"sound": DEFAULTS["mechanisms"]["sound"] | {"library": None}},
        release={"insist": True, "ledger": "never-opened.sqlite"},
    )
    sections = given["mechanisms"], given["mixture"], given["profiles"]
    public = public_settings(1, 1e-5, (1409, 12), *sections, SafeNoise.grid)
    service = ReleaseService(given, meter_list(1409), True)
    words = service.request(ReleasedMixture(Proven.calibrate(public), service)).parameters
    digest = hashlib.sha256(json.dumps(words, sort_keys=True, default=str).encode()).hexdigest()
    assert digest == "195d8c33266ca33a4585a6ffdcd8582072420aceea2ba26019a2a166107cb651"


def test_a_record_longer_than_the_library_is_judged_by_the_hours_it_knows():
    given = config(profiles={"start_hour": 12, "hours": 48}, simulate={"households": 100})
    assert [refused.field for refused in worthless(given, simulated=True)] == ["release.epsilon"]


def test_only_the_sentence_of_a_manifest_is_taken():
    assert expected_error({"expected_error": {"in_words": "off by 10 %"}}) == "off by 10 %"
    assert expected_error({}) is None
    assert expected_error({"expected_error": ["x"]}) is None
    assert expected_error({"expected_error": {"in_words": 3}}) is None


def test_refused_before_anything_is_charged(tmp_path):
    given = config(
        simulate={"households": 100},
        export={"first_day": "2025-01-01", "last_day": "2025-01-28"},
        release={"ledger": str(tmp_path / "ledger.sqlite")},
    )
    _, refused = asked(ReleaseService(given, meter_list(100), True))
    assert "release.epsilon" in [error.field for error in refused]
    assert list(tmp_path.iterdir()) == []
