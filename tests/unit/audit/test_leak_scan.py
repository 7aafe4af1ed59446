"""The leak scan finds every kind of secret in every writing and packing, and nothing where nothing is."""

import base64
import bz2
import gzip
import hashlib
import html
import io
import json
import lzma
import os
import sqlite3
import struct
import tarfile
import urllib.parse
import zipfile
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meterdp.__main__ import main
from meterdp.audit import leaks
from meterdp.audit.forms import (
    CIRCUIT,
    COUNT,
    DIGEST,
    KINDS,
    METER,
    READING,
    RELEASE_ID,
    SALT,
    SEED,
    TEXT,
    Secret,
)
from meterdp.audit.leaks import CLOSED, COLUMN, FOOTER, NAME
from tests.workflow.conftest import secrets_in

NAME_OF = "Wilhelmina <Quackenbush> & Söhne"
SECRETS = (
    Secret("a meter", METER, "NMI-640703-QX"),
    Secret("a short meter", METER, "m07q"),
    Secret("a circuit", CIRCUIT, "feeder Müllerstraße"),
    Secret("a customer", TEXT, NAME_OF),
    Secret("a bad value", TEXT, "twelvish"),
    Secret("a bad stamp", TEXT, "2025-13-45 99:99"),
    Secret("a salt", SALT, "9c1e6a50c2d34b78a9f0e1d2c3b4a596"),
    Secret("a release id", RELEASE_ID, "5be1f9d07c3a2468"),
    Secret("a digest", DIGEST, hashlib.sha256(b"list").hexdigest()),
    Secret("a reading", READING, "7.318264519"),
    Secret("a count", COUNT, "48611"),
    Secret("a seed", SEED, "20251102"),
)
BY_NAME = {secret.name: secret for secret in SECRETS}
KEYS = {secret.name: f"{number}.bin" for number, secret in enumerate(SECRETS)}
WORDS = [secret for secret in SECRETS if secret.kind not in (READING, COUNT, SEED)]
LONG = [secret for secret in WORDS if len(secret.value) >= 8]

WRITINGS = {
    "as it is": lambda text: text.encode(),
    "in a sentence": lambda text: f"row 5, field 'kwh': '{text}' is not a number;".encode(),
    "capitals": lambda text: text.upper().encode(),
    "small letters": lambda text: text.lower().encode(),
    "JSON": lambda text: json.dumps({"said": text}).encode(),
    "HTML": lambda text: html.escape(text).encode(),
    "an address": lambda text: urllib.parse.quote(text, safe="").encode(),
    "UTF-16": lambda text: f"said {text}".encode("utf-16"),
    "UTF-16 without a mark": lambda text: f"said {text}".encode("utf-16-be"),
}
PACKED = {
    "base64": lambda text: base64.b64encode(text.encode()),
    "base64 behind one byte": lambda text: base64.b64encode(b"x" + text.encode() + b"!"),
    "base64 behind two bytes": lambda text: base64.b64encode(b"xy" + text.encode() + b"!"),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(b"said " + text.encode()),
    "hexadecimal": lambda text: text.encode().hex().encode(),
    "a digest": lambda text: hashlib.sha256(text.encode()).hexdigest()[:16].encode(),
    "a digest in bytes": lambda text: hashlib.md5(text.encode()).digest(),
}


def found(folder, secrets=SECRETS, homes=()):
    return leaks.scan(folder, secrets, homes)


def names(folder, secrets=SECRETS):
    return {one.secret for one in found(folder, secrets)}


def each_found(folder, secrets, contents):
    """Whether of files with a secret each, in these contents, the scan finds each in its file and nothing else."""
    for secret in secrets:
        (folder / KEYS[secret.name]).write_bytes(contents(secret.value))
    there = sorted({(str(one.file), one.secret) for one in found(folder)})
    return there == sorted((KEYS[secret.name], secret.name) for secret in secrets)


@pytest.mark.parametrize("writing", WRITINGS)
def test_a_text_is_found_however_it_is_written(tmp_path, writing):
    assert each_found(tmp_path, WORDS, WRITINGS[writing])


@pytest.mark.parametrize("packing", PACKED)
def test_a_text_is_found_however_it_is_packed(tmp_path, packing):
    assert each_found(tmp_path, LONG, lambda text: b"\x00\x01" + PACKED[packing](text) + b"\xff")


KWH = 7.318264519


@pytest.mark.parametrize(
    "text",
    [
        "7.318264519",
        "read 7,318264519 kWh",
        "7.3182645",
        "7.31826452",
        "7.31826451900000",
        "7.318264519e+00",
        "0.007318264519 MWh",
        "7318.264519 Wh",
        "7,318.264519 Wh",
        "3,7.318264519,4",
        f"log {np.log(KWH)!r}",
        f"log {np.log(KWH):.9f}",
        f"per hour {2 * KWH!r}",
        f"per hour {12 * KWH:.7f}",
        f"log per hour {np.log(4 * KWH)!r}",
        b"\\u0037.318264519".decode("unicode_escape"),
    ],
)
def test_a_reading_is_found_in_every_unit_and_precision(tmp_path, text):
    (tmp_path / "a.log").write_text(text)
    assert names(tmp_path) == {"a reading"}


@pytest.mark.parametrize("text", ["7.318265", "7.3182655", "17.318264519", "7.318264619", "2,318264519", "07318"])
def test_another_number_is_no_reading(tmp_path, text):
    (tmp_path / "a.log").write_text(text)
    assert names(tmp_path) == set()


@pytest.mark.parametrize(
    ("text", "leaks"),
    [
        *((text, True) for text in ("00258738", "id,00258738,1.5", "x00258738y", "2025-00258738", "1200258738")),
        ("a.00258738", True),
        *((text, False) for text in ("0.002587388645", "[0.5, 12.500258738]", "1e-3, 0,00258738861")),
    ],
)
def test_a_long_id_of_digits_is_not_found_behind_the_point_of_a_number(tmp_path, text, leaks):
    (tmp_path / "a.json").write_text(text)
    assert names(tmp_path, [Secret("digits", METER, "00258738")]) == ({"digits"} if leaks else set())


@pytest.mark.parametrize("value", [KWH, 2 * KWH, np.log(KWH), -np.log(KWH), 1000 * KWH])
@pytest.mark.parametrize("order", ["<d", ">d"])
def test_a_reading_is_found_in_binary_files(tmp_path, value, order):
    (tmp_path / "a.npy").write_bytes(b"abc" + struct.pack(order, value) + b"d")
    assert names(tmp_path) == {"a reading"}


@pytest.mark.parametrize("name", ["a count", "a seed"])
def test_whole_numbers_are_found_as_numbers_only(tmp_path, name):
    value = int(BY_NAME[name].value)
    for text in (f"{value}", f"n={value};", f"{value:,} rows", f"{value:_}", f"[{value}, 2]", f"{value}."):
        (tmp_path / "a.log").write_text(text)
        assert names(tmp_path) == {name}, text
    for text in (f"{value}1", f"0.{value}", f"{value}.5", f"x{value}"):
        (tmp_path / "a.log").write_text(text)
        assert names(tmp_path) == set(), text


def test_a_short_id_is_a_word_of_its_own(tmp_path):
    (tmp_path / "a.log").write_text("item07quite m07quick xm07q")
    assert names(tmp_path) == set()
    (tmp_path / "a.log").write_text("meter=m07q.")
    assert names(tmp_path) == {"a short meter"}


def tables(secret):
    """Columns that hold a secret, one kind each."""
    if secret.kind == READING:
        yield pa.array([0.5, KWH])
        yield pa.array([[1.0], [2.0, KWH]], pa.list_(pa.float64()))
        yield pa.array([KWH], pa.float32())
        yield pa.array([float(np.float32(KWH))])
        yield pa.array([np.log(KWH) * (1 + 1e-10)])
        yield pa.array([{"a": [{"b": 2 * KWH}]}])
        yield pa.array([1000 * KWH])
    elif secret.kind in (COUNT, SEED):
        yield pa.array([1, int(secret.value)])
        yield pa.array([[float(secret.value)]])
    if secret.kind in (COUNT, SEED) or len(secret.value) >= 4:
        yield pa.array(["a", secret.value])
        yield pa.array(["a", secret.value]).dictionary_encode()
        yield pa.array([["a"], [f"x {secret.value}"]])
        yield pa.array([secret.value.encode()])
        yield pa.array([gzip.compress(secret.value.encode())])
        yield pa.array([[("key", secret.value)]], pa.map_(pa.string(), pa.string()))


@pytest.mark.parametrize("secret", SECRETS, ids=lambda s: s.name)
def test_a_column_is_searched_whatever_its_type(tmp_path, secret):
    for number, array in enumerate(tables(secret)):
        pq.write_table(
            pa.table({"values": array}), tmp_path / "a.parquet", compression="zstd", write_statistics=False
        )
        where = {(one.secret, one.part) for one in found(tmp_path)}
        assert (secret.name, COLUMN) in where, (number, array.type)
        assert {name for name, _ in where} == {secret.name}
    assert number >= 2


@pytest.mark.parametrize("secret", SECRETS, ids=lambda s: s.name)
def test_a_footer_is_searched_apart_from_the_columns(tmp_path, secret):
    plain = pa.table({"values": [1.0]})
    path = tmp_path / "a.parquet"
    for table in (
        plain.replace_schema_metadata({"note": f"of {secret.value}"}),
        pa.table({f"column {secret.value}": [1.0]}),
        plain.cast(pa.schema([pa.field("values", pa.float64(), metadata={"note": secret.value})])),
    ):
        pq.write_table(table, path)
        assert {(one.secret, one.part) for one in found(tmp_path)} == {(secret.name, FOOTER)}


@pytest.mark.parametrize("values", [["NMI-640703-QX", "z"], [KWH, 9.0]])
def test_statistics_in_a_footer_are_found(tmp_path, values):
    """Found by the first scan of a study: they are the smallest and the largest value."""
    table = pa.table({"values": values})
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=False)
    assert {one.part for one in found(tmp_path)} == {COLUMN, FOOTER}
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=False, write_statistics=False)
    assert {one.part for one in found(tmp_path)} == {COLUMN}


def zipped(data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/member.txt", data)
    return out.getvalue()


def tarred(data):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo("member.txt")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def data_uri(data):
    return b'<img src="data:image/svg+xml;charset=utf-8;base64,' + base64.b64encode(data) + b'"/>'


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


PACKINGS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
    "zip": zipped,
    "tar": tarred,
    "tar.gz": lambda data: gzip.compress(tarred(data)),
    "SVG in a page": data_uri,
    "SVG in a page in a gzip": lambda data: gzip.compress(data_uri(data_uri(data))),
    "gzip in base64 in JSON": lambda data: json.dumps({"d": base64.b64encode(gzip.compress(data)).decode()}).encode(),
    "zip in base64 lines": lambda data: base64.encodebytes(zipped(data)),
    "percent": lambda data: b"<img src='data:image/svg+xml,%3Csvg%3E" + urllib.parse.quote(data).encode() + b"'/>",
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_packed_files_are_opened(tmp_path, packing):
    def packed(text):
        return PACKINGS[packing](b"<svg>" + b"." * 500 + text.encode() + b" </svg>")

    assert each_found(tmp_path, [BY_NAME[name] for name in ("a meter", "a reading", "a count")], packed)


@pytest.mark.parametrize("secret", SECRETS, ids=lambda s: s.name)
def test_every_table_of_a_database_is_searched(tmp_path, secret):
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as base, base:
        base.execute('CREATE TABLE "words of it" (body TEXT, data BLOB, number REAL, many INTEGER)')
        base.execute('INSERT INTO "words of it" (data) VALUES (?)', (gzip.compress(secret.value.encode()),))
    assert names(tmp_path) == {secret.name}


def test_numbers_of_a_database_are_compared_as_numbers(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as base, base:
        base.execute("CREATE TABLE a (number REAL, many INTEGER)")
        base.execute("INSERT INTO a VALUES (?, ?)", (float(np.log(KWH)), 48611))
    assert names(tmp_path) == {"a reading", "a count"}


@pytest.mark.parametrize("secret", WORDS, ids=lambda s: s.name)
def test_names_of_files_folders_members_and_targets_of_links(tmp_path, secret):
    (tmp_path / f"a {secret.value}").mkdir()
    assert {(one.secret, one.part) for one in found(tmp_path)} == {(secret.name, NAME)}
    (tmp_path / f"a {secret.value}").rmdir()
    (tmp_path / "link").symlink_to(tmp_path / f"no {secret.value}")
    assert {(one.secret, one.part) for one in found(tmp_path)} == {(secret.name, NAME)}
    (tmp_path / "link").unlink()
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(secret.value, b"")
    assert names(tmp_path) == {secret.name}


def test_a_name_that_snakemake_writes_in_base64(tmp_path):
    """Its metadata are files named by the base64 of the output's path."""
    (tmp_path / base64.b64encode(b"results/NMI-640703-QX.parquet").decode()).touch()
    assert names(tmp_path) == {"a meter"}


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"hello" * 100)[:20], b"PAR1 no footer PAR1", b"SQLite format 3\0 broken", zipped(b"hello")[:60]],
    ids=["gzip", "Parquet", "SQLite", "zip"],  # the contents hold the time
)
def test_what_cannot_be_opened_is_said(tmp_path, content):
    (tmp_path / "a.bin").write_bytes(content)
    assert {one.secret for one in found(tmp_path)} == {CLOSED}
    (tmp_path / "a.bin").write_bytes(content[:-4] + b"NMI-640703-QX" + content[-4:])
    assert {one.secret for one in found(tmp_path)} == {CLOSED, "a meter"}


def test_a_secret_across_two_blocks_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(leaks, "_BLOCK_BYTES", 64)
    monkeypatch.setattr(leaks, "_STRIDE", 16)
    for gap in range(40, 80):
        (tmp_path / "a.log").write_bytes(b"." * gap + b"NMI-640703-QX" + b"." * 30)
        assert names(tmp_path) == {"a meter"}, gap


def test_nothing_is_found_in_other_files(tmp_path):
    generator = np.random.default_rng(3)
    (tmp_path / "noise").write_bytes(generator.bytes(1 << 20))
    (tmp_path / "numbers.csv").write_text("\n".join(map(repr, generator.gamma(2.0, 0.3, 20_000))))
    pq.write_table(pa.table({"kwh": generator.gamma(2.0, 0.3, 100_000)}), tmp_path / "a.parquet")
    (tmp_path / "page.html").write_text("<p>Meters are listed in the public list; 48 611 is not here: 4861.</p>")
    assert found(tmp_path) == [] or names(tmp_path) == {"a count"}


def test_a_finding_names_the_secret_and_never_says_it(tmp_path, capsys):
    for number, secret in enumerate(SECRETS):
        (tmp_path / f"{number}.log").write_text(secret.value)
    rows = [["name", "kind", "value"], *([s.name, s.kind, s.value] for s in SECRETS)]
    listed = tmp_path.parent / "secrets.csv"
    listed.write_text("\n".join(",".join(f'"{field}"' for field in row) for row in rows))
    assert main(["audit", "leaks", str(tmp_path), "--secrets", str(listed)]) == 1
    said = capsys.readouterr()
    assert secrets_in(said.out + said.err + repr(found(tmp_path)), SECRETS) == []
    assert all(f"{secret.name}: {number}.log" in said.out for number, secret in enumerate(SECRETS))
    for path in tmp_path.iterdir():
        path.unlink()
    assert main(["audit", "leaks", str(tmp_path), "--secrets", str(listed)]) == 0
    assert "0 findings of 12 secrets" in capsys.readouterr().out


def test_the_meters_of_a_list_are_secrets(tmp_path, capsys):
    (tmp_path / "list.csv").write_text("meter_id\nNMI-1\nNMI-2\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.json").write_text('{"meters": ["NMI-2"]}')
    assert main(["audit", "leaks", str(tmp_path / "out"), "--meters", str(tmp_path / "list.csv")]) == 1
    assert "meter 2 of the list: a.json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "scaled"),
    [
        ("signed", lambda x, h: np.log(0.2 * h) + np.arcsinh(x / (0.4 * h))),
        ("offset", lambda x, h: np.log(x + 9 * h)),
    ],
)
@pytest.mark.parametrize("minutes", [15, 60])
def test_a_reading_on_the_scale_of_the_study_is_found_once_the_scan_is_told(tmp_path, capsys, kind, scaled, minutes):
    """Oracle: the words of config/README.md, for a reading below zero."""
    reading, hours, out = -1.218264519, minutes / 60, tmp_path / "out"
    out.mkdir()
    np.array([1.0, scaled(reading, hours)]).tofile(out / "a.bin")
    (tmp_path / "secrets.csv").write_text(f"name,kind,value\na reading,reading,{reading}\n")
    scale = {"kind": kind, "offset_kwh_per_hour": 9.0, "scale_kwh_per_hour": 0.2}
    (tmp_path / "config.yaml").write_text(json.dumps({"profiles": {"log_scale": scale}}))
    asked = ["audit", "leaks", str(out), "--secrets", str(tmp_path / "secrets.csv")]
    told = [*asked, "--config", str(tmp_path / "config.yaml")]
    assert main(asked) == 0 and main(told) == 1
    (tmp_path / "config.yaml").write_text("title: none\n")
    assert main(told) == 1
    assert "does not say profiles.log_scale" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "--meters", "list.csv"], "is not a folder"),
        (["."], "nothing to look for"),
        ([".", "--secrets", "nowhere.csv"], "cannot be read"),
        ([".", "--secrets", "short.csv"], "fewer than 8 digits"),
        ([".", "--secrets", "other.csv"], "is not a name, a kind and a value"),
    ],
)
def test_what_cannot_be_scanned_is_one_sentence(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.csv").write_text("meter_id\nNMI-1\n")
    (tmp_path / "short.csv").write_text("name,kind,value\nx,reading,7.319\n")
    (tmp_path / "other.csv").write_text("name,value\nx,7.319\n")
    assert main(["audit", "leaks", *arguments]) == 1
    error = capsys.readouterr().err
    assert said in error and "7.319" not in error


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (READING, "0.25"),
        (READING, "00000000.25"),
        (READING, "nan"),
        (COUNT, "12"),
        (COUNT, "many"),
        (METER, "ab"),
        ("x", "abcdef"),
    ],
)
def test_a_secret_that_would_be_met_by_chance_is_refused(kind, value):
    with pytest.raises(ValueError, match=r"^'it'") as refusal:
        Secret("it", kind, value)
    assert value not in str(refusal.value).replace("'it'", "").replace("of fewer than 3 characters", "")


def test_secrets_are_allowed_at_home_and_nowhere_else(tmp_path):
    def finds(file, secret, part=None):
        path = tmp_path / "results" / file
        path.parent.mkdir(parents=True)
        if path.suffix == ".parquet":
            table = pa.table({"values": [secret.value if part == COLUMN else "x"]})
            if part == FOOTER:
                table = table.replace_schema_metadata({"note": secret.value})
            pq.write_table(table, path, write_statistics=False)
        else:
            path.write_text(secret.value)
        try:
            return bool(found(tmp_path / "results", homes=leaks.HOMES))
        finally:
            os.remove(path)
            os.removedirs(path.parent)

    meter, salt, released = BY_NAME["a meter"], BY_NAME["a salt"], BY_NAME["a release id"]
    (tmp_path / "stays").touch()
    for file, secret, part in (
        ("private/meters.parquet", meter, COLUMN),
        ("private/readings/part-000.parquet", meter, COLUMN),
        ("private/export/meters.csv", meter, None),
        ("private/release_id_salt.txt", salt, None),
        ("private/crosswalk.parquet", released, COLUMN),
        ("study/forecasts/x.json", released, None),
    ):
        assert not finds(file, secret, part), file
    for file, secret, part in (
        ("private/meters.parquet", meter, FOOTER),
        ("private/meters.parquet", salt, COLUMN),
        ("private/logs/ingest.log", meter, None),
        ("private/benchmarks/ingest.tsv", meter, None),
        ("study/report.html", meter, None),
        ("study/class_table.parquet", meter, COLUMN),
        ("study/forecasts/x.json", meter, None),
        ("release/mixture/manifest.json", released, None),
        ("release/mixture/mixture.parquet", meter, COLUMN),
        ("release/feeders/feeders.parquet", meter, COLUMN),
        ("release/feeders/README.md", meter, None),
    ):
        assert finds(file, secret, part), file
    for home in leaks.HOMES:
        assert not home.files.startswith("*") and "log" not in home.files
        # What is handed over may name the public feeders of the list, where their energy is, and nothing else.
        if home.files.startswith("release"):
            assert home.files == "release/feeders/*" and home.kinds == ("circuit",)
    assert {kind for home in leaks.HOMES for kind in home.kinds} <= set(KINDS)
