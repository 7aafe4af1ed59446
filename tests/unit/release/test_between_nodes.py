"""A release between nodes, as people start it: same mixture everywhere, every ledger charged, nothing halfway."""

import json
import os
import subprocess

import numpy as np
import pytest
import yaml

from meterdp.core.parquet import metadata_of, read_table
from meterdp.privacy import gaussian
from meterdp.privacy.ledger import Ledger
from meterdp.privacy.spent import CHARGED
from meterdp.publish.kinds import DESCRIPTIONS, ENTRY, KINDS
from meterdp.publish.tables import RELEASED_MIXTURE
from tests.warm import warm_python
from tools.make_nodes import make_exports, make_nodes

HOMES, DAYS, NAMES = 90, 16, ("C01", "C02", "C03")


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    return make_exports(tmp_path_factory.mktemp("exports"), households=HOMES, circuits=3, days=DAYS)


def listed(export):
    with open(export["meters"]) as file:
        return sum(1 for _ in file) - 1


def make(folder, exports, changes=(), **agreed):
    """Write nodes that release; ``changes`` are of the configuration of single nodes."""
    release = {"epsilon": 2.0, "colluding": 1, "simulated": True, "meters": [listed(e) for e in exports.values()]}
    agreed = {"release": release, "classes": 3, "timeout_seconds": 20, "start_within_seconds": 40} | agreed
    configs = make_nodes(folder, exports, **agreed)
    for name, file in configs.items():
        words = yaml.safe_load(file.read_text()) | {
            "release": {
                "population": f"homes of {name}",
                "budget_period": "2025",
                "ledger": str(folder / f"{name}.sqlite"),
                "allow": ["poor"],
                "synthetic_profiles": 40,
            },
            "profiles": {"vector": "half_day", "date": "2025-10-28", "start_hour": 12, "hours": 4},
        }
        file.write_text(yaml.safe_dump(words | dict(changes).get(name, {})))
    return configs


def run(configs, repository):
    path = os.environ | {"PYTHONPATH": str(repository / "src")}
    command = [warm_python(), "-m", "meterdp", "node"]
    started = [
        subprocess.Popen([*command, str(file)], stderr=subprocess.PIPE, text=True, env=path)
        for file in configs.values()
    ]
    return [(one.communicate(timeout=120)[1], one.returncode) for one in started]


def charges(folder, name):
    file = folder / f"{name}.sqlite"
    return [e for e in Ledger(file).events() if e["kind"] == CHARGED] if file.exists() else []


def mixtures(folder):
    files = [folder / name / "release/mixture/mixture.parquet" for name in NAMES]
    return [read_table(file, RELEASED_MIXTURE).to_pandas() for file in files]


def test_every_node_has_the_same_release_and_every_run_is_paid_for(tmp_path, exports, repository):
    configs = make(tmp_path, exports)
    for said, code in run(configs, repository):
        assert code == 0, said
    first = mixtures(tmp_path)
    for other in first[1:]:
        assert other.equals(first[0])
    mu = gaussian.mu_for(2.0, 1e-5)
    for name in NAMES:
        folder = tmp_path / name / "release/mixture"
        assert {file.name for file in folder.iterdir()} == {*KINDS["mixture"].files, *DESCRIPTIONS}
        assert "not for release" not in str(metadata_of(folder / "mixture.parquet"))
        (charge,) = charges(tmp_path, name)
        assert charge["mu"] == pytest.approx(mu, rel=1e-3), "what the colluding node sees"
        manifest = json.loads((folder / "manifest.json").read_text())
        assert "the noise is that of 3 nodes" in manifest["privacy"]["nodes"]
        assert manifest["privacy"]["epsilon"] == 2 and "docs/proofs/shared_noise.md" in manifest["privacy"]["proof"]
        shares = manifest["public_parameters"]["public"]["sound"]["shares"]
        assert shares == {"nodes": 3, "honest": 2, "colluding": 1}
        assert manifest["public_parameters"]["public"]["records"] == HOMES
        page = (folder / "README.md").read_text()
        assert "households of 3 parties" in page.splitlines()[0] and "households are simulated" in page
        assert manifest["simulated_data"] and metadata_of(folder / "mixture.parquet")["synthetic"] == "yes"
        assert manifest["population"] == f"homes of {name}, and the households of 2 other parties"
        entry = yaml.safe_load((folder / ENTRY).read_text())["deployment"]
        assert entry["deployment_model"]["model_name"] == "Federated" and "2 other parties" in entry["basic"]["name"]
    assert all(code == 0 for _, code in run(configs, repository))
    second = mixtures(tmp_path)
    assert not np.allclose(np.stack(second[0]["mean_log_kwh"]), np.stack(first[0]["mean_log_kwh"]))
    assert [len(charges(tmp_path, name)) for name in NAMES] == [2, 2, 2]


def test_other_public_settings_end_the_run_before_anybody_is_charged(tmp_path, exports, repository):
    other = {"C02": {"mechanisms": {"sound": {"level_log_kwh": -1.0}}}}
    ended = run(make(tmp_path, exports, other.items()), repository)
    assert all(code != 0 for _, code in ended)
    assert any("would release with other public settings" in said for said, _ in ended)
    assert not any(charges(tmp_path, name) for name in NAMES)


def test_where_the_ledger_of_one_node_refuses_nobody_spends_anything(tmp_path, exports, repository):
    configs = make(tmp_path, exports)
    words = yaml.safe_load(configs["C03"].read_text())
    words["release"] |= {"cap_epsilon": 1}
    configs["C03"].write_text(yaml.safe_dump(words))
    ended = run(configs, repository)
    assert all(code != 0 for _, code in ended)
    assert "have the limit raised" in ended[2][0]
    assert all("node 'C03' ended with an error of its own" in said for said, _ in ended[:2])
    ledgers = [Ledger(tmp_path / f"{name}.sqlite") for name in NAMES]
    assert [len(charges(tmp_path, name)) for name in NAMES] == [1, 1, 0]
    assert not any(spent for ledger in ledgers for spent in ledger.spent().values())
    assert not list(tmp_path.rglob("release/mixture"))


@pytest.mark.parametrize(
    ("agreed", "said"),
    [
        ({"release": {"epsilon": 2.0, "meters": [30, 30]}}, "field 'release.meters'"),
        (
            {"release": {"epsilon": 2.0, "meters": [1, 2, 3]}},
            "has a different number of meters than the agreement gives",
        ),
        ({"release": {"epsilon": 2.0, "colluding": 3, "meters": [1, 2, 3]}}, "field 'release.colluding'"),
    ],
)
def test_agreements_that_cannot_be_are_refused(tmp_path, exports, repository, agreed, said):
    configs = make(tmp_path, exports, start_within_seconds=3, **agreed)
    (sentence, code), *_ = run(dict(list(configs.items())[:1]), repository)
    assert code != 0 and said in sentence
    assert not charges(tmp_path, "C01")
