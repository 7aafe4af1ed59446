"""The reproduction of the papers end to end on tiny trials: files, schemas, marks, verdicts, bad input."""

import numpy as np
import pytest

from meterdp.core.parquet import metadata_of, read_table
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.liu.tables import LIU_CURVE, LIU_TRIALS
from meterdp_papers.registry import catalogue
from tests.workflow.conftest import TINY, Planner, Runner


@pytest.fixture(scope="module")
def reproduced(tiny_study) -> Runner:
    """The tiny reproduction, run once, after the study it shares tables with."""
    done = tiny_study.run(TINY, "reproduce")
    assert done.returncode == 0, done.stdout[-6000:]
    return tiny_study


@pytest.fixture
def folder(reproduced):
    return reproduced.folder / "results/reproduce"


def test_every_figure_and_table_is_there_and_declared(folder):
    tables = catalogue()
    for path in folder.rglob("*.parquet"):
        facts = metadata_of(path)
        read_table(path, tables[facts["table"]])
        assert facts["audience"] == "study" and facts["release"] == "not for release" and "seed" not in facts
    for paper, figures in (("liu", 10), ("ramakrishna", 4), ("park", 5), ("li", 5)):
        for number in range(1, figures + 1):
            assert (folder / f"{paper}/fig{number}.parquet").is_file()
            assert (folder / f"{paper}/fig{number}.svg").is_file()
    errata = read_table(folder / "errata.parquet", tables["errata"])["id"].to_pylist()
    assert {f"{paper}{n}" for paper in "LR" for n in range(1, 14)} | {f"P{n}" for n in range(1, 8)} <= set(errata)
    assert {f"D{n}" for n in range(1, 9)} <= set(errata)
    assert (folder / "liu/table1.parquet").is_file() and (folder / "ramakrishna/numbers.parquet").is_file()
    assert (folder / "report.html").is_file()


def test_the_scorecard_has_a_verdict_on_every_claim_and_names_substitutes(folder):
    card = read_table(folder / "scorecard.parquet", SCORECARD).to_pandas().set_index("item")
    assert not card.reset_index().duplicated(["item", "reading"]).any()
    claims = [
        f"{paper}-{n}"
        for paper, last in (("liu", 13), ("ram", 8), ("park", 7), ("li", 4))
        for n in range(1, last + 1)
    ]
    assert card.index.unique().tolist() == claims
    assert set(card["holds"]) <= {"holds", "does not hold", "cannot be judged"}
    assert card.loc["liu-9", "substitute"].str.startswith("stands for MNIST").all()
    assert set(card.loc["liu-8", "substitute"]) == {"stands for the paper's 1409 private houses"}
    of_park = card.loc["park-3"].set_index("reading")["substitute"]
    assert {name[:6]: words.split(",")[0] for name, words in of_park.items()} == {
        "Fig. 2": "stands for Stroke: as many simulated patients",
        "Fig. 3": "stands for Life Sciences ds1.10: as many simulated compounds in three groups",
    }
    assert (
        card.loc["li-4", "substitute"].str.startswith("stands for Parkinsons").all() and len(card.loc["li-4"]) == 12
    )
    assert set(card.loc[card["substitute"].notna(), "holds"]) == {"cannot be judged"}
    assert card.loc["li-4", "measured"].str.contains("the rule gives 'holds'").all()
    assert not card[["adjacency", "charge", "data"]].isna().any().any()
    assert card["substitute"].isna()["liu-1"].all() and len(card.loc["liu-1"]) == 6
    assert card.loc["liu-12", "holds"] == "cannot be judged"


def test_curves_are_the_means_of_all_batches(folder):
    """Oracle: numpy on the trials."""
    wanted = "x == 2 and mechanism == 'kl_published' and flips == 'leaving'"
    parts = sorted((folder / "liu/trials/fig1").glob("*.parquet"))
    assert len(parts) == 2
    trials = np.concatenate([read_table(p, LIU_TRIALS).to_pandas().query(wanted)["kl"] for p in parts])
    curve = read_table(folder / "liu/fig1.parquet", LIU_CURVE).to_pandas()
    found = curve[curve["reading"].str.contains("leaving")].query("x == 2 and mechanism == 'kl_published'")
    row = found.iloc[0]
    assert found["kl_mean"].nunique() == 1 and len(found) == 3  # it does not mind what the baselines do
    assert len(trials) == row["trials"] == 2 and row["kl_mean"] == pytest.approx(trials.mean())


def test_nothing_is_left_to_do_and_the_study_is_not_part_of_it(reproduced, tmp_path):
    done = reproduced.run(TINY, "reproduce", "--dry-run")
    assert done.returncode == 0 and "Nothing to be done" in done.stdout, done.stdout[-3000:]
    planned = Planner(tmp_path).plan(TINY, "reproduce")
    assert "reproduce_report" in planned and not {"report", "draw"} & set(planned)


def test_a_wrong_file_of_digits_is_refused_in_one_sentence(runner):
    wrong = runner.folder / "data/mnist/mnist_train5000_test10000.npz"
    wrong.parent.mkdir(parents=True)
    wrong.write_bytes(b"not the digits")
    target = "results/reproduce/liu/fig9.parquet"
    done = runner.run(TINY | {"data_dir": "data"}, target)
    assert done.returncode != 0
    refused = [line for line in done.stdout.splitlines() if line.startswith("meterdp cannot go on.")]
    assert refused and all("is not the registered file of data set 'mnist'" in line for line in refused)
    assert "Traceback" not in done.stdout
    assert not (runner.folder / target).exists()
