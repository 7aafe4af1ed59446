"""What a study says of the households it leaves out."""

import pandas as pd
import pytest

from meterdp.core.errors import InputError
from meterdp.profiles.kept import kept_in_words, refuse_nobody
from meterdp.profiles.quality import HOUSEHOLD_RULES


def table(**counts: int) -> pd.DataFrame:
    reasons = [reason for reason, count in counts.items() for _ in range(count)]
    return pd.DataFrame({"reason": reasons, "kept": [reason == "kept" for reason in reasons]})


def test_a_study_that_keeps_most_says_nothing():
    assert kept_in_words(table(kept=90, too_few_readings=10)) is None


def test_the_commonest_reason_and_its_remedy_are_named_and_no_count_is():
    said = kept_in_words(table(kept=317, too_few_readings=401, all_zero=12))
    assert said.startswith("quality: about 40% of the households are kept; most of the others: too few readings")
    assert "first_day" in said
    assert not any(count in said for count in ("317", "401", "12", "730"))


@pytest.mark.parametrize("reason", sorted(set(HOUSEHOLD_RULES) - {"kept"}))
def test_nobody_left_is_refused_with_the_reason(reason):
    refuse_nobody(table(kept=1, **{reason: 50}))
    with pytest.raises(InputError, match=f"leaves no household to study; .*{reason.replace('_', ' ')}"):
        refuse_nobody(table(**{reason: 50}))
