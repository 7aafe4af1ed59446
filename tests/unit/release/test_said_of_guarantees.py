"""What pages, manifests and documents say of epsilon and delta is what (epsilon, delta) says."""

import re

import pytest

from meterdp.publish.received import _in_text
from meterdp.release import feeders, forecasts, mixture
from meterdp.release.settings import plain_sentence

# As if the factor held but for an event of probability delta, or for odds: (epsilon, delta) says neither.
OVERCLAIMS = re.compile(
    r"but for a? ?(chance|probability|δ|delta)|the chance given|"
    r"probability (that|with which) the (promise|guarantee)[^.]* fails|the odds of any|"
    r"certainty at most|so certain of one|how many times as likely an outcome|nobody can tell whose"
)


def test_no_text_says_that_the_factor_holds_but_for_a_chance(repository):
    files = [*repository.glob("*.md"), *(repository / "docs").rglob("*.md"), *(repository / "config").glob("*.md")]
    files += [path for kind in ("py", "html") for path in (repository / "src").rglob(f"*.{kind}")]
    said = {path.name: found[0] for path in files if (found := OVERCLAIMS.search(" ".join(path.read_text().split())))}
    assert len(files) > 300 and said == {}


@pytest.mark.parametrize("hides", [mixture.HIDES, feeders.HIDES, forecasts.HIDES, forecasts.LABEL_HIDES])
def test_what_is_hidden_is_hidden_as_far_as_both_numbers_say(hides):
    assert all("to the extent that epsilon and delta state" in said for said in hides)


def test_the_plain_words_bound_the_probability_of_every_set_of_outcomes():
    said = plain_sentence(1.0, 1e-5, ", for all files")
    assert "epsilon 1 and delta 1e-05, for all files: the probability of any set of results is at most 2.72" in said
    assert "2.72 times what it would be with other readings of any one meter, plus 1e-05" in said
    assert list(_in_text(said)) == [("1", "1e-05")], "as whoever verifies a folder reads it"
