"""The table that says what each layer of a federated study protects."""

import re

from meterdp.report.federation import protects_grid
from tests.unit.report import made_up


def rows_of(**settings):
    data = made_up.federation_protects(**settings)
    return {row[:3]: row[3:] for row in protects_grid({"federation_protects": data}).rows}


def test_every_layer_has_its_row_and_only_what_the_study_does_is_marked():
    rows = rows_of()
    used = {key[0] + " | " + key[2] for key in rows if key[1] == "yes"}
    assert used == {
        "readings | the circuit that holds them",
        "what circuits send: masks on edges | any 2 circuits that collude",
        "what circuits send: masks on edges | whoever hears all messages",
        "the mixture, no noise | everybody who gets it",
        "the release with a proof: masks on edges | any 2 circuits that collude",
        "the release with a proof: masks on edges | everybody who gets it",
    }
    assert {key[0] for key in rows} >= {
        "what circuits send: a server adds up",
        "what circuits send: secure summation",
    }


def test_groups_are_those_that_the_worst_circuits_single_out():
    """Every two of twelve are joined: t leave 12 - t; on the cycle two are enough to surround a third."""
    rows = rows_of()
    for t, words in ((1, "1 circuit"), (2, "2 circuits"), (3, "3 circuits"), (6, "6 circuits")):
        against = f"any {words} that collude{'s' if t == 1 else ''}"
        learnt = [
            rows[f"what circuits send: {scheme}", mark, against][0]
            for scheme, mark in (("masks on edges", "yes" if t == 2 else "no"), ("secure summation", "no"))
        ]
        exposed = "each circuit’s own sums, of every iteration"
        assert learnt == [
            f"sums over {12 - t} circuits, of every iteration",
            "sums over 11 circuits, of every iteration" if t == 1 else exposed,
        ]


def test_a_guarantee_stands_beside_the_sound_release_alone():
    """At what it was calibrated for it is the one asked for; more circuits that collude see less of its noise."""
    rows = rows_of()
    promised = {key: row[-1] for key, row in rows.items() if row[-1] != "none"}
    assert {layer for layer, _, _ in promised} == {"the release with a proof: masks on edges"}
    pattern = re.compile(r"ε = ([\d.]+), δ = 10⁻⁵ for one household")
    told = {who: float(pattern.fullmatch(said)[1]) for (_, _, who), said in promised.items()}
    collude = [told[f"any {t} circuits that collude"] for t in (2, 3, 6)]
    less = [told["everybody who gets it"], told["any 1 circuit that colludes"]]
    assert less[0] < less[1] < collude[0] == 2 < collude[1] < collude[2]


def test_a_graph_without_a_cycle_has_no_rows_of_secure_summation(tmp_path):
    star = tmp_path / "star.csv"
    star.write_text("node,neighbour\n" + "".join(f"C00,C{i:02d}\n" for i in range(1, 12)))
    rows = rows_of(graph=str(star))
    assert not any("secure" in key[0] for key in rows)
    exposed = rows["what circuits send: masks on edges", "no", "any 1 circuit that colludes"][0]
    assert exposed == "each circuit’s own sums, of every iteration"


def test_without_a_federation_there_is_no_table():
    assert protects_grid({}) is None
